import * as fc from 'fast-check';
import { expect, it, describe } from 'vitest';
import { Budget } from '../../../src/inbox/rules/budget.ts';
import {
  IGNORE_AFTER_MS,
  PRESENT_MS,
  goneSince,
  isAmong,
  isInScope,
  rerunOfferedSince,
  seenSince,
  wasSeenAfter,
  announced,
  IGNORE_BATCH,
  PARKED_BATCH,
  planIgnore,
  planParked,
  TYPES_BATCH,
  typesToIgnore,
  WHOLE_SWEEP,
  type ParkedEvent,
  type ReadyType,
  type TypePosition,
  type WaitingEvent,
  COUNTED,
  ignoredTypes,
  unhandledTypes,
  type PendingType,
} from '../../../src/inbox/rules/processors.ts';
import type { Scope } from '../../../src/inbox/work.ts';

const NOW = 2 * IGNORE_AFTER_MS;

it('somebody is there for ten minutes after being seen', () => {
  expect(wasSeenAfter(NOW - PRESENT_MS + 1, seenSince(NOW))).toBe(true);
  expect(wasSeenAfter(NOW - PRESENT_MS, seenSince(NOW))).toBe(false);
  expect(wasSeenAfter(null, seenSince(NOW))).toBe(false);
});

it('somebody is gone after seven days, and not before whoever judges has looked for long enough', () => {
  expect(goneSince(NOW, NOW - PRESENT_MS)).toBe(NOW - IGNORE_AFTER_MS);
  expect(goneSince(NOW, NOW - IGNORE_AFTER_MS - 1)).toBe(NOW - IGNORE_AFTER_MS - 1);
});

it('a rerun is offered of what was put away in the last seven days', () => {
  expect(NOW - rerunOfferedSince(NOW)).toBe(7 * 24 * 3_600_000);
});

it.each<[Scope['types'], string | null, boolean]>([
  ['*', 'order.created', true],
  ['*', null, true],
  [['order.created'], 'order.created', true],
  [['order.created'], 'order.ready', false],
  [['order.created'], null, false],
  [[], 'order.created', false],
])('of the types %j %j is handled: %s', (types, type, expected) => {
  expect(isAmong(types, type)).toBe(expected);
});

it.each<[Scope, boolean]>([
  [{ endpoints: '*', types: '*' }, true],
  [{ endpoints: ['default'], types: ['order.created'] }, true],
  [{ endpoints: ['shop-b'], types: '*' }, false],
  [{ endpoints: '*', types: ['order.ready'] }, false],
])('an event is in the scope %j: %s', (scope, expected) => {
  expect(isInScope(scope, { endpoint: 'default', type: 'order.created' })).toBe(expected);
});

const BEFORE = NOW - PRESENT_MS;
const MEBIBYTE = 1024 * 1024;
const ready = (type: string, parts: Partial<ReadyType> = {}): ReadyType => ({
  endpoint: 'default',
  type,
  isPaused: false,
  lastSeen: null,
  ...parts,
});
const waiting = (seq: number, type: string, bytes = 10): WaitingEvent => ({
  seq,
  endpoint: 'default',
  entity: 'order',
  type,
  bytes,
});

describe('the events of a type', () => {
  it.each<[string, Partial<ReadyType>, boolean]>([
    ['are ignored when no processor ever handled them', {}, true],
    ['when none did for seven days', { lastSeen: NOW - IGNORE_AFTER_MS }, true],
    ['but not when one has run since', { lastSeen: NOW - IGNORE_AFTER_MS + 1 }, false],
    ['nor when the type is paused', { isPaused: true }, false],
  ])('%s', (_, parts, isIgnored) => {
    expect(typesToIgnore([ready('a', parts)], NOW, BEFORE)).toHaveLength(isIgnored ? 1 : 0);
  });

  it('stay when a processor was seen after the last look', () => {
    const since = NOW - IGNORE_AFTER_MS - 100;
    expect(typesToIgnore([ready('a', { lastSeen: since + 50 })], NOW, since)).toEqual([]);
  });
});

describe('what is ignored', () => {
  it('is reported by type, and each queue moves on once', () => {
    const events = [waiting(1, 'a'), waiting(2, 'a'), waiting(3, 'b')];
    expect(planIgnore([ready('a'), ready('b')], { events, endedAt: null }, new Budget())).toEqual({
      events,
      ignored: [
        { endpoint: 'default', type: 'a', count: 2 },
        { endpoint: 'default', type: 'b', count: 1 },
      ],
      left: [{ endpoint: 'default', entity: 'order' }],
      ignoring: null,
    });
  });

  it('goes on where its budget or a limit has ended it', () => {
    const next = (events: readonly WaitingEvent[], endedAt: string | null, types: readonly ReadyType[] = []) =>
      planIgnore(types, { events, endedAt: endedAt === null ? null : ready(endedAt) }, new Budget()).ignoring;
    const large = [waiting(1, 'a', MEBIBYTE), waiting(2, 'b'), waiting(3, 'c')];
    expect(next(large, 'c')).toEqual({ endpoint: 'default', from: 'b' });
    expect(next([waiting(1, 'a')], 'a')).toEqual({ endpoint: 'default', from: 'a' });
    expect(next([waiting(1, 'a')], 'b')).toEqual({ endpoint: 'default', from: 'b\0' });
    const many = Array.from({ length: TYPES_BATCH }, (_, n) => ready(`type_${n}`));
    expect(next([], null, many)).toEqual({ endpoint: 'default', from: `type_${TYPES_BATCH - 1}\0` });
    expect(next([], null, many.slice(1))).toBeNull();
  });

  it('is everything in the end, whatever the sizes', () => {
    const type = fc.record({ count: fc.nat({ max: 2 * IGNORE_BATCH }), bytes: fc.nat({ max: MEBIBYTE }) });
    fc.assert(
      fc.property(fc.array(type, { maxLength: 5 }), (types) => {
        let left = types.flatMap(({ count, bytes }, n) =>
          Array.from({ length: count }, (_, at) => waiting(1000 * n + at, `type_${n}`, bytes)),
        );
        const all = left.length;
        let done = 0;
        for (let from: TypePosition | null = { endpoint: null, from: '' }; from !== null;) {
          const begin = from.from;
          const names = [...new Set(left.map((event) => event.type))].filter((name) => name >= begin);
          const found = left.filter((event) => event.type >= begin).slice(0, IGNORE_BATCH);
          const last = found.length === IGNORE_BATCH ? found.at(-1) : undefined;
          const plan = planIgnore(
            names.map((name) => ready(name)),
            { events: found, endedAt: last ?? null },
            new Budget(),
          );
          if (found.length > 0) expect(plan.events.length).toBeGreaterThan(0);
          done += plan.events.length;
          left = left.filter((event) => !plan.events.includes(event));
          from = plan.ignoring;
        }
        expect(done).toBe(all);
      }),
    );
  });
});

