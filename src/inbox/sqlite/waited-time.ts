import { wallTime } from '../../host/real-timers.ts';
import type { ClaimRequest, Settlement, StartRequest } from '../work.ts';

/** Less does not count. */
const MOMENT_MS = 250;

/**
 * By how much the clock has moved while a move waited for the database, be it set back meanwhile; less than a moment does
 * not count. Whatever remembers the time is given that of when it is written: a time from before the clock was set back
 * would have that made good twice.
 *
 * @param askedAt - of `wallTime()`, which all threads share
 */
export function waitedSince(askedAt: number): number {
  const waited = wallTime() - askedAt;
  return Math.abs(waited) < MOMENT_MS ? 0 : waited;
}

/**
 * A claim is made when it is written, not when it was asked for: a lock may lie in between, while others could not renew
 * their leases either, or the machine has slept, or its clock was set.
 */
export function claimedLater<Request extends ClaimRequest>(request: Request, waitedMs: number): Request {
  const { now, expiredBy = now } = request;
  return { ...request, now: now + waitedMs, expiredBy };
}

/** A lease begins when it is written. */
export function startedLater<Request extends StartRequest>(request: Request, waitedMs: number): Request {
  return { ...request, now: request.now + waitedMs };
}

/** A backoff begins when it is written. */
export function settledLater(settlement: Settlement, waitedMs: number): Settlement {
  const hasBackoff = 'dueAt' in settlement && settlement.dueAt !== undefined;
  return hasBackoff ? { ...settlement, dueAt: settlement.dueAt + waitedMs } : settlement;
}
