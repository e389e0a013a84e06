import type { Session } from './driver/session.ts';

/**
 * Which times an inbox writes. The clocks of machines that share one may be hours apart, so it writes the database's: what a
 * caller says of its own clock is carried over by how far that lies from now. What is given back for a caller to wait for is
 * carried back. Tests whose clock is not the machine's say so, and their times are taken as they are.
 */
export interface DatabaseTime {
  /** Asks the database for the time, where that is needed. */
  follow(session: Session): Promise<void>;
  /**
   * A time of the caller's clock, as the database has it.
   *
   * @param askedAt - what it was then on the monotonic clock: what is granted counts from now, however long it was waited for
   */
  toDatabase(ms: number, askedAt?: number): number;
  toCaller(ms: number): number;
}

/** Of callers whose times are taken as they are. */
export const callersTime: DatabaseTime = { follow: async () => {}, toDatabase: (ms) => ms, toCaller: (ms) => ms };

/** Clocks drift by less than a millisecond in that. */
const ASK_EVERY_MS = 60_000;
/** A clock that ticks by milliseconds is up to one behind, and the process may be held up between a look at one and at the other. */
const NOTHING_MS = 5;

export function databaseTime(): DatabaseTime {
  /** what to add to the monotonic clock of this process, which nobody sets */
  let offset: number | null = null;
  let askedAt = 0;
  /** the machine slept if its own clock has gone further than the monotonic one */
  let wall = 0;
  let carriedBy = 0;
  const apart = (): number => {
    if (offset === null) throw new Error('the time of the database is not known yet');
    const now = offset + performance.now() - Date.now();
    // All by the same: what was at one time stays at one time.
    if (Math.abs(now - carriedBy) > NOTHING_MS) carriedBy = Math.round(now);
    return carriedBy;
  };
  return {
    async follow(session) {
      const now = performance.now();
      if (offset !== null && now - askedAt < ASK_EVERY_MS && Math.abs(Date.now() - now - wall) < 1_000) return;
      const row = await session.row<{ ms: number }>(
        'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
      );
      const answeredAt = performance.now();
      offset = (row?.ms ?? 0) - (now + answeredAt) / 2;
      askedAt = answeredAt;
      wall = Date.now() - answeredAt;
    },
    toDatabase: (ms, askedAt) => ms + apart() + (askedAt === undefined ? 0 : Math.round(performance.now() - askedAt)),
    toCaller: (ms) => ms - apart(),
  };
}
