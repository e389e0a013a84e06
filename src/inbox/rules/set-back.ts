/**
 * What happens when the clock of a machine is set back: leases and due times that were written before lie in the future
 * by as much, and nothing would move until the clock has got there again. So an inbox remembers the latest time that
 * it was told when it wrote one of them. Whoever claims at an earlier time knows by how much the clock was set back, and
 * moves them all back by that: each lasts as long, from now on, as it had left then. So a live lease stays one, whatever
 * length its holder gives it, and a backoff stays what its processor has chosen. So does who was seen when: somebody who has
 * gone must not hold back the newer events of an entity for the length of the jump.
 */

/** A clock that goes back by less is not minded: things are late by as much. */
export const TOLERATED_MS = 5_000;
/** What is remembered is rounded down to this, so that it is written once a second at most. */
const GRAIN_MS = 1_000;

/** What to remember when something is written. */
export function latestTime(before: number, now: number): number {
  return Math.max(before, now - (now % GRAIN_MS));
}

/** By how many milliseconds the clock was set back since the latest time that is remembered; 0 when it was not. */
export function setBackBy(latest: number, now: number): number {
  const back = latest - now;
  return back > TOLERATED_MS ? back : 0;
}

/**
 * A time that was written before the clock was set back.
 *
 * @param earliest - it is not moved to before that: for due times, now; for a lease, now and as much as its holder, which
 * may live, needs to renew it
 */
export function movedBack(time: number, back: number, earliest: number): number {
  return time > earliest ? Math.max(earliest, time - back) : time;
}

/** Nothing arrives in the future: what says so arrived before the clock was set back, and is due now. */
export function arrivedBy(dueAt: number, now: number): number {
  return dueAt > now + TOLERATED_MS ? now : dueAt;
}
