import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, type History } from '../../../src/ops/traffic/rhythm.ts';
import {
  gapOf,
  isRejecting,
  isSilent,
  rejectingSpan,
  spanOfGap,
  usualGapMs,
} from '../../../src/ops/traffic/silence.ts';

const MINUTE_MS = 60_000;
/** A Monday. */
const MIDNIGHT = Date.UTC(2026, 5, 1);
const at = (day: number, hour: number): number => MIDNIGHT + day * DAY_MS + hour * HOUR_MS;

/** What a shop counts from a day on, until it is told of; `hourly` is asked for each hour. */
function history(until: number, hourly: (hour: number, weekday: number) => number, days = 35): History {
  const begin = until - days * DAY_MS;
  const hours = new Map<number, number>();
  for (let at = begin; at < until; at += HOUR_MS) {
    hours.set(at, hourly(new Date(at).getUTCHours(), new Date(at).getUTCDay()));
  }
  return { hours, begin };
}

const steady = (until: number, days?: number): History => history(until, () => 450, days);
const openFrom8To22 = (hour: number): number => (hour >= 8 && hour < 22 ? 450 : 0);

describe('the usual gap', () => {
  const gap = (now: number, length: 'hour' | 'day', shop: History) => usualGapMs(spanOfGap(now, length), shop);

  it('is that of this hour on earlier days', () => {
    const shop = history(at(0, 12), openFrom8To22);
    expect(gap(at(0, 12), 'hour', shop)).toBe(8_000);
    expect(gap(at(0, 22) + 30 * MINUTE_MS, 'hour', shop)).toBe(16_000);
    expect(gap(at(1, 3), 'hour', shop)).toBeNull();
  });

  it('is that of the day where less than one an hour comes', () => {
    const seldom = history(at(0, 12), (hour) => (hour % 4 === 0 ? 1 : 0));
    expect([gap(at(0, 12), 'hour', seldom), gap(at(0, 12), 'day', seldom)]).toEqual([null, 4 * HOUR_MS]);
    expect(
      gap(
        at(0, 12),
        'day',
        history(at(0, 12), () => 0),
      ),
    ).toBeNull();
  });

  it('is not that of the day at an hour in which nothing comes', () => {
    const shop = history(at(0, 12), openFrom8To22);
    expect(gapOf(gap(at(1, 3), 'hour', shop), gap(at(1, 3), 'day', shop))).toBeNull();
    expect([gapOf(8_000, 4 * HOUR_MS), gapOf(null, 4 * HOUR_MS), gapOf(null, null)]).toEqual([
      8_000,
      4 * HOUR_MS,
      null,
    ]);
  });

  it('is not known of a new shop', () => {
    for (const length of ['hour', 'day'] as const) {
      expect(gap(at(0, 12), length, steady(at(0, 12), 1 / 24))).toBeNull();
      expect(gap(at(0, 12), length, steady(at(0, 12), 1))).toBeNull();
      expect(gap(at(0, 12), length, steady(at(0, 12), 2 + 2 / 24))).toBe(8_000);
    }
  });
});

