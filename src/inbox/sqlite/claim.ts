import type { EventKey } from '../event.ts';
import type { ClaimedEvent, ClaimRequest, Lease } from '../work.ts';
import { entityParameters, mustWait, type EntityColumns } from './entity-queue.ts';
import { followClock } from './follow-clock.ts';
import { lookAtFresh } from './look-at-fresh.ts';
import { releaseRanOut } from './settle.ts';
import { readyEndpoints } from './takers.ts';
import { timeSlice } from './time-slice.ts';
import type { Statements } from './statements.ts';

interface CandidateRow extends EntityColumns {
  readonly due_ms: number;
  readonly crashes: number;
  readonly bytes: number;
}

interface ClaimedRow extends Lease, EventKey {
  readonly body: Uint8Array;
  readonly verified: 0 | 1;
  readonly received_ms: number;
  readonly attempts: number;
  readonly failures: number;
}

const PARK_BATCH = 200;

/** How far a claim that takes several calls has come. */
export interface ClaimProgress {
  /** the event that was stored last when it began: what arrives meanwhile must not keep it from ending */
  freshUpTo: number | null;
}

/** Claims in rounds, because what has to wait for an older event of its entity is only found out one by one. */
export function claim(
  statements: Statements,
  request: ClaimRequest,
  limit: number,
  progress: ClaimProgress,
): ClaimedEvent[] | 'more' {
  const { now } = request;
  const slice = timeSlice();
  if (followClock(statements, request, slice)) return 'more';
  if (releaseRanOut(statements, request, slice) === 'more') return 'more';
  // All of them, before anything is claimed: the oldest event of an entity may be the one that arrived last. A backlog
  // takes several calls, so that none of them holds the event loop for long.
  progress.freshUpTo ??= (statements.queue.newest.get() as { seq: number | null }).seq ?? 0;
  if (lookAtFresh(statements, { now, upTo: progress.freshUpTo }, slice) === 'more') return 'more';
  const claimed: ClaimedEvent[] = [];
  let parked = 0;
  let suspects = statements.queue.runningSuspect.get() === undefined;
  for (let found = true; found && claimed.length < limit;) {
    // A long queue of one entity is set aside in several calls too.
    if (parked >= PARK_BATCH) return claimed.length > 0 ? claimed : 'more';
    found = false;
    for (const row of candidates(statements, request, suspects, Math.max(limit - claimed.length, parked))) {
      if (claimed.length === limit) break;
      if (row.crashes > 0 && !suspects) continue;
      found = true;
      if (request.ordered && mustWait(statements, row, request)) {
        statements.moves.park.run({ seq: row.seq });
        parked += 1;
        slice.add(row.bytes);
        if (slice.isOver()) return claimed.length > 0 ? claimed : 'more';
        continue;
      }
      claimed.push(take(statements, row, request));
      // Suspects run one at a time, so that a crash has one culprit.
      if (row.crashes > 0) suspects = false;
    }
  }
  return claimed;
}

/** Inline mode: no backoff, no budget, and an older event does not hold this one back. */
export function claimOne(
  statements: Statements,
  key: EventKey,
  request: ClaimRequest,
): ClaimedEvent | 'busy' | 'settled' | 'more' {
  // Of leases at once; a processor does the rest.
  const slice = timeSlice();
  followClock(statements, request, slice);
  if (releaseRanOut(statements, request, slice, key) === 'more') return 'more';
  const row = statements.queue.eventToRun.get({ id: key.id, endpoint: key.endpoint }) as
    | (EntityColumns & { type: string; state: string; dead_reason: string | null; pruned: 0 | 1; discarded: 0 | 1 })
    | undefined;
  if (row === undefined || row.pruned === 1 || row.state === 'processed' || row.dead_reason === 'invalid') {
    return 'settled';
  }
  if (row.discarded === 1) return 'settled';
  if (request.types !== '*' && !request.types.includes(row.type)) return 'settled';
  if (request.endpoints !== '*' && !request.endpoints.includes(key.endpoint)) return 'settled';
  if (row.state === 'processing') return 'busy';
  const { entity, endpoint } = row;
  if (request.ordered && entity !== null && statements.queue.leaseOfEntity.get({ entity, endpoint }) !== undefined)
    return 'busy';
  return take(statements, row, request);
}

function candidates(
  statements: Statements,
  { endpoints, types, now }: ClaimRequest,
  suspects: boolean,
  limit: number,
): CandidateRow[] {
  const asked = { now, suspects: suspects ? 1 : 0, limit };
  const due = [...new Set(readyEndpoints(statements, endpoints))].flatMap((endpoint) =>
    types === '*'
      ? (statements.queue.dueOfEndpoint.all({ ...asked, endpoint }) as CandidateRow[])
      : [...new Set(types)].flatMap(
          (type) => statements.queue.dueOfType.all({ ...asked, endpoint, type }) as CandidateRow[],
        ),
  );
  return due.toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
}

function take(statements: Statements, row: EntityColumns, { now, leaseMs }: ClaimRequest): ClaimedEvent {
  const superseded = row.entity !== null && statements.queue.highWater.get(entityParameters(row)) !== undefined;
  const claimed = statements.moves.claim.get({ seq: row.seq, now, until: now + leaseMs }) as ClaimedRow;
  return {
    lease: { seq: claimed.seq, fence: claimed.fence },
    endpoint: claimed.endpoint,
    id: claimed.id,
    body: claimed.body,
    verified: claimed.verified === 1,
    receivedAt: new Date(claimed.received_ms),
    attempt: claimed.attempts,
    failures: claimed.failures,
    superseded,
  };
}
