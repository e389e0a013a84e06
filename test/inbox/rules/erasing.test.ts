import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { eventStates, type EventState } from '../../../src/inbox/event.ts';
import { entityTerms, idsIn, termsOf, type NamesInBody } from '../../../src/inbox/rules/entity-terms.ts';
import {
  erasedState,
  eventsAbout,
  planErase,
  printOf,
  type EventAbout,
  type FoundEvent,
  ErasedNames,
} from '../../../src/inbox/rules/erasing.ts';

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
  ['processing', false, 'erased'],
  ['pending', false, 'erased'],
])('one that is %s (about the entity: %s) is %s', (state, whole, what) => {
  const event = eventOf(1, { state, whole });
  const isErased = what === 'erased';
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

const ORDER = 'order:mer_1:ord_7';
const STOCK = 'inventory:mer_1:loc_2:prd_3';

it.each<[event: string, entity: string | null, erased: string, text: string, expected: string]>([
  ['evt_1', ORDER, ORDER, `rerun evt_1 of ${ORDER}`, 'rerun (erased) of (erased)'],
  ['evt_1', ORDER, 'ord_7', `ord_7, or ${ORDER}`, '(erased), or (erased)'],
  ['evt_1', ORDER, 'ord_7', 'evt_10 ord_77', 'evt_10 ord_77'],
  ['evt_1', ORDER, 'cart:mer_1:c', `ord_7 ${ORDER}`, 'ord_7 (erased)'],
  ['evt_1', STOCK, STOCK, `loc_2 prd_3 ${STOCK}`, 'loc_2 prd_3 (erased)'],
  ['evt_1', null, 'ord_7', 'evt_1: ord_7', '(erased): (erased)'],
])('of %s about %j nothing is said once %s is erased: %s', (id, entity, erased, text, expected) => {
  const names = new ErasedNames();
  names.addEntity(erased);
  names.addNamesOf({ id, entity }, erased);
  expect(names.hideInReason(text)).toBe(expected);
  expect(names.hideInAll({ ids: [text], limit: 1 })).toEqual({ ids: [expected], limit: 1 });
});

it('who gave no reason has none', () => {
  expect(new ErasedNames().hideInReason(null)).toBeNull();
});

const none: NamesInBody = { entity: null, ids: [], merchant: null };
const body: NamesInBody = { entity: 'order:mer_7:ord_42', ids: ['ord_42', 'crt_1'], merchant: 'mer_7' };

it.each<[string, string | null, NamesInBody, readonly string[]]>([
  ['by its entity, the id in it and its merchant', 'order:mer_7:ord_42', body, ['order:mer_7:ord_42', 'ord_42']],
  ['without a body', 'order:mer_7:ord_42', none, ['order:mer_7:ord_42', 'ord_42']],
  ['without an entity by what its body says', null, body, ['order:mer_7:ord_42', 'ord_42', 'crt_1']],
  ['by a name of the merchant’s own', 'my order', body, ['my order']],
])('an event is found %s', (_, entity, names, found) => {
  expect(termsOf(entity, names)).toEqual(new Set([...found.map((name) => `entity ${name}`), 'merchant mer_7']));
});

it('what says nothing is not found', () => {
  expect(termsOf(null, none)).toEqual(new Set());
  expect(entityTerms(none)).toEqual([]);
});

it.each([
  ['order:mer_7:ord_42', ['ord_42']],
  ['inventory:mer_7:loc_2:prd_3', ['loc_2', 'prd_3']],
  ['order::a%3Ab', ['a:b']],
  ['order:mer_7', []],
  ['mine:mer_7:ord_42', []],
])('in %s the ids are %j', (entity, ids) => {
  expect(idsIn(entity)).toEqual(ids);
});
