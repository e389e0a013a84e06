import { describe, expect, test } from 'vitest';
import { rangeOf } from '../../../src/page/parts/range.tsx';
import { readRange } from '../../../src/page/parts/read-range.ts';

/** a Saturday */
const NOW = new Date('2026-03-14T12:40:07Z');
const HOUR = 60;

function read(text: string, aheadMinutes = 0): string | null {
  const range = readRange(text, NOW, aheadMinutes * 60_000);
  return range === null ? null : `${short(range.since)} ${range.isLast ? 'now' : short(range.until)}`;
}

function short(at: Date): string {
  return at.toISOString().slice(5, 16);
}

test.each([
  ['90m', '03-14T11:10 now'],
  ['last 2 days', '03-12T12:40 now'],
  ['3h', '03-14T09:40 now'],
  ['9:00', '03-14T09:00 now'],
  ['14:00', '03-13T14:00 now'],
  ['9-11', '03-14T09:00 03-14T11:00'],
  ['9:30 – 11', '03-14T09:30 03-14T11:00'],
  ['14-15:30', '03-13T14:00 03-13T15:30'],
  ['23-1', '03-13T23:00 03-14T01:00'],
  ['10-14', '03-14T10:00 now'],
  ['today', '03-14T00:00 now'],
  ['Yesterday', '03-13T00:00 03-14T00:00'],
  ['yesterday 9-11', '03-13T09:00 03-13T11:00'],
  ['yesterday 9 to 11', '03-13T09:00 03-13T11:00'],
  ['yesterday 14:00', '03-13T14:00 now'],
  ['saturday', '03-14T00:00 now'],
  ['mon 9-11', '03-09T09:00 03-09T11:00'],
  ['26 nov', '11-26T00:00 11-27T00:00'],
  ['mar 12 22-2', '03-12T22:00 03-13T02:00'],
  ['2026-03-02 8:15-9', '03-02T08:15 03-02T09:00'],
  ['2026-03-02T08:00Z/2026-03-02T09:30Z', '03-02T08:00 03-02T09:30'],
])('reads %s', (text, span) => {
  expect(read(text)).toBe(span);
});

test.each([
  '',
  'soon',
  '25:00',
  '9:75',
  '9-',
  '-9',
  '31 feb',
  '2026-02-30',
  '2027-01-01',
  'today 14-15',
  '401d',
  '0m',
  '2026-03-02T09:30Z/2026-03-02T08:00Z',
  '2026-03-02T09:30/2026-03-02T10:00Z/',
  '<b>',
])('does not read %j', (text) => {
  expect(read(text)).toBeNull();
});

test('a day and a time are those of the reader', () => {
  expect(read('9-11', 2 * HOUR)).toBe('03-14T07:00 03-14T09:00');
  expect(read('today', 13 * HOUR)).toBe('03-14T11:00 now');
  expect(read('yesterday', -5 * HOUR)).toBe('03-13T05:00 03-14T05:00');
  expect(read('2026-03-02T08:00Z/2026-03-02T09:30Z', 2 * HOUR)).toBe('03-02T08:00 03-02T09:30');
});

describe('the steps of a typed range', () => {
  const range = (query: string) => rangeOf(new URL(`http://localhost/?${query}`), NOW);
  test.each([
    ['range=9-11', 2, 60],
    ['range=12:00', 1, 41],
    ['range=yesterday 9-11', 60, 2],
    ['range=yesterday', 60, 24],
    ['range=3d', 120, 37],
    ['range=400d', 7 * 24 * 60, 58],
  ])('%s: %d minutes, at most sixty', (query, minutes, steps) => {
    const { stepMs, steps: count, since, until } = range(query);
    expect([stepMs / 60_000, count]).toEqual([minutes, steps]);
    expect((until.getTime() - since.getTime()) / stepMs).toBe(steps);
  });

  test('the zone of the visitor counts, within a day', () => {
    expect(range('range=yesterday 9-11&zone=60').since.toISOString()).toBe('2026-03-13T08:00:00.000Z');
    expect(range('range=yesterday 9-11&zone=9999').since.toISOString()).toBe('2026-03-13T09:00:00.000Z');
    expect(range('range=yesterday 9-11&zone=x').since.toISOString()).toBe('2026-03-13T09:00:00.000Z');
  });
});
