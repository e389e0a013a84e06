import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventState, type EventKey, deadReasons, eventStates } from '../../../src/inbox/event.ts';
import type { Act, ActResult } from '../../../src/inbox/operator/acts.ts';
import type { EventFilter } from '../../../src/inbox/operator/search.ts';
import {
  bodyToday,
  decideOnStored,
  actedAt,
  auditedTarget,
  bodiesToRead,
  countMoves,
  nextBatch,
  planActs,
  queuesToAdvance,
  refuseTooManyBytes,
  refuseTooManyKeys,
  reportOf,
  type ActedRow,
  type Acting,
} from '../../../src/inbox/rules/operator-acts.ts';
import {
  requestByFilter,
  requestByKey,
  decideAct,
  mayBeDone,
  needsBody,
  type ActedEvent,
  type BodyToday,
  mayRerun,
} from '../../../src/inbox/rules/decide-act.ts';
import { orderEvent } from '../../helpers/order-event.ts';

const TODAY: BodyToday = { type: 'order.created', created: { ms: 5, ns: 0 }, entity: 'order:mer_7:ord_7' };
const DATES = { type: TODAY.type, created: TODAY.created };

const TO_PENDING = { name: 'toPending', content: TODAY };
const AGAIN = { name: 'processedToPending' };
const DISCARD = { name: 'discard', content: null };
const DISCARD_INVALID = { name: 'discard', content: DATES };

const events = {
  pending: { state: 'pending', deadReason: null, pruned: false },
  processing: { state: 'processing', deadReason: null, pruned: false },
  processed: { state: 'processed', deadReason: null, pruned: false },
  failed: { state: 'dead', deadReason: 'failed', pruned: false },
  crashed: { state: 'dead', deadReason: 'crashed', pruned: false },
  invalid: { state: 'dead', deadReason: 'invalid', pruned: false },
  ignored: { state: 'ignored', deadReason: null, pruned: false },
  discarded: { state: 'discarded', deadReason: null, pruned: false },
  'processed tombstone': { state: 'processed', deadReason: null, pruned: true },
  'failed tombstone': { state: 'dead', deadReason: 'failed', pruned: true },
  'crashed tombstone': { state: 'dead', deadReason: 'crashed', pruned: true },
  'invalid tombstone': { state: 'dead', deadReason: 'invalid', pruned: true },
  'ignored tombstone': { state: 'ignored', deadReason: null, pruned: true },
  'discarded tombstone': { state: 'discarded', deadReason: null, pruned: true },
  'erased, with a body': { state: 'processed', deadReason: null, pruned: false, erased: true },
} as const satisfies Record<string, ActedEvent>;

const acts = {
  rerun: requestByKey('rerun', false),
  forced: requestByKey('rerun', true),
  discard: requestByKey('discard', false),
};

type Kind = keyof typeof events;
type Name = keyof typeof acts;
type Expected = readonly [fits: unknown, doesNot: unknown] | Exclude<ActResult, 'done'> | typeof DISCARD;

const NOT = 'not needed';
const rerun = [TO_PENDING, 'still invalid'] as const;
const table: Record<Kind, Readonly<Record<Name, Expected>>> = {
  pending: { rerun: NOT, forced: NOT, discard: DISCARD },
  processing: { rerun: NOT, forced: NOT, discard: NOT },
  processed: { rerun: NOT, forced: [AGAIN, 'still invalid'], discard: NOT },
  failed: { rerun, forced: rerun, discard: DISCARD },
  crashed: { rerun, forced: rerun, discard: DISCARD },
  invalid: { rerun, forced: rerun, discard: [DISCARD_INVALID, 'still invalid'] },
  ignored: { rerun, forced: rerun, discard: NOT },
  discarded: { rerun, forced: rerun, discard: NOT },
  'processed tombstone': { rerun: NOT, forced: 'pruned', discard: NOT },
  'failed tombstone': { rerun: 'pruned', forced: 'pruned', discard: DISCARD },
  'crashed tombstone': { rerun: 'pruned', forced: 'pruned', discard: DISCARD },
  'invalid tombstone': { rerun: 'pruned', forced: 'pruned', discard: 'pruned' },
  'ignored tombstone': { rerun: 'pruned', forced: 'pruned', discard: NOT },
  'discarded tombstone': { rerun: 'pruned', forced: 'pruned', discard: NOT },
  'erased, with a body': { rerun: NOT, forced: NOT, discard: NOT },
};
const cases = Object.entries(table).flatMap(([kind, byAct]) =>
  Object.entries(byAct).map(([act, expected]) => ({ kind: kind as Kind, act: act as Name, expected })),
);

