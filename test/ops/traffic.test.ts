import { describe, expect, it } from 'vitest';
import { alarmOf, usualAt, type History } from '../../src/ops/traffic.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { DAY, HOUR, MINUTE } from './counted.ts';
import { testTraffic } from './traffic.conformance.ts';

testTraffic('what comes in at an inbox in SQLite', async () => inboxOnFile().inbox);

/** A Monday. */
const MIDNIGHT = Date.UTC(2026, 5, 1);
const at = (day: number, hour: number): number => MIDNIGHT + day * DAY + hour * HOUR;

function history(until: number, hourly: (hour: number, weekday: number) => number, days = 35): History {
  const begin = until - days * DAY;
  const hours = new Map<number, number>();
  for (let at = begin; at < until; at += HOUR) {
    hours.set(at, hourly(new Date(at).getUTCHours(), new Date(at).getUTCDay()));
  }
  return { hours, begin };
}

const steady = (until: number, days?: number): History => history(until, () => 450, days);
const openFrom8To22 = (hour: number): number => (hour >= 8 && hour < 22 ? 450 : 0);

describe('the usual number of an hour', () => {
  it('is that of the same hour on earlier days', () => {
    const shop = history(at(0, 12), openFrom8To22);
    expect([12, 21, 22, 27].map((hour) => usualAt(at(0, hour), at(0, 12), shop))).toEqual([450, 450, 0, 0]);
  });

  it('is not known of a new shop', () => {
    expect(usualAt(at(0, 12), at(0, 12), steady(at(0, 12), 1 / 24))).toBeNull();
    expect(usualAt(at(0, 12), at(0, 12), steady(at(0, 12), 1))).toBe(450);
  });
});

describe('silence', () => {
  const isSilent = (last: number, now: number, history: History): boolean =>
    alarmOf({ last, now, history, lately: { since: new Date(last), accepted: 0, rejected: 0, cause: null } }) ===
    'silent';

  it('is reported after ten minutes where hundreds come in an hour, and as long as nothing comes', () => {
    const last = at(0, 12);
    const shop = steady(last);
    for (const minutes of [0, 1, 9.9]) expect(isSilent(last, last + minutes * MINUTE, shop)).toBe(false);
    for (const hours of [1 / 6, 0.9, 1, 1.02, 2, 23, 24, 25, 24 * 6, 24 * 40]) {
      expect(isSilent(last, last + hours * HOUR, shop), `${hours} h`).toBe(true);
    }
  });

  it('is not reported if the last delivery lies in the future', () => {
    expect(isSilent(at(0, 14), at(0, 12), steady(at(0, 14)))).toBe(false);
  });

  it('is not reported at night, nor before the shop has been open for a while', () => {
    const last = at(0, 22);
    const shop = history(last, openFrom8To22);
    for (const hour of [22.5, 23, 26, 30, 32]) expect(isSilent(last, at(0, hour), shop), `${hour}`).toBe(false);
    expect(isSilent(last, at(0, 33.5), shop)).toBe(true);
  });

  it('is not reported on the day of rest, nor on the morning after it', () => {
    // Open from Monday to Saturday.
    const last = at(-2, 22);
    const shop = history(last, (hour, weekday) => (weekday === 0 ? 0 : openFrom8To22(hour)));
    for (const hour of [-24 + 9, -12, -3, 0, 7, 8]) expect(isSilent(last, at(0, hour), shop), `${hour}`).toBe(false);
    expect(isSilent(last, at(0, 10), shop)).toBe(true);
  });

  it.each([1, -1])('is not reported because the clocks were changed by an hour: %i', (moved) => {
    // All earlier days were an hour off.
    const shop = history(at(0, 22), (hour) => openFrom8To22((hour + moved + 24) % 24));
    for (const hour of [22, 22.9, 23, 27, 32]) expect(isSilent(at(0, 22), at(0, hour), shop), `${hour}`).toBe(false);
  });

  it('takes days where little comes', () => {
    const last = at(0, 0);
    const shop = history(last, () => 1);
    for (const hours of [6, 24, 48]) expect(isSilent(last, last + hours * HOUR, shop), `${hours} h`).toBe(false);
    expect(isSilent(last, last + 3 * DAY, shop)).toBe(true);
  });

  it('is still reported when one of the days before had an outage, and not when the rush came once', () => {
    const last = at(0, 12);
    const { hours, begin } = steady(last);
    const outage = [...hours].map(([hour, count]) => [hour, hour >= at(-1, 6) && hour < at(0, 6) ? 0 : count] as const);
    expect(isSilent(last, at(0, 14), { hours: new Map(outage), begin })).toBe(true);
    const rush = [...hours].map(([hour]) => [hour, hour >= at(-1, 6) && hour < at(0, 6) ? 9_000 : 0] as const);
    expect(isSilent(last, at(0, 14), { hours: new Map(rush), begin })).toBe(false);
  });

  it('is not reported of a new shop', () => {
    const last = at(0, 12);
    for (const days of [1 / 24, 0.5, 1]) expect(isSilent(last, at(0, 14), steady(last, days)), `${days}`).toBe(false);
    expect(isSilent(last, at(0, 14), steady(last, 27 / 24))).toBe(true);
  });
});

describe('rejections', () => {
  const now = at(0, 14);
  const isRejecting = (
    since: number,
    until: number,
    came: { readonly accepted?: number; readonly rejected: number },
    history: History,
  ): boolean => {
    const lately = { since: new Date(since), accepted: 0, cause: null, ...came };
    return alarmOf({ last: null, now: until, lately, history }) === 'rejecting';
  };

  it('of every delivery are reported, as after a wrong secret, from a handful on', () => {
    const since = now - 2 * HOUR;
    expect(isRejecting(since, now, { rejected: 4 }, steady(now))).toBe(false);
    expect(isRejecting(since, now, { rejected: 5 }, steady(now))).toBe(true);
    expect(isRejecting(since, now, { rejected: 900, accepted: 9 }, steady(now))).toBe(true);
  });

  it('that a stranger has caused are no alarm: not beside usual traffic, nor at night', () => {
    expect(isRejecting(now - HOUR, now, { rejected: 100_000, accepted: 450 }, steady(now))).toBe(false);
    expect(isRejecting(at(0, 23), at(1, 3), { rejected: 500 }, history(at(0, 22), openFrom8To22))).toBe(false);
  });

  it('are reported of a new shop only if it accepts none', () => {
    const empty = { hours: new Map<number, number>(), begin: now };
    expect(isRejecting(now - HOUR, now, { rejected: 5 }, empty)).toBe(true);
    expect(isRejecting(now - HOUR, now, { rejected: 20, accepted: 1 }, empty)).toBe(false);
  });
});
