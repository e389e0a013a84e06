import { describe, expect, test } from 'vitest';
import {
  age,
  axisTime,
  bounded,
  bytes,
  latency,
  listed,
  timestamp,
  number,
  percent,
  plural,
  relative,
  shortTime,
} from '../../../src/ops/words/format.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('figures', () => {
  test('thousands are set apart, and a bound that was reached says so', () => {
    expect(number(1_234_567)).toBe('1,234,567');
    expect(bounded({ count: 10_000, more: true })).toBe('10,000+');
    expect(bounded({ count: 10_000, more: false })).toBe('10,000');
  });

  test('one is not several', () => {
    expect([0, 1, 2].map((count) => plural(count, 'event'))).toEqual(['0 events', '1 event', '2 events']);
    expect(plural(2, 'redelivery', 'redeliveries')).toBe('2 redeliveries');
  });

  test.for([
    [[], ''],
    [['a'], 'a'],
    [['a', 'b'], 'a and b'],
    [['a', 'b', 'c'], 'a, b and c'],
  ] as const)('%j is listed as "%s"', ([parts, words]) => {
    expect(listed(parts)).toBe(words);
  });

  test.for([
    [0, '0%'],
    [0.000_01, '< 0.1%'],
    [0.004, '0.4%'],
    [0.5, '50%'],
    [0.999_9, '> 99.9%'],
    [1, '100%'],
  ] as const)('%s of a whole is %s', ([part, words]) => {
    expect(percent(part)).toBe(words);
  });

  test.for([
    [0, '0 bytes'],
    [1, '1 byte'],
    [1_023, '1,023 bytes'],
    [1_536, '1.5 KiB'],
    [1_048_575, '1 MiB'],
    [64 * 2 ** 20, '64 MiB'],
    [3 * 2 ** 50, '3,072 TiB'],
  ] as const)('%d bytes are %s', ([size, words]) => {
    expect(bytes(size)).toBe(words);
  });

  test.for([
    [null, '–'],
    [70, '70 ms'],
    [1_500, '1.5 s'],
    [10_000, '10 s'],
    [Infinity, 'over 60 s'],
  ] as const)('a latency of %s is %s', ([ms, words]) => {
    expect(latency(ms)).toBe(words);
  });
});

describe('times', () => {
  test.for([
    [-5, '0 s'],
    [59 * SECOND + 999, '59 s'],
    [MINUTE, '1 min'],
    [47 * MINUTE + 59 * SECOND, '47 min'],
    [HOUR, '1 h'],
    [3 * HOUR + 5 * MINUTE, '3 h 5 min'],
    [DAY - 1, '23 h 59 min'],
    [12 * DAY + 4 * HOUR, '12 d 4 h'],
    [2_000 * DAY, '2,000 d'],
  ] as const)('%d ms are %s', ([ms, words]) => {
    expect(age(ms)).toBe(words);
  });

  test('a time is told in UTC, and in how long or how long ago it is', () => {
    const now = new Date('2026-03-14T03:59:07.250Z');
    expect(timestamp(now)).toBe('2026-03-14 03:59:07 UTC');
    expect(relative(new Date(now.getTime() - 47 * MINUTE), now)).toBe('47 min ago');
    expect(relative(new Date(now.getTime() + 5 * MINUTE), now)).toBe('in 5 min');
    expect(relative(now, now)).toBe('now');
  });

  test.for([
    ['2026-03-14T00:00:00Z', '00:00'],
    ['2026-03-13T23:59:59Z', '13 Mar 23:59'],
    ['2025-12-31T08:05:00Z', '31 Dec 2025 08:05'],
  ] as const)('seen on 14 March 2026, %s is %s', ([at, words]) => {
    expect(shortTime(new Date(at), new Date('2026-03-14T03:59:07Z'))).toBe(words);
  });
});

test('an axis has room for a time or a day', () => {
  const newYear = new Date('2026-01-01T00:10:00Z');
  expect(axisTime(new Date('2026-01-01T00:05:00Z'))).toBe('00:05');
  expect(axisTime(new Date('2026-01-01T00:00:00Z'))).toBe('1 Jan');
  expect(shortTime(new Date('2025-12-31T23:55:00Z'), newYear)).toBe('31 Dec 2025 23:55');
});