describe('an act on an event', () => {
  it.each(cases)('$act of one that is $kind', ({ kind, act, expected }) => {
    const asked = acts[act];
    const event = events[kind];
    const isAsked = Array.isArray(expected);
    const [fits, doesNot] = isAsked ? (expected as readonly unknown[]) : [expected, expected];

    expect(decided(decideAct(asked, event, TODAY))).toEqual(fits);
    expect(decided(decideAct(asked, event, null))).toEqual(doesNot);
    expect(needsBody(asked, event)).toBe(isAsked);
    expect(mayBeDone(asked, event)).toBe(isAsked || expected === DISCARD);
  });

  it.each(Object.values(acts))('$act on nothing is unknown', (asked) => {
    expect(decideAct(asked, null, null)).toEqual({ result: 'unknown' });
    expect(decideOnStored(asked, null)).toEqual({ result: 'unknown' });
  });

  it.each<[Act, boolean, EventFilter, found: readonly EventState[]]>([
    ['rerun', false, {}, ['dead']],
    ['rerun', true, {}, ['dead', 'ignored', 'discarded', 'processed']],
    ['rerun', false, { states: ['ignored'] }, ['ignored']],
    ['rerun', false, { states: ['discarded'] }, ['discarded']],
    ['rerun', false, { states: ['processed', 'pending'] }, []],
    ['rerun', true, { states: ['dead'] }, ['dead']],
    ['rerun', false, { ignoredSince: new Date(5) }, ['ignored']],
    ['rerun', false, { ignoredSince: new Date(5), states: ['dead'] }, ['dead']],
    ['discard', false, {}, ['dead', 'pending']],
    ['discard', true, { states: ['dead', 'processed'] }, ['dead']],
  ])('%s (forced: %s) by the filter %j is for %j', (act, force, filter, found) => {
    expect(requestByFilter(act, force, filter)).toEqual({ act, states: found });
  });

  it.each<[Act, boolean, readonly EventState[], Kind, result: ActResult]>([
    ['rerun', false, ['dead'], 'ignored', 'changed'],
    ['rerun', false, ['ignored'], 'failed', 'changed'],
    ['rerun', false, ['ignored'], 'discarded', 'changed'],
    ['rerun', true, ['processed'], 'failed', 'changed'],
    ['rerun', true, ['dead'], 'processed', 'not needed'],
    ['rerun', false, ['dead'], 'processing', 'not needed'],
    ['rerun', false, [], 'failed', 'changed'],
    ['discard', false, ['dead'], 'pending', 'changed'],
    ['discard', false, ['pending'], 'processed', 'not needed'],
    ['retry-now', false, ['dead'], 'pending', 'changed'],
  ])('%s (forced: %s) of what was %j leaves one alone that is %s: %s', (act, force, states, kind, result) => {
    expect(decideAct(requestByKey(act, force, states), events[kind], TODAY)).toEqual({ result });
  });
});

