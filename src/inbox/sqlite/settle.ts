import { fingerprintOf } from '../rules/fingerprint.ts';
import type { EventKey } from '../event.ts';
import {
  MAX_CRASHES,
  type Attempt,
  type AttemptError,
  type ClaimRequest,
  type Lease,
  type Settlement,
} from '../work.ts';
import { entityParameters, unparkNext, type EntityColumns } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import type { TimeSlice } from './time-slice.ts';
import { RAN_OUT_BATCH } from './queue-statements.ts';
import type { Statements } from './statements.ts';

interface RunningRow extends EntityColumns {
  readonly type: string | null;
  readonly attempts: number;
  readonly trigger: 'auto' | 'manual';
  readonly claimed_ms: number;
}

export function renew(
  statements: Statements,
  leases: readonly Lease[],
  now: number,
  leaseMs: number,
): readonly Lease[] {
  noteTime(statements, now);
  return leases.filter(
    ({ seq, fence }) => statements.moves.renew.run({ seq, fence, until: now + leaseMs }).changes === 1,
  );
}

/** Every move out of processing by the one who holds the lease. */
export function settle(statements: Statements, { seq, fence }: Lease, settlement: Settlement, now: number): boolean {
  const row = statements.queue.held.get({ seq, fence }) as RunningRow | undefined;
  if (row === undefined) return false;
  noteTime(statements, now);
  const { counts } = statements;
  if (settlement.outcome !== 'interrupted') counts.countMs('handler-ms', now - row.claimed_ms);
  switch (settlement.outcome) {
    case 'processed':
      counts.countType('processed', row.type);
      statements.moves.toProcessed.run({ seq, now });
      if (row.entity !== null) statements.queue.raiseHighWater.run(entityParameters(row));
      addAttempt(statements, row, 'processed', now, null);
      break;
    case 'retry':
      counts.countType('failed', row.type);
      statements.moves.toRetry.run({ seq, due: settlement.dueAt, failed: 1, crashed: 0 });
      addAttempt(statements, row, 'failed', now, settlement.error);
      break;
    case 'dead':
      counts.countType('dead', row.type);
      statements.moves.toDead.run({
        seq,
        reason: settlement.reason,
        fingerprint: fingerprintOf(settlement.error),
        now,
        failed: 1,
        crashed: 0,
      });
      addAttempt(statements, row, 'failed', now, settlement.error);
      break;
    case 'interrupted':
      statements.moves.toRetry.run({ seq, due: now, failed: 0, crashed: 0 });
      addAttempt(statements, row, 'interrupted', now, null);
      break;
  }
  unparkNext(statements, row, now);
  return true;
}

/** The last step of a transaction: what it said of the event until here (see effect-transaction.ts) is taken back. */
export function deadToProcessed(statements: Statements, { seq, fence }: Lease): void {
  const row = statements.moves.deadToProcessed.get({ seq, fence }) as EntityColumns & {
    attempts: number;
    type: string | null;
  };
  statements.counts.countType('dead', row.type, -1);
  statements.counts.countType('processed', row.type);
  statements.queue.attemptProcessed.run({ seq, number: row.attempts });
  if (row.entity !== null) statements.queue.raiseHighWater.run(entityParameters(row));
}

/**
 * A lease that ran out without a word is a crash; whoever looks next puts the event back, or declares it dead. Of very many
 * some at a time, so that they do not hold up the event loop.
 *
 * @param key - only what stands before this event: its own lease, and those of its entity
 */
export function releaseRanOut(
  statements: Statements,
  { now, leaseMs, holds = [], ranOutBy = now }: ClaimRequest,
  slice: TimeSlice,
  key?: EventKey,
): 'more' | 'all' {
  const by = Math.min(now, ranOutBy);
  const ranOut =
    key === undefined
      ? statements.queue.ranOut.all({ by })
      : statements.queue.ranOutBefore.all({ by, id: key.id, endpoint: key.endpoint });
  for (const found of ranOut) {
    const row = found as RunningRow & { crashes: number; fence: number; bytes: number };
    if (slice.isOver() && found !== ranOut[0]) return 'more';
    slice.add(row.bytes);
    const { seq, fence } = row;
    // Whoever claims is alive: it could not renew them, as when the disk was full.
    if (holds.some((lease) => lease.seq === seq && lease.fence === fence)) {
      statements.moves.renew.run({ seq, fence, until: now + leaseMs });
      continue;
    }
    statements.counts.countType(row.crashes + 1 >= MAX_CRASHES ? 'dead' : 'failed', row.type);
    // Without a fingerprint: nobody has said why, so those that crashed are a group by their reason.
    if (row.crashes + 1 >= MAX_CRASHES)
      statements.moves.toDead.run({ seq, reason: 'crashed', fingerprint: null, now, failed: 0, crashed: 1 });
    else statements.moves.toRetry.run({ seq, due: now, failed: 0, crashed: 1 });
    addAttempt(statements, row, 'crashed', now, null);
    unparkNext(statements, row, now, slice);
  }
  return ranOut.length === RAN_OUT_BATCH ? 'more' : 'all';
}

export function noteLateError(statements: Statements, { seq, fence }: Lease, error: AttemptError): void {
  statements.queue.noteLateError.run({ seq, fence, name: error.name, message: error.message, stack: error.stack });
}

function addAttempt(
  statements: Statements,
  row: RunningRow,
  outcome: Attempt['outcome'],
  now: number,
  error: AttemptError | null,
): void {
  statements.queue.addAttempt.run({
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
