import { createHash } from 'node:crypto';
import type { EventKey, IncomingEvent } from '../inbox.ts';
import {
  MAX_CRASHES,
  TAKER_MS,
  type Attempt,
  type AttemptError,
  type ClaimedEvent,
  type ClaimRequest,
  type Lease,
  type Settlement,
} from '../work.ts';
import type { WorkStatements } from './work-statements.ts';

interface EntityColumns {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

interface CandidateRow extends EntityColumns {
  readonly due_ms: number;
  readonly crashes: number;
}

interface RunningRow extends EntityColumns {
  readonly attempts: number;
  readonly trigger: 'auto' | 'manual';
  readonly claimed_ms: number;
}

interface ClaimedRow extends Lease, EventKey {
  readonly body: Uint8Array;
  readonly verified: 0 | 1;
  readonly received_ms: number;
  readonly attempts: number;
  readonly failures: number;
}

const FRESH_BATCH = 2_000;
const PARK_BATCH = 500;

/** Claims in rounds, because what has to wait for an older event of its entity is only found out one by one. */
export function claim(statements: WorkStatements, request: ClaimRequest, limit: number): ClaimedEvent[] | 'more' {
  releaseRanOut(statements, request.now);
  // All of them, before anything is claimed: the oldest event of an entity may be the one that arrived last. A backlog
  // takes several calls, so that none of them holds the event loop for long.
  if (statements.lookAtFresh.run({ limit: FRESH_BATCH }).changes === FRESH_BATCH) return 'more';
  const claimed: ClaimedEvent[] = [];
  let parked = 0;
  let suspects = statements.runningSuspect.get() === undefined;
  for (let progress = true; progress && claimed.length < limit;) {
    // A long queue of one entity is set aside in several calls too.
    if (parked >= PARK_BATCH) return claimed.length > 0 ? claimed : 'more';
    progress = false;
    for (const row of candidates(statements, request, suspects, Math.max(limit - claimed.length, parked))) {
      if (claimed.length === limit) break;
      if (row.crashes > 0 && !suspects) continue;
      progress = true;
      if (request.ordered && mustWait(statements, row, request)) {
        statements.park.run({ seq: row.seq });
        parked += 1;
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
  statements: WorkStatements,
  key: EventKey,
  request: ClaimRequest,
): ClaimedEvent | 'busy' | 'settled' {
  releaseRanOut(statements, request.now);
  const row = statements.eventToRun.get({ id: key.id, endpoint: key.endpoint }) as
    (CandidateRow & { type: string; state: string; dead_reason: string | null; pruned: 0 | 1 }) | undefined;
  if (row === undefined || row.pruned === 1 || row.state === 'processed' || row.dead_reason === 'invalid') {
    return 'settled';
  }
  if (request.types !== '*' && !request.types.includes(row.type)) return 'settled';
  if (row.state === 'processing') return 'busy';
  const { entity, endpoint } = row;
  if (request.ordered && entity !== null && statements.leaseOfEntity.get({ entity, endpoint }) !== undefined)
    return 'busy';
  return take(statements, row, request);
}

export function renew(
  statements: WorkStatements,
  leases: readonly Lease[],
  now: number,
  leaseMs: number,
): readonly Lease[] {
  return leases.filter(
    ({ seq, fence }) => statements.renew.run({ seq, fence, now, until: now + leaseMs }).changes === 1,
  );
}

/** Every move out of processing by the one who holds the lease. */
export function settle(
  statements: WorkStatements,
  { seq, fence }: Lease,
  settlement: Settlement,
  now: number,
): boolean {
  const row = statements.held.get({ seq, fence, now }) as RunningRow | undefined;
  if (row === undefined) return false;
  switch (settlement.outcome) {
    case 'processed':
      statements.toProcessed.run({ seq, now });
      if (row.entity !== null) statements.raiseHighWater.run(entityParameters(row));
      addAttempt(statements, row, 'processed', now, null);
      break;
    case 'retry':
      statements.toRetry.run({ seq, due: settlement.dueAt, failed: 1, crashed: 0 });
      addAttempt(statements, row, 'failed', now, settlement.error);
      break;
    case 'dead':
      statements.toDead.run({ seq, reason: settlement.reason, now, failed: 1, crashed: 0 });
      addAttempt(statements, row, 'failed', now, settlement.error);
      break;
    case 'interrupted':
      statements.toRetry.run({ seq, due: now, failed: 0, crashed: 0 });
      addAttempt(statements, row, 'interrupted', now, null);
      break;
  }
  unparkNext(statements, row, now);
  return true;
}

/** The last step of a transaction: what it said of the event until here (see effect-transaction.ts) is taken back. */
export function deadToProcessed(statements: WorkStatements, { seq, fence }: Lease): void {
  const row = statements.deadToProcessed.get({ seq, fence }) as EntityColumns & { attempts: number };
  statements.attemptProcessed.run({ seq, number: row.attempts });
  if (row.entity !== null) statements.raiseHighWater.run(entityParameters(row));
}

/** A lease that ran out without a word is a crash; whoever looks next puts the event back, or declares it dead. */
function releaseRanOut(statements: WorkStatements, now: number): void {
  for (const found of statements.ranOut.all({ now })) {
    const row = found as RunningRow & { crashes: number };
    const { seq } = row;
    if (row.crashes + 1 >= MAX_CRASHES) statements.toDead.run({ seq, reason: 'crashed', now, failed: 0, crashed: 1 });
    else statements.toRetry.run({ seq, due: now, failed: 0, crashed: 1 });
    addAttempt(statements, row, 'crashed', now, null);
    unparkNext(statements, row, now);
  }
}

function candidates(
  statements: WorkStatements,
  { types, now }: ClaimRequest,
  suspects: boolean,
  limit: number,
): CandidateRow[] {
  const named =
    types === '*' ? statements.pendingTypes.all().map((row) => (row as { type: string }).type) : new Set(types);
  const due = [...named].flatMap(
    (type) => statements.dueOfType.all({ type, now, suspects: suspects ? 1 : 0, limit }) as CandidateRow[],
  );
  return due.toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
}

/** Its entity has a live lease, or an older event that somebody handles is still waiting. */
function mustWait(statements: WorkStatements, row: CandidateRow, { now, types }: ClaimRequest): boolean {
  const { seq, entity, endpoint, created_ms, created_ns } = row;
  if (entity === null) return false;
  if (statements.leaseOfEntity.get({ entity, endpoint }) !== undefined) return true;
  const takenSince = now - TAKER_MS;
  const handled = types === '*' ? null : JSON.stringify(types);
  const older = { entity, endpoint, created_ms, created_ns, seq, takenSince, types: handled };
  return statements.olderOfEntity.get(older) !== undefined;
}

function take(statements: WorkStatements, row: EntityColumns, { now, leaseMs }: ClaimRequest): ClaimedEvent {
  const superseded = row.entity !== null && statements.highWater.get(entityParameters(row)) !== undefined;
  const claimed = statements.claim.get({ seq: row.seq, now, until: now + leaseMs }) as ClaimedRow;
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

/**
 * An event has left its entity's front: the next one may be looked at again, and with it those before it whose type
 * nobody handles, as they hold nobody back.
 */
export function unparkNext(
  statements: WorkStatements,
  { entity, endpoint }: Pick<EntityColumns, 'entity' | 'endpoint'>,
  now: number,
): void {
  if (entity === null) return;
  const first = statements.firstTakenOfEntity.get({ entity, endpoint, takenSince: now - TAKER_MS });
  const { created_ms, created_ns, seq } = (first ?? LAST) as EntityColumns;
  statements.unparkUpTo.run({ entity, endpoint, created_ms, created_ns, seq });
}

/** After every event there can be. */
const LAST = { created_ms: Number.MAX_SAFE_INTEGER, created_ns: 0, seq: 0 };

export function rerun(
  statements: WorkStatements,
  { id, endpoint }: EventKey,
  { type, created, entity }: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
  now: number,
): boolean {
  const { changes } = statements.toPending.run({
    id,
    endpoint,
    now,
    type,
    created_ms: created?.ms,
    created_ns: created?.ns,
    entity,
  });
  return changes === 1;
}

export function noteLateError(statements: WorkStatements, { seq, fence }: Lease, error: AttemptError): void {
  statements.noteLateError.run({ seq, fence, name: error.name, message: error.message, stack: error.stack });
}

export function announce(
  statements: WorkStatements,
  types: readonly string[] | '*',
  now: number,
  ignoreBefore: number | null,
): void {
  for (const type of types === '*' ? ['*'] : types) statements.take.run({ type, now });
  statements.lookAtFresh.run({ limit: FRESH_BATCH });
  // Whom they waited for may have lost its taker meanwhile; who still has to wait is parked again.
  statements.unparkSome.run({ limit: FRESH_BATCH });
  if (ignoreBefore === null) return;
  const takenSince = now - TAKER_MS;
  for (const pending of statements.pendingTypes.all()) {
    const { type } = pending as { type: string };
    for (const found of statements.untakenOfType.all({ type, before: ignoreBefore, takenSince })) {
      const row = found as EntityColumns;
      statements.toIgnored.run({ seq: row.seq, now });
      unparkNext(statements, row, now);
    }
  }
}

export function nextDue(statements: WorkStatements, types: readonly string[] | '*'): number | null {
  const found =
    types === '*' ? statements.nextDueOfAll.get() : statements.nextDue.get({ types: JSON.stringify(types) });
  return (found as { at: number | null }).at;
}

/** What goes is the body, other bodies under the id, and what errors said; what stays still deduplicates. */
export function prune(statements: WorkStatements, before: number, limit: number): number {
  const rows = statements.prunable.all({ before, limit }) as { seq: number; body: Uint8Array }[];
  for (const { seq, body } of rows) {
    statements.prune.run({ seq, hash: createHash('sha256').update(body).digest() });
    statements.pruneAttempts.run({ seq });
    statements.pruneConflict.run({ seq });
  }
  return rows.length;
}

export function attemptsOf(statements: WorkStatements, { id, endpoint }: EventKey): Attempt[] {
  return statements.attemptsOf.all({ id, endpoint }).map((found) => {
    const row = found as {
      number: number;
      trigger: Attempt['trigger'];
      outcome: Attempt['outcome'];
      started_ms: number;
      ended_ms: number;
      error_name: string | null;
      error_message: string | null;
      error_stack: string | null;
    };
    const error =
      row.error_name === null
        ? null
        : { name: row.error_name, message: row.error_message ?? '', stack: row.error_stack };
    return {
      number: row.number,
      trigger: row.trigger,
      outcome: row.outcome,
      startedAt: new Date(row.started_ms),
      endedAt: new Date(row.ended_ms),
      error,
    };
  });
}

function addAttempt(
  statements: WorkStatements,
  row: RunningRow,
  outcome: Attempt['outcome'],
  now: number,
  error: AttemptError | null,
): void {
  statements.addAttempt.run({
    seq: row.seq,
    number: row.attempts,
    trigger: row.trigger,
    outcome,
    started: row.claimed_ms,
    ended: now,
    name: error?.name ?? null,
    message: error?.message ?? null,
    stack: error?.stack ?? null,
  });
}

function entityParameters({ entity, endpoint, created_ms, created_ns }: EntityColumns) {
  return { entity, endpoint, created_ms, created_ns };
}
