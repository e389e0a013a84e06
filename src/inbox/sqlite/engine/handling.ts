import type { EventKey } from '../../event.ts';
import type { Candidate, Claims, Counting, EntityQueue, RunningEvent } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { DeadReason, EventState } from '../../state.ts';
import type { Attempt, ClaimRequest, Lease } from '../../work.ts';
import { followClock, noteTime } from './follow-clock.ts';
import { lookAtFresh } from './look-at-fresh.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { newestSeq } from '../sql/newest-seq.ts';
import { createdOf } from '../sql/records.ts';
import { readyEndpoints } from './takers.ts';

interface CandidateRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly due_ms: number;
  readonly crashes: number;
  readonly bytes: number;
}

interface RowToRun extends CandidateRow {
  readonly type: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: 0 | 1;
  readonly discarded: 0 | 1;
}

interface ClaimedRow extends Lease, EventKey {
  readonly body: Uint8Array;
  readonly verified: 0 | 1;
  readonly received_ms: number;
  readonly attempts: number;
  readonly failures: number;
}

interface RunningRow extends Omit<CandidateRow, 'due_ms'>, Lease {
  readonly type: string | null;
  readonly attempts: number;
  readonly trigger: Attempt['trigger'];
  readonly claimed_ms: number;
}

/** Processors take events, hold them, and say how their attempts ended. */
export function handling(statements: NamedStatements): Omit<Claims, keyof Counting | keyof EntityQueue> {
  const { database, moves, queue } = statements;
  return {
    noteTime(now) {
      noteTime(statements, now);
      return DONE;
    },
    followClock: (request, slice) => answer(followClock(statements, request, slice)),
    newestSeq: () => answer(newestSeq(database)),
    lookAtFresh: (upTo, slice) => answer(lookAtFresh(statements, upTo, slice)),
    isSuspectRunning: () => answer(queue.runningSuspect.get() !== undefined),
    candidates: (request, suspects, limit) => answer(dueOf(statements, request, suspects, limit).map(candidateOf)),
    eventToRun({ id, endpoint }) {
      const row = queue.eventToRun.get({ id, endpoint }) as RowToRun | undefined;
      if (row === undefined) return answer(undefined);
      return answer({
        ...candidateOf(row),
        type: row.type,
        state: row.state,
        isInvalid: row.dead_reason === 'invalid',
        isPruned: row.pruned === 1,
        isDiscarded: row.discarded === 1,
      });
    },
    isSuperseded(event) {
      return answer(queue.highWater.get(markOf(event)) !== undefined);
    },
    claim(seq, now, until, number = 0) {
      const row = moves.claim.get({ seq, now, until, number }) as ClaimedRow;
      return answer({
        lease: { seq: row.seq, fence: row.fence },
        endpoint: row.endpoint,
        id: row.id,
        body: row.body,
        verified: row.verified === 1,
        receivedAt: new Date(row.received_ms),
        attempt: row.attempts,
        failures: row.failures,
      });
    },
    claimedUnder: (number) => answer((queue.claimedUnder.all({ number }) as RunningRow[]).map(runningOf)),
    renew: ({ seq, fence }, until) => answer(moves.renew.run({ seq, fence, until }).changes === 1),
    ranOut(by, limit, before) {
      const rows =
        before === undefined
          ? queue.ranOut.all({ by, limit })
          : queue.ranOutBefore.all({ by, limit, id: before.id, endpoint: before.endpoint });
      return answer(
        (rows as RunningRow[]).map((row) => ({ ...runningOf(row), crashes: row.crashes, bytes: row.bytes })),
      );
    },
    held({ seq, fence }) {
      const row = queue.held.get({ seq, fence }) as RunningRow | undefined;
      return answer(row && runningOf(row));
    },
    outcomeUnder({ seq, fence }) {
      const row = queue.outcomeUnder.get({ seq, fence }) as { readonly outcome: Attempt['outcome'] } | undefined;
      return answer(row?.outcome);
    },
    end(seq, ending, now) {
      const { failed, crashed } = ending;
      switch (ending.state) {
        case 'processed':
          moves.toProcessed.run({ seq, now });
          break;
        case 'pending':
          moves.toRetry.run({ seq, due: ending.dueAt, failed, crashed });
          break;
        case 'dead':
          moves.toDead.run({ seq, reason: ending.deadReason, fingerprint: ending.fingerprint, now, failed, crashed });
          break;
      }
      return DONE;
    },
    addAttempt({ seq, attempt, trigger, claimedAt }, { outcome, error }, now) {
      queue.addAttempt.run({
        seq,
        number: attempt,
        trigger,
        outcome,
        started: claimedAt,
        ended: now,
        name: error?.name ?? null,
        message: error?.message ?? null,
        stack: error?.stack ?? null,
      });
      return DONE;
    },
    raiseHighWater(event) {
      queue.raiseHighWater.run(markOf(event));
      return DONE;
    },
  };
}

/** The longest due of a scope, by one look for each of its endpoints and types. */
function dueOf(
  statements: NamedStatements,
  { endpoints, types, now }: ClaimRequest,
  suspects: boolean,
  limit: number,
): CandidateRow[] {
  const { queue } = statements;
  const asked = { now, suspects: suspects ? 1 : 0, limit };
  const due = [...new Set(readyEndpoints(statements, endpoints))].flatMap((endpoint) =>
    types === '*'
      ? (queue.dueOfEndpoint.all({ ...asked, endpoint }) as CandidateRow[])
      : [...new Set(types)].flatMap((type) => queue.dueOfType.all({ ...asked, endpoint, type }) as CandidateRow[]),
  );
  return due.toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
}

function candidateOf(row: CandidateRow): Candidate {
  const { seq, endpoint, entity, crashes, bytes } = row;
  return { seq, endpoint, entity, created: createdOf(row), crashes, bytes };
}

function runningOf(row: RunningRow): RunningEvent {
  return {
    seq: row.seq,
    fence: row.fence,
    endpoint: row.endpoint,
    type: row.type,
    entity: row.entity,
    created: createdOf(row),
    attempt: row.attempts,
    trigger: row.trigger,
    claimedAt: row.claimed_ms,
  };
}

/** As the statements about the newest processed event of an entity name it. */
function markOf({ entity, endpoint, created }: Pick<Candidate, 'entity' | 'endpoint' | 'created'>) {
  return { entity, endpoint, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null };
}
