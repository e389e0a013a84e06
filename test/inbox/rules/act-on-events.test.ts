import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventKey } from '../../../src/inbox/event.ts';
import {
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
} from '../../../src/inbox/rules/act-on-events.ts';
import { askedByKey, decideAct } from '../../../src/inbox/rules/operator-acts.ts';
import { deadReasons, eventStates } from '../../../src/inbox/state.ts';
import { orderEvent } from '../../helpers/order-event.ts';

const NOW = 1_000;
const keyOf = (id: string, endpoint = 'default'): EventKey => ({ endpoint, id });
const keysOf = (count: number) => Array.from({ length: count }, (_, n) => keyOf(String(n)));
const acting = (act: Parameters<typeof askedByKey>[0], force = false): Acting => ({
  asked: askedByKey(act, force),
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
          // What an action has done is not needed any more.
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
          expect(decideAct(asked.asked, actedAt(row, NOW), null).result).not.toBe('still invalid');
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
  // An event that is due now stays where it is, and a dead one was nowhere.
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
  // One may have as much as it has.
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

/** A slice that is over after so many events. */
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
