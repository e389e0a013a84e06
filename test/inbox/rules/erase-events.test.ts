import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  erasedState,
  eventsAbout,
  planErase,
  printOf,
  type EventAbout,
  type FoundEvent,
} from '../../../src/inbox/rules/erase-events.ts';
import { eventStates, type EventState } from '../../../src/inbox/state.ts';

const ENTITY = 'ord_7';
const nobody = { entity: null, ids: [], merchant: null };

const eventOf = (seq: number, parts: Partial<EventAbout> = {}): EventAbout => ({
  seq,
  endpoint: 'default',
  id: `evt_${seq}`,
  type: 'order.created',
  entity: 'order:mer_1:ord_7',
  state: 'processed',
  whole: true,
  ...parts,
});

it.each<[string, Pick<FoundEvent, 'hasTerm' | 'beside'>, whole: boolean | null]>([
  ['that is found by it', { hasTerm: true, beside: null }, true],
  ['beside which a body about it is kept', { hasTerm: false, beside: { ...nobody, ids: [ENTITY] } }, false],
  ['whose other body names it as its entity', { hasTerm: false, beside: { ...nobody, entity: ENTITY } }, false],
  ['whose other body is about another one', { hasTerm: false, beside: { ...nobody, ids: ['ord_8'] } }, null],
  ['whose other body only has such a merchant', { hasTerm: false, beside: { ...nobody, merchant: ENTITY } }, null],
  ['that is about another one', { hasTerm: false, beside: null }, null],
])('an event %s is about the entity, as a whole or not', (_, facts, whole) => {
  const { whole: _whole, ...event } = eventOf(1);
  expect(eventsAbout([{ ...event, ...facts }], ENTITY)).toEqual(whole === null ? [] : [{ ...event, whole }]);
});

it.each<[EventState, becomes: EventState | null]>([
  ['pending', 'discarded'],
  ['processing', null],
  ['processed', 'processed'],
  ['dead', 'dead'],
  ['ignored', 'ignored'],
  ['discarded', 'discarded'],
])('an event that is %s and erased becomes %s', (state, becomes) => {
  expect(erasedState(state)).toBe(becomes);
});

it.each<[EventState, whole: boolean, what: 'erased' | 'inProcessing']>([
  ['pending', true, 'erased'],
  ['processing', true, 'inProcessing'],
  ['processed', true, 'erased'],
  ['dead', true, 'erased'],
  ['ignored', true, 'erased'],
  // Its handler does not need the other body.
  ['processing', false, 'erased'],
  ['pending', false, 'erased'],
])('one that is %s (about the entity: %s) is %s', (state, whole, what) => {
  const event = eventOf(1, { state, whole });
  const isErased = what === 'erased';
  // Only what leaves `pending` is discarded, and lets the next of its entity go on.
  const isDiscarded = isErased && whole && state === 'pending';
  expect(planErase([event])).toEqual({
    erased: 0,
    inProcessing: 0,
    [what]: 1,
    tombstones: isErased && whole ? [{ event, state: isDiscarded ? 'discarded' : state }] : [],
    discarded: isDiscarded ? [event] : [],
    left: isDiscarded ? [{ endpoint: 'default', entity: 'order:mer_1:ord_7' }] : [],
    emptied: isErased && !whole ? [1] : [],
    acted: isErased ? [1] : [],
  });
});

it('an entity moves on once, however many of its events go', () => {
  const pending = { state: 'pending' } as const;
  const events = [eventOf(1, pending), eventOf(2, pending), eventOf(3, { ...pending, endpoint: 'shop-b' })];
  const { discarded, left } = planErase(events);
  expect(discarded).toEqual(events);
  expect(left.map(({ endpoint }) => endpoint)).toEqual(['default', 'shop-b']);
});

it('of any events each is erased, of another entity, or has to wait', () => {
  const someEvent = fc
    .record({
      state: fc.constantFrom(...eventStates),
      whole: fc.boolean(),
      entity: fc.constantFrom(null, 'order:a'),
      endpoint: fc.constantFrom('default', 'shop-b'),
    })
    .map((parts) => eventOf(0, parts));
  fc.assert(
    fc.property(fc.array(someEvent), (some) => {
      const events = some.map((event, seq) => ({ ...event, seq }));
      const { tombstones, discarded, left, emptied, acted, erased, inProcessing } = planErase(events);
      const waiting = events.filter(({ whole, state }) => whole && state === 'processing').map(({ seq }) => seq);
      expect(erased + inProcessing).toBe(events.length);
      expect(inProcessing).toBe(waiting.length);
      expect([...acted, ...waiting].toSorted((a, b) => a - b)).toEqual(events.map(({ seq }) => seq));
      expect(acted).toEqual([...tombstones.map(({ event }) => event.seq), ...emptied]);
      for (const { event, state } of tombstones) {
        expect(event.whole).toBe(true);
        expect(['pending', 'processing']).not.toContain(state);
      }
      const names = (queues: readonly { endpoint: string; entity: string | null }[]) =>
        new Set(queues.map(({ endpoint, entity }) => JSON.stringify([endpoint, entity])));
      expect(names(left)).toEqual(names(discarded.filter(({ entity }) => entity !== null)));
      expect(left).toHaveLength(names(left).size);
    }),
  );
});

it('the audit tells one entity from another without naming it', () => {
  expect(printOf(ENTITY)).toMatch(/^sha256:[0-9a-f]{16}$/);
  expect(printOf(ENTITY)).not.toBe(printOf('ord_8'));
});
