import { expect, it } from 'vitest';
import {
  eraseEvents,
  eventAbout,
  printOf,
  tryErase,
  type ErasableEvent,
  type EventAbout,
} from '../../../src/inbox/rules/erase-events.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { hashOf } from '../../../src/inbox/rules/tombstone.ts';
import type { EventState } from '../../../src/inbox/state.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const NOW = 1_000;
const ENTITY = 'ord_7';
const BODY = Buffer.from('{}');
const nobody = { entity: null, ids: [], merchant: null };
const erasing = { entity: ENTITY, audit: 4, now: NOW };
const endless = { add: () => false, isOver: () => false };

const eventOf = (seq: number, state: EventState = 'processed'): ErasableEvent => ({
  seq,
  endpoint: 'default',
  id: `evt_${seq}`,
  type: 'order.created',
  entity: 'order:mer_1:ord_7',
  state,
});

/** Events that are there, all of them about the entity. */
function inboxWith(events: readonly ErasableEvent[], replies: Parameters<typeof scripted>[0] = {}) {
  return scripted({
    erasable: (seq: number) => events.find((event) => event.seq === seq),
    hasTerm: () => true,
    namesBeside: () => ({ ...nobody, ids: [ENTITY] }),
    bodies: () => ({ body: BODY, bytesBeside: 3 }),
    emptyConflict: () => 3,
    auditCounts: () => ({}),
    ...replies,
  });
}

const erase = ({ engine }: ReturnType<typeof inboxWith>, ...seqs: readonly number[]) =>
  atOnce(
    eraseEvents(
      engine,
      seqs.map((seq) => ({ seq })),
      erasing,
      endless,
    ),
  );

it.each<[string, Parameters<typeof scripted>[0], whole: boolean | null]>([
  ['that is gone', { erasable: () => undefined }, null],
  ['that is found by it', {}, true],
  ['beside which a body about it is kept', { hasTerm: () => false }, false],
  [
    'whose other body is about another one',
    { hasTerm: () => false, namesBeside: () => ({ ...nobody, ids: ['x'] }) },
    null,
  ],
  ['that is about another one', { hasTerm: () => false, namesBeside: () => nobody }, null],
])('of an event %s', (_, replies, whole) => {
  const { engine, of } = inboxWith([eventOf(1)], replies);
  expect(atOnce(eventAbout(engine, 1, ENTITY))).toEqual(whole === null ? null : { ...eventOf(1), whole });
  for (const [, , term] of of('hasTerm')) expect(term).toBe('entity ord_7');
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
])('one that is %s (about the entity: %s) is %s, and a dry run says so', (state, whole, what) => {
  const expected = { erased: 0, inProcessing: 0, [what]: 1 };
  const about: EventAbout = { ...eventOf(1, state), whole };
  expect(tryErase([about])).toEqual(expected);

  const inbox = inboxWith([about], { hasTerm: () => whole });
  expect(erase(inbox, 1)).toEqual({ ...expected, worked: 1 });
  const { of } = inbox;
  const isErased = what === 'erased' && whole;
  expect(of('erase')).toHaveLength(isErased ? 1 : 0);
  expect(of('emptyConflict')).toHaveLength(whole ? 0 : 1);
  // Only what leaves `pending` is counted, and lets the next of its entity go on.
  const leavesFront = isErased && state === 'pending';
  expect(of('count')).toEqual(leavesFront ? [['count', 'discarded', 'order.created']] : []);
  expect(of('nextInQueues')).toHaveLength(leavesFront ? 1 : 0);
  expect(of('recountAuditLine')).toEqual([['recountAuditLine', 4, expected]]);
});

it.each<[string, Buffer | null, Uint8Array | null]>([
  ['a body', BODY, hashOf(BODY)],
  ['none any more', null, null],
])('what goes with an event that has %s', (_, body, hash) => {
  const inbox = inboxWith([eventOf(1, 'pending')], { bodies: () => ({ body, bytesBeside: 0 }) });
  erase(inbox, 1);
  const names = ['forgetFoundBy', 'bodies', 'erase', 'eraseErrors', 'forgetConflict', 'forgetHighWater'];
  expect(inbox.of(...names)).toEqual([
    // While the event still says what it is found by.
    ['forgetFoundBy', { ...eventOf(1, 'pending'), whole: true }, ENTITY],
    ['bodies', 1],
    ['erase', 1, 'discarded', hash, NOW],
    ['eraseErrors', 1, 'Erased'],
    ['forgetConflict', 1],
    ['forgetHighWater', { endpoint: 'default', entity: 'order:mer_1:ord_7' }],
  ]);
});

it('one that stands alone has no mark to forget', () => {
  const inbox = inboxWith([{ ...eventOf(1), entity: null }]);
  erase(inbox, 1);
  expect(inbox.of('forgetHighWater')).toEqual([]);
});

it('an entity moves on once, however many of its events go', () => {
  const events = [eventOf(1, 'pending'), eventOf(2, 'pending'), { ...eventOf(3, 'pending'), endpoint: 'shop-b' }];
  const inbox = inboxWith(events);
  expect(erase(inbox, 1, 2, 9, 3)).toEqual({ erased: 3, inProcessing: 0, worked: 4 });
  const queues = inbox.of('nextInQueues').flatMap(([, each]) => each as readonly ErasableEvent[]);
  expect(queues.map(({ endpoint }) => endpoint)).toEqual(['default', 'shop-b']);
});

it('a transaction ends with its slice, and what goes is written twice', () => {
  const { engine } = inboxWith([1, 2, 3].map((seq) => eventOf(seq)));
  const bytes: number[] = [];
  const slice = sliceOf(2)();
  const noted = {
    ...slice,
    add(more: number) {
      bytes.push(more);
      return slice.add();
    },
  };
  expect(atOnce(eraseEvents(engine, [{ seq: 1 }, { seq: 2 }, { seq: 3 }], erasing, noted))).toMatchObject({
    worked: 2,
  });
  expect(bytes).toEqual([10, 10]);
});

it('the audit tells one entity from another without naming it', () => {
  expect(printOf(ENTITY)).toMatch(/^sha256:[0-9a-f]{16}$/);
  expect(printOf(ENTITY)).not.toBe(printOf('ord_8'));
});