describe('silence', () => {
  it('is told after ten minutes where hundreds come in an hour, and as long as nothing comes', () => {
    const last = at(0, 12);
    const shop = steady(last);
    for (const minutes of [0, 1, 9.9]) expect(isSilent(last, last + minutes * MINUTE_MS, shop)).toBe(false);
    for (const hours of [1 / 6, 0.9, 1, 1.02, 2, 23, 24, 25, 24 * 6, 24 * 40]) {
      expect(isSilent(last, last + hours * HOUR_MS, shop), `${hours} h`).toBe(true);
    }
  });

  it('is not told of what the clock says is still to come', () => {
    expect(isSilent(at(0, 14), at(0, 12), steady(at(0, 14)))).toBe(false);
  });

  it('is not told at night, nor before the shop has been open for a while', () => {
    const last = at(0, 22);
    const shop = history(last, openFrom8To22);
    for (const hour of [22.5, 23, 26, 30, 32]) expect(isSilent(last, at(0, hour), shop), `${hour}`).toBe(false);
    expect(isSilent(last, at(0, 33.5), shop)).toBe(true);
  });

  it('is not told of the day of rest, nor of the morning behind it', () => {
    // Open from Monday to Saturday; MIDNIGHT is a Monday's, so it was closed on the day before.
    const last = at(-2, 22);
    const shop = history(last, (hour, weekday) => (weekday === 0 ? 0 : openFrom8To22(hour)));
    for (const hour of [-24 + 9, -12, -3, 0, 7, 8]) expect(isSilent(last, at(0, hour), shop), `${hour}`).toBe(false);
    expect(isSilent(last, at(0, 10), shop)).toBe(true);
  });

  it.each([1, -1])('is not told because the clocks were changed by an hour: %i', (moved) => {
    // All earlier days were an hour off.
    const shop = history(at(0, 22), (hour) => openFrom8To22((hour + moved + 24) % 24));
    for (const hour of [22, 22.9, 23, 27, 32]) expect(isSilent(at(0, 22), at(0, hour), shop), `${hour}`).toBe(false);
  });

  it('takes days where little comes', () => {
    const last = at(0, 0);
    const shop = history(last, (hour) => (hour % 6 === 0 ? 3 : 0)); // twelve a day
    for (const hours of [6, 24, 72]) expect(isSilent(last, last + hours * HOUR_MS, shop), `${hours} h`).toBe(false);
    expect(isSilent(last, last + 5 * DAY_MS, shop)).toBe(true);
    expect(
      isSilent(
        last,
        last + 5 * DAY_MS,
        history(last, (hour) => (hour === 0 ? 1 : 0)),
      ),
    ).toBe(false);
  });

  it('is still told when one of the days before had an outage, and not when the rush came once', () => {
    const last = at(0, 12);
    const { hours, begin } = steady(last);
    const outage = [...hours].map(([hour, count]) => [hour, hour >= at(-1, 6) && hour < at(0, 6) ? 0 : count] as const);
    expect(isSilent(last, at(0, 14), { hours: new Map(outage), begin })).toBe(true);
    const rush = [...hours].map(([hour]) => [hour, hour >= at(-1, 6) && hour < at(0, 6) ? 9_000 : 0] as const);
    expect(isSilent(last, at(0, 14), { hours: new Map(rush), begin })).toBe(false);
  });

  it('makes no claim for a new shop', () => {
    const last = at(0, 12);
    for (const days of [1 / 24, 0.5, 1]) expect(isSilent(last, at(0, 14), steady(last, days)), `${days}`).toBe(false);
    expect(isSilent(last, at(0, 14), steady(last, 27 / 24))).toBe(true);
  });
});

describe('refusals', () => {
  const now = at(0, 14);
  const none = { accepted: 0, rejected: 0, everAccepted: true };

  it('are looked at since the last delivery that was accepted, for an hour at least and a week at most', () => {
    expect(rejectingSpan(now - MINUTE_MS, now).since).toBe(now - HOUR_MS);
    expect(rejectingSpan(now - 5 * HOUR_MS, now).since).toBe(now - 5 * HOUR_MS + 1);
    expect(rejectingSpan(now - 50 * DAY_MS, now).since).toBe(now - 7 * DAY_MS);
    expect(rejectingSpan(null, now).since).toBe(now - 7 * DAY_MS);
  });

  it('of every delivery are told, as after a wrong secret, from a handful on', () => {
    const span = rejectingSpan(now - 2 * HOUR_MS, now);
    expect(isRejecting(span, { ...none, rejected: 4 }, steady(now))).toBe(false);
    expect(isRejecting(span, { ...none, rejected: 5 }, steady(now))).toBe(true);
    expect(isRejecting(span, { ...none, rejected: 900, accepted: 9 }, steady(now))).toBe(true);
  });

  it('that a stranger has caused are no alarm: not beside usual traffic, nor at night', () => {
    const span = rejectingSpan(now - 1_000, now);
    expect(isRejecting(span, { ...none, rejected: 100_000, accepted: 450 }, steady(now))).toBe(false);
    const night = rejectingSpan(at(0, 22), at(1, 3));
    expect(isRejecting(night, { ...none, rejected: 500 }, history(at(0, 22), openFrom8To22))).toBe(false);
  });

  it('are told of a new shop that has never accepted any, and else only when there are many', () => {
    const span = rejectingSpan(null, now);
    const empty = { hours: new Map<number, number>(), begin: now };
    expect(isRejecting(span, { ...none, rejected: 5, everAccepted: false }, empty)).toBe(true);
    expect(isRejecting(span, { ...none, rejected: 5 }, empty)).toBe(false);
    expect(isRejecting(span, { ...none, rejected: 20 }, empty)).toBe(true);
    expect(isRejecting(span, { ...none, rejected: 20, accepted: 1 }, empty)).toBe(false);
  });
});
