import { performance } from '../../host/real-timers.ts';
import type { Session } from './driver/session.ts';

/**
 * Which times an inbox writes. The clocks of machines that share one may be hours apart, so it writes the database's: what a
 * caller says of its own clock is carried over by how far that lies from now. What is given back for a caller to wait for is
 * carried back. Tests whose clock is not the machine's say so, and their times are taken as they are.
 */
export interface DatabaseTime {
  /** Asks the database for the time, where that is needed. */
  follow(session: Session): Promise<void>;
  /** A time of the caller's clock, as the database has it. */
  readonly toDatabase: (ms: number) => number;
  readonly toCaller: (ms: number) => number;
  /** The times that a caller gives with a request made now. The request may wait, and the caller's clock may be set meanwhile. */
  asked(): AskedTimes;
  /** Told the time with each transaction that begins. */
  readonly clock?: ServerClock;
}

/** Times of the caller's clock as it was when something was asked for. */
export interface AskedTimes {
  /** As the database has it. */
  toDatabase(ms: number): number;
  /** The same time plus the wait since then, because a lease counts from when it is granted. */
  granted(ms: number): number;
}

/** The clock of the database, as far as this process knows it. */
export interface ServerClock {
  /** @param askedAt - on the monotonic clock, as `answeredAt` */
  heard(ms: number, askedAt: number, answeredAt: number): void;
  /** A connection was lost: the next one may lead to another server, with another clock. */
  lost(): void;
}

/** Its time in milliseconds. */
export const CLOCK = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms';

/** Of callers whose times are taken as they are. */
export const callersTime: DatabaseTime = timeApart(0);

/** A database whose clock is ahead of the caller's by so much, always. */
export function timeApart(ms: number): DatabaseTime {
  const toDatabase = (at: number): number => at + ms;
  const asked = { toDatabase, granted: toDatabase };
  return { follow: async () => {}, toDatabase, toCaller: (at) => at - ms, asked: () => asked };
}

/** The database's clock may be set too, or another server take over. Whoever changes something has just heard of it, with BEGIN. */
const ASK_EVERY_MS = 1_000;
/** A clock that ticks by milliseconds is up to one behind, and the process may be held up between a look at one and at the other. */
const NOTHING_MS = 5;
const MOST_LOOKS = 5;
/** A clock that moved by less was not set. */
const SET_MS = 1_000;

/** How far the monotonic clock is ahead of the machine's; looked at again where the process was held up between the two. */
function monotonicAhead(): number {
  for (let left = MOST_LOOKS; ; left -= 1) {
    const monotonic = performance.now();
    const ahead = monotonic - Date.now();
    if (left === 0 || performance.now() - monotonic < 1) return ahead;
  }
}

export function databaseTime(): DatabaseTime {
  /** what to add to the monotonic clock of this process, which nobody sets */
  let offset: number | null = null;
  let askedAt = 0;
  /** the machine slept if its own clock has gone further than the monotonic one */
  let wall = 0;
  let carriedBy = 0;
  const apart = (): number => {
    if (offset === null) throw new Error('the time of the database is not known yet');
    const now = offset + monotonicAhead();
    // All by the same: what was at one time stays at one time.
    if (Math.abs(now - carriedBy) > NOTHING_MS) carriedBy = Math.round(now);
    return carriedBy;
  };
  const clock: ServerClock = {
    heard(ms, from, to) {
      askedAt = to;
      wall = Date.now() - to;
      // It said so at some time in between. What may still be true stays: a slow answer moves no time.
      const [least, most] = [ms - 1 - to, ms + 1 - from];
      if (offset === null || offset < least || offset > most) offset = (least + most) / 2;
    },
    lost() {
      askedAt = -Infinity;
    },
  };
  return {
    async follow(session) {
      const now = performance.now();
      if (offset !== null && now - askedAt < ASK_EVERY_MS && Math.abs(Date.now() - now - wall) < 1_000) return;
      const row = await session.row<{ ms: number }>(CLOCK);
      clock.heard(row?.ms ?? 0, now, performance.now());
    },
    toDatabase: (ms) => ms + apart(),
    asked() {
      const [askedAt, offsetThen, aheadThen] = [performance.now(), offset, monotonicAhead()];
      const toDatabase = (ms: number): number => {
        const now = apart();
        const then = (offset ?? 0) + aheadThen;
        const moved = then - now;
        // The monotonic clock stands still while the machine sleeps: then it is the database's clock that seems set, by as much.
        const hasSlept = moved > 0 && offsetThen !== null && Math.abs((offset ?? 0) - offsetThen - moved) < SET_MS;
        return ms + (Math.abs(moved) < SET_MS || hasSlept ? now : Math.round(then));
      };
      return { toDatabase, granted: (ms) => toDatabase(ms) + Math.round(performance.now() - askedAt) };
    },
    toCaller: (ms) => ms - apart(),
    clock,
  };
}