describe('what a body says today', () => {
  const { body, entity } = orderEvent('evt', { order: 'ord_7' });
  const unfit = Buffer.from('{"id":"evt"}');
  const byMyRule = () => 'by my rule';
  const invalid = { state: 'dead', deadReason: 'invalid', entity: null } as const;

  it.each<[string, Parameters<typeof bodyToday>, expected: string | null]>([
    [
      'keeps its entity',
      ['rerun', { state: 'dead', deadReason: 'failed', entity: 'as received' }, body, byMyRule],
      'as received',
    ],
    ['stands alone if it did', ['rerun', { state: 'dead', deadReason: 'failed', entity: null }, body, byMyRule], null],
    ['was invalid: it gets one by the rule of its receiver', ['rerun', invalid, body, byMyRule], 'by my rule'],
    ['was invalid, and its receiver has no rule', ['rerun', invalid, body], entity],
    [
      'may have been invalid before it was discarded',
      ['rerun', { state: 'discarded', deadReason: null, entity: null }, body, byMyRule],
      'by my rule',
    ],
    [
      'was discarded with its entity',
      ['rerun', { state: 'discarded', deadReason: null, entity: 'as received' }, body, byMyRule],
      'as received',
    ],
    ['is discarded: the rule has its turn with a rerun', ['discard', invalid, body, byMyRule], null],
    ['was invalid, and the rule names nothing', ['rerun', invalid, body, () => ''], null],
  ])('of an event that %s', (_, asked, expected) => {
    expect(bodyToday(...asked)).toMatchObject({ type: 'order.created', entity: expected });
  });

  it('is nothing where it does not fit', () => {
    expect(bodyToday('rerun', invalid, unfit)).toBeNull();
    expect(bodyToday('rerun', invalid, Buffer.from('{'))).toBeNull();
  });
});

it('a stored event is decided on with the body that it has', () => {
  const { created, ...event } = orderEvent('evt', { order: 'ord_7' });
  const none = { count: 0, firstAt: null, lastAt: null, recent: [] };
  const stored = {
    ...event,
    created,
    seq: 1,
    state: 'dead',
    deadReason: 'invalid',
    receivedAt: new Date(0),
    redeliveries: none,
    conflict: null,
  } as const;
  const content = { type: 'order.created', created, entity: 'by my rule' };
  expect(decideOnStored(acts.rerun, { ...stored, entity: null }, () => 'by my rule')).toEqual({
    result: 'done',
    move: { name: 'toPending', content },
  });
  expect(decideOnStored(acts.rerun, { ...stored, body: Buffer.from('{}') })).toEqual({ result: 'still invalid' });
  expect(decideOnStored(acts.rerun, { ...stored, body: null })).toEqual({ result: 'pruned' });
  expect(decideOnStored(acts.discard, { ...stored, deadReason: 'failed', body: null })).toMatchObject({
    result: 'done',
  });
});

function decided(decision: ReturnType<typeof decideAct>): unknown {
  return decision.result === 'done' ? decision.move : decision.result;
}

const NOW = 1_000;
const keyOf = (id: string, endpoint = 'default'): EventKey => ({ endpoint, id });
const keysOf = (count: number) => Array.from({ length: count }, (_, n) => keyOf(String(n)));
const acting = (act: Parameters<typeof requestByKey>[0], force = false): Acting => ({
  requested: requestByKey(act, force),
  now: NOW,
  entity: undefined,
});
const rowOf = (seq: number, parts: Partial<ActedRow> = {}): ActedRow => ({
  seq,
  ...keyOf(`evt_${seq}`),
  type: 'order.created',
  entity: 'order',
  state: 'pending',
  deadReason: null,
  pruned: false,
  bytes: 10,
  ...parts,
});
const dead = (seq: number, parts: Partial<ActedRow> = {}) =>
  rowOf(seq, { state: 'dead', deadReason: 'failed', ...parts });
const FITS = orderEvent('evt').body;
const DOES_NOT = new TextEncoder().encode('{}');

