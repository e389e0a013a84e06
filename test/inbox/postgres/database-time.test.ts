import { afterEach, beforeEach, expect, it } from 'vitest';
import { databaseTime, type DatabaseTime } from '../../../src/inbox/postgres/database-time.ts';
import type { Session } from '../../../src/inbox/postgres/driver/session.ts';

const HOUR_MS = 3_600_000;

/** A clock that ticks by milliseconds, and that the test sets. */
let setBy = 0;
const { now } = Date;
beforeEach(() => {
  setBy = 0;
  const begin = Date.now();
  Date.now = () => Math.floor(begin + performance.now()) + setBy;
});
afterEach(() => {
  Date.now = now;
});

/** The server's clock is an hour ahead. */
async function anHourAhead(): Promise<DatabaseTime> {
  const time = databaseTime();
  const ms = Date.now() + HOUR_MS;
  await time.follow({ row: async () => ({ ms }) } as unknown as Session); // the one thing that is asked of it
  return time;
}

it('carries all times over by the same, so that what was at one time stays at one time', async () => {
  const time = await anHourAhead();
  const carried = new Set<number>();
  for (const until = performance.now() + 50; performance.now() < until;) carried.add(time.toDatabase(0));
  expect(carried.size).toBe(1);
  const [ms = 0] = carried;
  expect(Math.abs(ms - HOUR_MS)).toBeLessThan(1_000);
  expect(time.toCaller(time.toDatabase(1_234))).toBe(1_234);
});

it('follows a clock of its own that is set, also by less than a second', async () => {
  const time = await anHourAhead();
  const before = time.toDatabase(0);
  setBy = 700;
  expect(Math.abs(before - time.toDatabase(0) - 700)).toBeLessThan(350);
});

it.each([HOUR_MS, -HOUR_MS])(
  'carries over what was asked for before a clock of its own was set by %i ms',
  async (ms) => {
    const time = await anHourAhead();
    const asked = time.requested();
    const at = Date.now();
    const before = time.toDatabase(at);
    setBy = ms;
    expect(Math.abs(asked.toDatabase(at) - before)).toBeLessThan(350);
    expect(Math.abs(asked.granted(at) - before)).toBeLessThan(350);
  },
);

it('carries over what was asked for before the machine slept: what was at one time stays at one time', async () => {
  const time = await anHourAhead();
  const asked = time.requested();
  const at = Date.now();
  const before = time.toDatabase(at);
  setBy = HOUR_MS;
  await time.follow({ row: async () => ({ ms: Date.now() + HOUR_MS }) } as unknown as Session);
  expect(Math.abs(asked.toDatabase(at) - before)).toBeLessThan(350);
});

it('carries over what was asked for before its own clock and that of the database were set back together', async () => {
  const time = await anHourAhead();
  const asked = time.requested();
  const at = Date.now();
  setBy = -HOUR_MS;
  time.clock?.lost();
  await time.follow({ row: async () => ({ ms: Date.now() + HOUR_MS }) } as unknown as Session);
  expect(Math.abs(asked.toDatabase(at + 1_000) - time.toDatabase(Date.now() + 1_000))).toBeLessThan(350);
});
