import { performance } from '../../host/real-timers.ts';
import type { Session } from './driver/session.ts';

/**
 * Times in the database come from its clock, because clocks of machines may be hours apart. Tests with another clock
 * turn that off.
 */
export interface DatabaseTime {
  follow(session: Session): Promise<void>;
  readonly toDatabase: (ms: number) => number;
  readonly toCaller: (ms: number) => number;
  /** Converts the times of a request made now. The request may wait, and the caller's clock may be set in that time. */
  requested(): RequestTimes;
  readonly clock?: ServerClock;
}

export interface RequestTimes {
  toDatabase(ms: number): number;
  /** plus the wait since the request */
  granted(ms: number): number;
}

export interface ServerClock {
  /** @param requestedAt - on the monotonic clock, like `answeredAt` */
  observe(ms: number, requestedAt: number, answeredAt: number): void;
  /** The next connection may lead to another server, with another clock. */
  lost(): void;
}

export const CLOCK = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms';

export const callersTime: DatabaseTime = timeApart(0);

/** For a database whose clock is always ahead of the caller's by `ms`. */
export function timeApart(ms: number): DatabaseTime {
  const toDatabase = (at: number): number => at + ms;
  const requested = { toDatabase, granted: toDatabase };
  return { follow: async () => {}, toDatabase, toCaller: (at) => at - ms, requested: () => requested };
}

/** The database's clock may be set too, or another server may take over. */
const ASK_EVERY_MS = 1_000;
/** Clocks tick by milliseconds, and the process may be delayed between two readings. */
const NOTHING_MS = 5;
const MOST_LOOKS = 5;
/** A clock that moved by less was not set. */
const SET_MS = 1_000;

/** Reads again if the process was delayed between the two clocks. */
function monotonicAhead(): number {
  for (let left = MOST_LOOKS; ; left -= 1) {
    const monotonic = performance.now();
    const ahead = monotonic - Date.now();
    if (left === 0 || performance.now() - monotonic < 1) return ahead;
  }
}

export function databaseTime(): DatabaseTime {
  /** the difference to the monotonic clock of this process */
  let offset: number | null = null;
  let requestedAt = 0;
  /** the machine's clock minus the monotonic one; it grows while the machine sleeps */
  let wall = 0;
  let carriedBy = 0;
  const apart = (): number => {
    if (offset === null) throw new Error('the time of the database is not known yet');
    const now = offset + monotonicAhead();
    // All times use the same offset, so that equal times stay equal.
    if (Math.abs(now - carriedBy) > NOTHING_MS) carriedBy = Math.round(now);
    return carriedBy;
  };
  const clock: ServerClock = {
    observe(ms, from, to) {
      requestedAt = to;
      wall = Date.now() - to;
      // The time is from a moment in between. An offset that may still be correct stays.
      const [least, most] = [ms - 1 - to, ms + 1 - from];
      if (offset === null || offset < least || offset > most) offset = (least + most) / 2;
    },
    lost() {
      requestedAt = -Infinity;
    },
  };
  return {
    async follow(session) {
      const now = performance.now();
      if (offset !== null && now - requestedAt < ASK_EVERY_MS && Math.abs(Date.now() - now - wall) < 1_000) return;
      const row = await session.row<{ ms: number }>(CLOCK);
      clock.observe(row?.ms ?? 0, now, performance.now());
    },
    toDatabase: (ms) => ms + apart(),
    requested() {
      const [requestedAt, offsetThen, aheadThen] = [performance.now(), offset, monotonicAhead()];
      const toDatabase = (ms: number): number => {
        const now = apart();
        const then = (offset ?? 0) + aheadThen;
        const moved = then - now;
        // The monotonic clock stops while the machine sleeps, so the database's clock seems set by as much.
        const hasSlept = moved > 0 && offsetThen !== null && Math.abs((offset ?? 0) - offsetThen - moved) < SET_MS;
        return ms + (Math.abs(moved) < SET_MS || hasSlept ? now : Math.round(then));
      };
      return { toDatabase, granted: (ms) => toDatabase(ms) + Math.round(performance.now() - requestedAt) };
    },
    toCaller: (ms) => ms - apart(),
    clock,
  };
}