const anyRow = (seq: number): fc.Arbitrary<ActedRow> =>
  fc
    .record({
      state: fc.constantFrom(...eventStates),
      deadReason: fc.constantFrom(...deadReasons),
      pruned: fc.boolean(),
      erased: fc.boolean(),
      entity: fc.constantFrom('order', null),
      dueMs: fc.constantFrom(NOW - 1, NOW, NOW + 1),
    })
    .map(({ deadReason, ...parts }) =>
      rowOf(seq, { ...parts, deadReason: parts.state === 'dead' ? deadReason : null }),
    );
const anyActing = fc
  .tuple(fc.constantFrom('rerun', 'discard', 'retry-now'), fc.boolean())
  .map(([act, force]) => acting(act, force));

describe('a plan', () => {
  const cases = fc.record({
    rows: fc.tuple(...[1, 2, 3, 4].map(anyRow)),
    fits: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    given: fc.array(fc.constantFrom(0, 1, 2, 3), { maxLength: 8 }),
    asked: anyActing,
  });

  it('decides about each event as alone, and a second time as its first move leaves it', () => {
    fc.assert(
      fc.property(cases, ({ rows, fits, given, asked }) => {
        const bodies = new Map(rows.map(({ seq }, at) => [seq, fits[at] === true ? FITS : DOES_NOT]));
        const all = given.flatMap((at) => rows[at] ?? []);
        const { results, moves } = planActs(all, bodies, asked);
        const seen = new Set<number>();
        for (const [at, row] of all.entries()) {
          const alone = planActs([row], bodies, asked);
          const again = alone.moves.length > 0 && seen.has(row.seq);
          expect(results[at]).toBe(again ? 'not needed' : alone.results[0]);
          if (!again) expect(moves).toEqual(expect.arrayContaining([...alone.moves]));
          seen.add(row.seq);
        }
        expect(new Set(moves.map(({ event }) => event.seq)).size).toBe(moves.length);
      }),
    );
  });

  it('needs no body that it does not ask for', () => {
    fc.assert(
      fc.property(cases, ({ rows, fits, asked }) => {
        const bodies = new Map(rows.map(({ seq }, at) => [seq, fits[at] === true ? FITS : DOES_NOT]));
        const named = new Set(bodiesToRead(rows, asked));
        const few = new Map([...bodies].filter(([seq]) => named.has(seq)));
        expect(planActs(rows, few, asked)).toEqual(planActs(rows, bodies, asked));
        for (const row of rows) {
          if (named.has(row.seq)) continue;
          expect(decideAct(asked.requested, actedAt(row, NOW), null).result).not.toBe('still invalid');
        }
      }),
    );
  });
});

it('an event that does not exist is unknown', () => {
  expect(planActs([null], new Map(), acting('discard'))).toEqual({ results: ['unknown'], moves: [] });
});

it('a plan ends with its slice', () => {
  const rows = [rowOf(1), null, rowOf(3), rowOf(4)];
  expect(planActs(rows, new Map(), acting('discard'), sliceOf(2)()).results).toEqual(['done', 'unknown']);
  expect(planActs(rows, new Map(), acting('discard'), sliceOf(0)()).results).toEqual(['done']);
});

it('an entity whose pending events are discarded goes on once', () => {
  const rows = [rowOf(1), rowOf(2), rowOf(3, { endpoint: 'shop-b' }), rowOf(4, { entity: null }), dead(5)];
  const { moves } = planActs(rows, new Map(), acting('discard'));
  expect(moves).toHaveLength(5);
  expect(queuesToAdvance(moves)).toEqual([
    { endpoint: 'default', entity: 'order' },
    { endpoint: 'shop-b', entity: 'order' },
  ]);
  const due = planActs([rowOf(1, { dueMs: NOW + 1 })], new Map(), acting('retry-now'));
  expect([due.results, queuesToAdvance(due.moves)]).toEqual([['done'], []]);
  expect(queuesToAdvance(planActs([dead(1)], new Map([[1, FITS]]), acting('rerun')).moves)).toEqual([]);
});

