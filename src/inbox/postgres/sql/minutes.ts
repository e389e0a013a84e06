import { minuteOf } from '../../rules/tally.ts';
import type { DatabaseTime } from '../database-time.ts';

const MINUTE_MS = 60_000;

/**
 * How far the database's minutes lie from those of a caller, in whole minutes: so a span of whole minutes is one there too, and
 * clocks that are a few seconds apart have the same. Follow the time first.
 */
export function minutesApart(time: Pick<DatabaseTime, 'toDatabase'>): number {
  return Math.round(time.toDatabase(0) / MINUTE_MS) * MINUTE_MS;
}

/** The minute that something is counted in, whose time the caller's clock has said. */
export function minuteInDatabase(time: Pick<DatabaseTime, 'toDatabase'>, at: number): number {
  return minuteOf(at) + minutesApart(time);
}