describe('what is parked', () => {
  const parked = (seq: number, isHandled: boolean, parts: Partial<ParkedEvent> = {}): ParkedEvent => ({
    seq,
    endpoint: 'default',
    entity: 'order',
    bytes: 10,
    isHandled,
    ...parts,
  });

  it('is unparked when no processor handles its type, and so is the front of each entity', () => {
    const found = [parked(2, false), parked(3, true), parked(4, true, { entity: 'other' })];
    expect(planParked(found, new Budget())).toEqual({
      unpark: [2],
      queues: [
        { endpoint: 'default', entity: 'order' },
        { endpoint: 'default', entity: 'other' },
      ],
      parked: null,
    });
  });

  it('is gone through in steps', () => {
    const found = Array.from({ length: PARKED_BATCH }, (_, n) => parked(n + 1, true, { bytes: MEBIBYTE }));
    expect(planParked(found, new Budget()).parked).toBe(PARKED_BATCH);
    expect(planParked(found.slice(1), new Budget()).parked).toBeNull();
    const large = [parked(1, false, { bytes: MEBIBYTE }), parked(2, false)];
    expect(planParked(large, new Budget())).toMatchObject({ unpark: [1], parked: 1 });
    expect(planParked([], new Budget()).parked).toBeNull();
  });
});

it('a sweep that has come to its end begins anew', () => {
  expect(announced([], { parked: null, ignoring: null })).toEqual({ ignored: [], more: false, sweep: WHOLE_SWEEP });
  const sweep = { parked: 5, ignoring: null };
  expect(announced([], sweep)).toEqual({ ignored: [], more: true, sweep });
});

const REPORTED_AT = 10 * PRESENT_MS;
const LONG_AGO = REPORTED_AT - PRESENT_MS;
const lane = { endpoint: 'default', type: 'order.created' };
const pending: PendingType = {
  ...lane,
  count: 1,
  dueAt: 0,
  isPaused: false,
  lastSeen: null,
  wasEndpointHandled: false,
};

interface Case {
  readonly dueAt?: number;
  readonly seen?: number | null;
  readonly anybody?: boolean;
  readonly ever?: boolean;
}

it.each<[string, Case, Date | null | undefined]>([
  ['somebody handled it until ten minutes ago', { seen: LONG_AGO }, new Date(LONG_AGO)],
  ['somebody is there', { seen: LONG_AGO + 1 }, undefined],
  ['it has just become due', { seen: LONG_AGO, dueAt: LONG_AGO + 1 }, undefined],
  ['nobody ever handled it, and processors run that do not know its endpoint', { anybody: true }, null],
  ['nobody ever handled it, but its endpoint', { anybody: true, ever: true }, undefined],
  ['no processor runs at all', {}, undefined],
])(
  'what waits is told of, or not: %s',
  (_, { dueAt = LONG_AGO, seen = null, anybody = false, ever = false }, since) => {
    const total = { ...pending, count: 3, dueAt, lastSeen: seen, wasEndpointHandled: ever };
    const expected = since === undefined ? [] : [{ ...lane, count: 3, more: false, since }];
    expect(unhandledTypes([total], { isAnybodyThere: anybody, handledSince: LONG_AGO })).toEqual(expected);
    expect(unhandledTypes([{ ...total, isPaused: true }], { isAnybodyThere: anybody, handledSince: LONG_AGO })).toEqual(
      [],
    );
  },
);

it('a processor counts as there as of when the caller says', () => {
  const report = (handledSince: number) =>
    unhandledTypes([{ ...pending, lastSeen: 50 }], { isAnybodyThere: true, handledSince });
  expect(report(49)).toEqual([]);
  expect(report(50)).toHaveLength(1);
});

it.each([
  [COUNTED, COUNTED, false],
  [COUNTED + 1, COUNTED, true],
])('%i are told as %i', (count, told, more) => {
  const expected = [{ ...lane, count: told, more, handled: false }];
  expect(ignoredTypes([{ ...lane, count, lastSeen: null }], REPORTED_AT)).toEqual(expected);
});

it('of what was put away it is told whether somebody handles it now', () => {
  expect(ignoredTypes([{ ...lane, count: 1, lastSeen: REPORTED_AT - 1 }], REPORTED_AT)).toMatchObject([
    { handled: true },
  ]);
});