it('reruns are counted by the type of today, and others by the stored one', () => {
  const counted: unknown[] = [];
  const note = (...parts: unknown[]) => void counted.push(parts);
  const rows = [dead(1, { type: 'order.old' }), rowOf(2, { state: 'processed', type: 'order.old' })];
  const bodies = new Map(rows.map(({ seq }) => [seq, FITS]));
  const counts = { count: note, countType: note, countMs: note };
  countMoves(counts, planActs(rows, bodies, acting('rerun', true)).moves);
  countMoves(counts, planActs(rows.slice(0, 1), bodies, acting('discard')).moves);
  countMoves(counts, planActs([rowOf(3, { dueMs: NOW + 1 })], bodies, acting('retry-now')).moves);
  expect(counted).toEqual([
    ['rerun', 'order.created'],
    ['rerun', 'order.old'],
    ['discarded', 'order.old'],
  ]);
});

it('a report has one result for each key, and counts them', () => {
  const keys = [keyOf('a'), keyOf('none'), keyOf('b')];
  expect(reportOf(keys, ['done', 'unknown', 'done'])).toEqual({
    results: [
      { key: keys[0], result: 'done' },
      { key: keys[1], result: 'unknown' },
      { key: keys[2], result: 'done' },
    ],
    counts: { done: 2, unknown: 1 },
  });
});

it.each<[readonly EventKey[], force: boolean, target: object]>([
  [[keyOf('a'), keyOf('b')], false, { endpoint: 'default', ids: ['a', 'b'] }],
  [[keyOf('a')], true, { endpoint: 'default', ids: ['a'], force: true }],
  [
    [keyOf('a'), keyOf('a', 'shop-b')],
    false,
    {
      events: [
        { endpoint: 'default', ids: ['a'] },
        { endpoint: 'shop-b', ids: ['a'] },
      ],
    },
  ],
  [[], false, { events: [] }],
])('the audit says what an act on %j was about (forced: %s)', (keys, force, target) => {
  expect(auditedTarget(keys, force)).toEqual(target);
});

it.each<[count: number, bytes: number, refused: RegExp | null]>([
  [500, 500 * 1_024, null],
  [501, 501, /at most 500 events, but this one received 501/],
  [2, 512 * 1024, null],
  [2, 512 * 1024 + 2, /total at most 524288 bytes, but the bodies of these 2 events total 524290/],
  [1, 2 ** 30, null],
])('%i events of %i bytes are refused: %s', (count, bytes, refused) => {
  const act = () => {
    refuseTooManyKeys(keysOf(count));
    refuseTooManyBytes(keysOf(count), bytes);
  };
  if (refused === null) expect(act).not.toThrow();
  else expect(act).toThrow(refused);
});

it.each<[most: number, bytes: readonly (number | null)[], taken: number]>([
  [3, [1, null, 1, 1], 3],
  [3, [1], 1],
  [9, [], 0],
  [9, [2 ** 20 - 1, 5, 1], 2],
  [9, [2 ** 20, 1], 1],
  [9, [2 ** 30, 1], 1],
])('of at most %i events with bodies of %j bytes, %i are read together', (most, bytes, taken) => {
  const rows = bytes.map((each, at) => (each === null ? null : rowOf(at, { bytes: each })));
  expect(nextBatch(rows, most)).toEqual(rows.slice(0, taken));
});

function sliceOf(events: number) {
  let left = events;
  return () => ({
    add: () => {
      left -= 1;
      return left <= 0;
    },
    isOver: () => left <= 0,
  });
}

it.each(eventStates)('an event that is %s', (state) => {
  const may = (['dead', 'ignored', 'discarded'] satisfies EventState[] as readonly EventState[]).includes(state);
  expect(mayRerun({ state, isPruned: false, isAsRead: true })).toBe(may);
  expect(mayRerun({ state, isPruned: true, isAsRead: true })).toBe(false);
  expect(mayRerun({ state, isPruned: false, isAsRead: false })).toBe(false);
});

it('an unknown event is not rerun', () => {
  expect(mayRerun(undefined)).toBe(false);
});
