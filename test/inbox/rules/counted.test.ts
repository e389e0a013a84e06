import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import {
  foldedType,
  foldTypes,
  hasOwnType,
  MOST_OWN_TYPES,
  NamedTypes,
  ownTypesAmong,
  Tally,
  latencyBucket,
  LATENCY_BUCKETS_MS,
} from '../../../src/inbox/rules/counted.ts';

const named = new Set(['order.shipped', 'two words']);

it.each([
  ['order.created', 'order.created'],
  ['order.shipped', 'order.shipped'],
  ['two words', 'two words'],
  ['a sender’s', 'other'],
  ['other', 'other'],
  ['invalid', 'other'],
  [null, 'invalid'],
])('an event of the type %j is counted as %j', (type, counted) => {
  expect(foldedType(type, named)).toBe(counted);
  const tally = new Tally();
  for (const _ of [1, 2]) tally.countType('stored', type);
  tally.countMs('handler-ms', 5, type);
  const sums = foldTypes(tally.take(), named);
  expect(sums.find(({ what }) => what === 'stored')).toEqual({ what: 'stored', detail: counted, count: 2 });
  expect(sums.find(({ what }) => what === 'type-ms')?.detail).toBe(`${counted} 5`);
});

it('those that nobody names are one sum, and what has no type is left alone', () => {
  const tally = new Tally();
  for (const type of ['a', 'b', 'other', 'invalid']) tally.countType('dead', type);
  tally.count('rejected', 'signature-mismatch');
  tally.count('arrived', 'shop-2');
  expect(foldTypes(tally.take(), named)).toEqual([
    { what: 'dead', detail: 'other', count: 4 },
    { what: 'rejected', detail: 'signature-mismatch', count: 1 },
    { what: 'arrived', detail: 'shop-2', count: 1 },
  ]);
});

it('asks who handles what only where that makes a difference', () => {
  const tally = new Tally();
  for (const type of ['order.created', 'invalid', null]) tally.countType('stored', type);
  tally.count('rejected', 'whatever');
  expect(hasOwnType(tally.take())).toBe(false);
  tally.countMs('handler-ms', 5, 'own');
  expect(hasOwnType(tally.take())).toBe(true);
});

it('names a bounded number of them, whatever handlers name', () => {
  const many = Array.from({ length: 200 }, (_, n) => `own.${1_000 + n}`);
  const types = ownTypesAmong([
    '*',
    'order.created',
    'other',
    'invalid',
    'x'.repeat(101),
    ...many.toReversed(),
    ...many,
  ]);
  expect([...types]).toEqual(many.slice(0, MOST_OWN_TYPES));
});

it('looks again after ten seconds', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const types = new NamedTypes();
    expect(types.isFresh).toBe(false);
    expect([...types.learn(['own', '*'])]).toEqual(['own']);
    vi.advanceTimersByTime(9_999);
    expect([types.isFresh, ...types.names]).toEqual([true, 'own']);
    vi.advanceTimersByTime(1);
    expect(types.isFresh).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

it.each([
  [0, '1'],
  [1, '1'],
  [1.5, '2'],
  [60_000, '60000'],
  [60_000.1, 'inf'],
])('%d ms count as %s', (ms, bucket) => {
  expect(latencyBucket(ms)).toBe(bucket);
});

it('a latency counts in the first bucket that holds it', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 100_000, noNaN: true }), (ms) => {
      const smaller = LATENCY_BUCKETS_MS.filter((bound) => bound < ms);
      expect(latencyBucket(ms)).toBe(String(LATENCY_BUCKETS_MS[smaller.length] ?? 'inf'));
    }),
  );
});
