import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInstant, parseInstant, type Instant } from '../../src/events/instant.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const utc = (...args: Parameters<typeof Date.UTC>): number => Date.UTC(...args);

describe('parseInstant', () => {
  it.each<[string, number, number]>([
    // zones
    ['2026-03-14T08:02:11Z', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14t08:02:11.000Z', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2024-02-29T23:59:59.999Z', utc(2024, 1, 29, 23, 59, 59, 999), 0],
    ['2026-03-14t08:02:11z', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T08:02:11', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T08:02', utc(2026, 2, 14, 8, 2), 0],
    ['2026-03-14T08:02Z', utc(2026, 2, 14, 8, 2), 0],
    // offsets
    ['2026-03-14T10:02:11+02:00', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T10:02:11+0200', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T10:02:11+02', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T03:32:11-04:30', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T13:47:11+05:45', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T08:02:11+00:00', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T08:02:11-00:00', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T23:30:00-01:00', utc(2026, 2, 15, 0, 30), 0],
    ['2026-01-01T00:30:00+01:00', utc(2025, 11, 31, 23, 30), 0],
    // fractions
    ['2026-03-14T08:02:11.4Z', utc(2026, 2, 14, 8, 2, 11, 400), 0],
    ['2026-03-14T08:02:11.48Z', utc(2026, 2, 14, 8, 2, 11, 480), 0],
    ['2026-03-14T08:02:11.480Z', utc(2026, 2, 14, 8, 2, 11, 480), 0],
    ['2026-03-14T08:02:11.480123Z', utc(2026, 2, 14, 8, 2, 11, 480), 123_000],
    ['2026-03-14T08:02:11.480123456Z', utc(2026, 2, 14, 8, 2, 11, 480), 123_456],
    ['2026-03-14T08:02:11.000000001Z', utc(2026, 2, 14, 8, 2, 11), 1],
    ['2026-03-14T08:02:11.999999999Z', utc(2026, 2, 14, 8, 2, 11, 999), 999_999],
    ['2026-03-14T08:02:11.9999999999999Z', utc(2026, 2, 14, 8, 2, 11, 999), 999_999],
    ['2026-03-14T08:02:11,5Z', utc(2026, 2, 14, 8, 2, 11, 500), 0],
    ['2026-03-14T10:02:11.480123+02:00', utc(2026, 2, 14, 8, 2, 11, 480), 123_000],
    // before 1970, where milliseconds are negative and the fraction still counts forward
    ['1969-12-31T23:59:59.999999999Z', -1, 999_999],
    ['1970-01-01T00:00:00Z', 0, 0],
    // the ends of the calendar
    ['0001-01-01T00:00:00Z', -62_135_596_800_000, 0],
    ['0099-12-31T23:59:59Z', -59_011_459_201_000, 0],
    ['9999-12-31T23:59:59.999999999Z', 253_402_300_799_999, 999_999],
    // the midnight that ends a day, and leap seconds
    ['2026-03-14T24:00:00Z', utc(2026, 2, 15), 0],
    ['2026-03-14T24:00', utc(2026, 2, 15), 0],
    ['2026-12-31T24:00:00.000Z', utc(2027, 0, 1), 0],
    ['2026-03-14T24:00:00+02:00', utc(2026, 2, 14, 22), 0],
    ['2016-12-31T23:59:60Z', utc(2017, 0, 1), 0],
    ['2016-12-31T23:59:60.25Z', utc(2017, 0, 1, 0, 0, 0, 250), 0],
    ['2026-03-14T08:02:60.000Z', utc(2026, 2, 14, 8, 3), 0],
    // as others write it
    ['2026-03-14T08Z', utc(2026, 2, 14, 8), 0],
    ['2026-03-14T08', utc(2026, 2, 14, 8), 0],
    ['2026-03-14 08:02:11Z', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-3-14 8:02:11', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026/03/14 08:02:11', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14 10:02:11.480123+02', utc(2026, 2, 14, 8, 2, 11, 480), 123_000],
    ['2026-03-14 08:02:11 UTC', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14 10:02:11 +0200', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14 10:02:11.480123456 +0200 CEST', utc(2026, 2, 14, 8, 2, 11, 480), 123_456],
    ['2026-03-14T10:02:11+02:00[Europe/Berlin]', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T08:02:11Z[UTC]', utc(2026, 2, 14, 8, 2, 11), 0],
    ['2026-03-14T03:32:11−04:30', utc(2026, 2, 14, 8, 2, 11), 0],
    ['20260314T080211Z', utc(2026, 2, 14, 8, 2, 11), 0],
    ['20260314T080211.48Z', utc(2026, 2, 14, 8, 2, 11, 480), 0],
    ['20260314080211', utc(2026, 2, 14, 8, 2, 11), 0],
    ['Sat, 14 Mar 2026 08:02:11 GMT', utc(2026, 2, 14, 8, 2, 11), 0],
    ['Sat, 14 Mar 2026 10:02:11 +0200 (CEST)', utc(2026, 2, 14, 8, 2, 11), 0],
    ['14 Mar 2026 08:02:11', utc(2026, 2, 14, 8, 2, 11), 0],
    ['Sat Mar 14 2026 10:02:11 GMT+0200 (Central European Summer Time)', utc(2026, 2, 14, 8, 2, 11), 0],
    ['Sat Mar 14 08:02:11 UTC 2026', utc(2026, 2, 14, 8, 2, 11), 0],
    ['Sat Mar 14 08:02:11 2026', utc(2026, 2, 14, 8, 2, 11), 0],
    ['March 14, 2026 08:02:11', utc(2026, 2, 14, 8, 2, 11), 0],
    [' 2026-03-14T08:02:11Z\n', utc(2026, 2, 14, 8, 2, 11), 0],
    // counted since 1970
    ['1773475331', utc(2026, 2, 14, 8, 2, 11), 0],
    ['1773475331480', utc(2026, 2, 14, 8, 2, 11, 480), 0],
    ['1773475331480123', utc(2026, 2, 14, 8, 2, 11, 480), 123_000],
    ['1773475331480123456', utc(2026, 2, 14, 8, 2, 11, 480), 123_456],
    ['1773475331.48', utc(2026, 2, 14, 8, 2, 11, 480), 0],
    // leap days
    ['2024-02-29T12:00:00Z', utc(2024, 1, 29, 12), 0],
    ['2000-02-29T12:00:00Z', utc(2000, 1, 29, 12), 0],
    ['2026-02-28T23:59:59Z', utc(2026, 1, 28, 23, 59, 59), 0],
    ['2026-12-31T23:59:59Z', utc(2026, 11, 31, 23, 59, 59), 0],
  ])('reads %s', (text, ms, ns) => {
    expect(parseInstant(text)).toEqual({ ms, ns });
    expect(isInstant(text)).toBe(true);
  });

  it.each([
    // days and times that do not exist
    '2026-02-29T12:00:00Z',
    '1900-02-29T12:00:00Z',
    '2026-02-30T12:00:00.000Z',
    '2026-02-30T12:00:00Z',
    '2024-02-30T12:00:00Z',
    '2026-04-31T12:00:00Z',
    '2026-13-01T12:00:00Z',
    '2026-00-01T12:00:00Z',
    '2026-01-00T12:00:00Z',
    '2026-01-32T12:00:00Z',
    '2026-03-14T25:00:00Z',
    '2026-03-14T08:60:00Z',
    '2026-03-14T08:02:61Z',
    '2026-03-14T24:00:01Z',
    '2026-03-14T24:00:00.001Z',
    '2026-03-14T24:01Z',
    // what only a place, or whoever wrote it, could tell
    '2026-03-14T08:02:11[Europe/Berlin]',
    '2026-03-14 08:02:11 CET',
    'Sat Mar 14 08:02:11 CET 2026',
    '03/04/2026 08:02:11',
    '3/14/2026 8:02:11 AM',
    '14.03.2026 08:02:11',
    '2026-03/14 08:02:11',
    '2026314T08:02:11Z',
    '177347533',
    '17734753311',
    `2026-03-14T08:02:11Z${' '.repeat(5_000)}x`,
    `2026-03-14T08:02:11+02:00 ${'CEST '.repeat(30)}`,
    // offsets that do not exist
    '2026-03-14T08:02:11+24:00',
    '2026-03-14T08:02:11+02:60',
    '2026-03-14T08:02:11+2',
    '2026-03-14T08:02:11+02:',
    '2026-03-14T08:02:11+02:0',
    '2026-03-14T08:02:11+',
    '2026-03-14T08:02:11Z+02:00',
    // not a date-time
    '2026-03-14',
    '2026-03-14T',
    '08:02:11Z',
    '26-03-14T08:02:11Z',
    '+002026-03-14T08:02:11Z',
    '-0001-03-14T08:02:11Z',
    '2026-W11-6T08:02:11Z',
    '2026-073T08:02:11Z',
    '2026-03-14T08:02:11.Z',
    '2026-03-14T08:02.5Z',
    '2026-03-14T08:02:11ZZ',
    '２０２６-03-14T08:02:11Z',
    'now',
    'null',
    '',
  ])('finds no point in time in %j', (text) => {
    expect(parseInstant(text)).toBeNull();
    expect(isInstant(text)).toBe(false);
  });

  it('agrees with Date on every millisecond from the year 0 to 9999', () => {
    const ms = fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 });
    fc.assert(
      fc.property(ms, (ms) => {
        expect(parseInstant(new Date(ms).toISOString())).toEqual({ ms, ns: 0 });
      }),
      { numRuns: 5_000 },
    );
  });

  it('agrees with Date on which of the usual texts there are', () => {
    const two = (max: number) => fc.nat({ max }).map((value) => String(value).padStart(2, '0'));
    const usual = fc
      .tuple(fc.constantFrom('2024', '2026', '0000', '9999'), two(15), two(35), two(26), two(65), two(65))
      .map(([year, month, day, hour, minute, second]) => `${year}-${month}-${day}T${hour}:${minute}:${second}.125Z`);
    fc.assert(
      fc.property(usual, (text) => {
        const date = new Date(text);
        const isLeap = text.endsWith(':60.125Z') && isInstant(text.replace(':60.', ':59.'));
        if (isLeap) {
          const second = new Date(text.replace(':60.', ':59.'));
          expect(parseInstant(text)).toEqual({ ms: second.getTime() + 1_000, ns: 0 });
          return;
        }
        const exists = !Number.isNaN(date.getTime()) && date.toISOString() === text;
        expect(parseInstant(text)).toEqual(exists ? { ms: date.getTime(), ns: 0 } : null);
        expect(isInstant(text)).toBe(exists);
      }),
      { numRuns: 5_000 },
    );
  });

  it('reads the same instant from every offset', () => {
    const minutes = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), minutes, (ms, offset) => {
        const local = new Date(ms + offset * 60_000).toISOString().slice(0, -1);
        const two = (value: number): string => String(value).padStart(2, '0');
        const size = Math.abs(offset);
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
        expect(parseInstant(local + zone)).toEqual({ ms, ns: 0 });
      }),
      { numRuns: 2_000 },
    );
  });

  it('never throws, whatever the text', () => {
    const near = fc.string({ unit: fc.constantFrom(...'0123456789-:T.,Z+ '), maxLength: 40 });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), near), (text) => {
        const instant = parseInstant(text);
        expect(instant === null || Number.isSafeInteger(instant.ms)).toBe(true);
        expect(isInstant(text)).toBe(instant !== null);
      }),
      { numRuns: 5_000 },
    );
  });

  it('is quick on a text of a megabyte', () => {
    const start = performance.now();
    expect(parseInstant(`2026-03-14T08:02:11.${'9'.repeat(1_000_000)}x`)).toBeNull();
    expect(parseInstant('9'.repeat(1_000_000))).toBeNull();
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe('instants', () => {
  const at = (text: string): Instant => {
    const instant = parseInstant(text);
    if (instant === null) throw new Error(`no instant: ${text}`);
    return instant;
  };
  const byTime = (a: string, b: string): number => at(a).ms - at(b).ms || at(a).ns - at(b).ns;

  const inOrder = [
    '0001-01-01T00:00:00Z',
    '1969-12-31T23:59:59.999999998Z',
    '1969-12-31T23:59:59.999999999Z',
    '1970-01-01T00:00:00Z',
    '2026-03-14T10:02:11.480+02:00',
    '2026-03-14T08:02:11.480000001Z',
    '2026-03-14T08:02:11.480123Z',
    '2026-03-14T08:02:11.480123001',
    '2026-03-14T08:02:11.481Z',
    '2026-03-14T07:02:12-01:00',
    '9999-12-31T23:59:59.999999999Z',
  ];

  it('are in the order of time, by ms and then ns, where their texts are not', () => {
    const byText = inOrder.toSorted();
    expect(byText).not.toEqual(inOrder);
    expect(byText.toSorted(byTime)).toEqual(inOrder);
    expect(byText.toSorted((a, b) => byTime(b, a))).toEqual(inOrder.toReversed());
  });

  it.each([
    ['2026-03-14T08:02:11Z', '2026-03-14T10:02:11+02:00'],
    ['2026-03-14T08:02:11', '2026-03-14T08:02:11.000000Z'],
    ['2026-03-14T08:02:11.500Z', '2026-03-14T08:02:11,500000000Z'],
    ['2026-03-14T00:00:00.000Z', '2026-03-13T23:00:00-01:00'],
  ])('of %s and %s are the same', (one, other) => {
    expect(at(one)).toEqual(at(other));
  });

  it('keep the sub-millisecond part within 0 to 999,999, before 1970 too', () => {
    const fraction = fc.nat({ max: 999_999_999 }).map((ns) => String(ns).padStart(9, '0'));
    fc.assert(
      fc.property(fc.constantFrom('1969-12-31T23:59:59', '2026-03-14T08:02:11'), fraction, (second, fraction) => {
        const { ms, ns } = at(`${second}.${fraction}Z`);
        expect(ns).toBe(Number(fraction.slice(3)));
        expect(ms).toBe(at(`${second}Z`).ms + Number(fraction.slice(0, 3)));
      }),
      { numRuns: 2_000 },
    );
  });
});
