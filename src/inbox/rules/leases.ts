import type { ClaimRequest, CrashedEvent, Lease, StartRequest } from '../work.ts';
import { crashEnding, endingOf, type Ending } from './attempt-end.ts';
import { Budget } from './budget.ts';
import { endAttempt, endLease } from './settle.ts';
import type { Change, ExpiredEvent, StartAsked, LeasesToEnd } from './store.ts';
import { seenSince } from './handled-types.ts';
import type { EventKey } from '../event.ts';

/** The number of a claim whose answer cannot be lost. */
const UNNUMBERED = 0;
/** So many expired leases are ended at once. */
const EXPIRED_BATCH = 100;

/** A claim whose answer may be lost, because the thread or the connection that makes it can die (unconfirmed-claims.ts). */
export interface NumberedClaim extends ClaimRequest {
  /** its leases carry it */
  readonly number?: number;
  /** the numbers of earlier claims of the same process whose answers were lost; none unless given */
  readonly lostClaims?: readonly number[];
}

/** An event that is stored as running, with the number of its claim. */
export interface NumberedStart extends StartRequest {
  readonly number?: number;
}

/** @param onlyFor - only this event and those of its entity */
export function leasesOf(
  { now, expiredBy = now, number = UNNUMBERED, lostClaims = [] }: NumberedClaim,
  onlyFor?: EventKey,
): StartAsked {
  return {
    now,
    claimNumber: number,
    lostClaims,
    expiredBy: Math.min(now, expiredBy),
    limit: EXPIRED_BATCH,
    onlyFor,
    handledSince: seenSince(now),
  };
}

export interface LeasesPlan {
  readonly changes: readonly Change[];
  /** crashes to report once the changes are durable */
  readonly crashed: readonly CrashedEvent[];
  /** whether other leases may have expired */
  readonly more: boolean;
}

/**
 * Ends leases before a claim. The handler of an event that a lost claim leased never ran, so that is no crash. An expired
 * lease is a crash, except that:
 *
 * - a processor renews its own expired lease: it is alive, but could not renew, for example because the disk was full;
 * - a processed event only loses its lease;
 * - if the processor was closing, it was killed before it was done, which says nothing about the handler.
 */
export function planLeases(
  { lost, crashed: foundEarlier, expired }: LeasesToEnd,
  { now, leaseMs, holds = [], number = UNNUMBERED }: NumberedClaim,
): LeasesPlan {
  const budget = new Budget();
  const changes: Change[] = [];
  const crashed = [...foundEarlier];
  for (const event of lost) {
    changes.push(...endAttempt(event, endingOf({ outcome: 'interrupted' }, now), now, { budget }).changes);
  }
  const lostSeqs = new Set(lost.map(({ seq }) => seq));
  let ended = 0;
  for (const event of expired) {
    if (ended > 0 && budget.isSpent) break;
    ended += 1;
    // A lost lease may have expired meanwhile: it has ended above.
    if (lostSeqs.has(event.seq)) continue;
    budget.spend(event.bytes);
    if (holds.some((lease) => isSame(lease, event))) {
      changes.push({ kind: 'lease renewed', lease: event, until: now + leaseMs });
    } else if (event.isProcessed) {
      changes.push(...endLease(event, budget));
    } else {
      const asked = event.isClosing ? endingOf({ outcome: 'interrupted' }, now) : crashEnding(event.crashes, now);
      const end = endAttempt(event, asked, now, { budget, foundBy: number });
      changes.push(...end.changes);
      crashed.push(crashedEvent(event, end.ending));
    }
  }
  return { changes, crashed, more: ended < expired.length || expired.length === EXPIRED_BATCH };
}

function isSame(one: Lease, other: Lease): boolean {
  return one.seq === other.seq && one.fence === other.fence;
}

function crashedEvent({ endpoint, id, type, attempt }: ExpiredEvent, ending: Ending): CrashedEvent {
  return {
    endpoint,
    id,
    type,
    attempt,
    deadReason: ending.state === 'dead' ? ending.deadReason : null,
    dueAt: ending.state === 'pending' ? ending.dueAt : null,
    error: ending.error,
    ...(ending.outcome === 'interrupted' && { wasClosing: true }),
  };
}
