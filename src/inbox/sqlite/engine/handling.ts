import type { EventKey } from '../../event.ts';
import type { EndpointType } from '../../operator/pauses.ts';
import type { Candidate, CandidatesAsked, Claims, Counting, EntityQueue, RunningEvent } from '../../rules/engine.ts';
import { openLanes, pausesIn } from '../../rules/pauses.ts';
import { isCommittedAlone } from '../../rules/committed-alone.ts';
import { foundCrash, type FoundCrash } from '../../rules/found-crash.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { DeadReason, EventState } from '../../state.ts';
import type { Attempt, ClaimedEvent, Lease } from '../../work.ts';
import { followClock, noteTime } from './follow-clock.ts';
import { lookAtFresh } from './look-at-fresh.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { newestSeq } from '../sql/newest-seq.ts';
import { createdOf } from '../sql/records.ts';
import { readyEndpoints } from './takers.ts';

interface CandidateRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly due_ms: number;
  readonly crashes: number;
  readonly bytes: number;
}

interface RowToRun extends CandidateRow {
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: 0 | 1;
}

interface ClaimedRow extends Lease, EventKey {
  readonly body: Uint8Array;
  readonly verified: 0 | 1;
  readonly received_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly trace: string | null;
}

interface RunningRow extends Omit<CandidateRow, 'due_ms'>, Lease {
  readonly attempts: number;
  readonly trigger: Attempt['trigger'];
  readonly claimed_ms: number;
  readonly state: EventState;
  readonly effect: 0 | 1;
  readonly closing: 0 | 1;
}

interface FoundRow extends FoundCrash, EventKey {}

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
    candidates: (request, suspects, limit, pauses) =>
      answer(dueOf(statements, request, { suspects, limit, pauses }).map(candidateOf)),
    eventToRun({ id, endpoint }) {
      const row = queue.eventToRun.get({ id, endpoint }) as RowToRun | undefined;
      if (row === undefined) return answer(undefined);
      return answer({
        ...candidateOf(row),
        state: row.state,
        isInvalid: row.dead_reason === 'invalid',
        isPruned: row.pruned === 1,
      });
    },
    isSuperseded(event) {
      return answer(queue.highWater.get(markOf(event)) !== undefined);
    },
    claim(seqs, now, until, number = 0) {
      return answer(seqs.map((seq) => claimedOf(moves.claim.get({ seq, now, until, number }) as ClaimedRow)));
    },
    foundBy: (number) => answer((queue.foundBy.all({ number }) as FoundRow[]).map((row) => foundCrash(row))),
    claimedUnder: (number) => answer((queue.claimedUnder.all({ number }) as RunningRow[]).map(runningOf)),
    renew: ({ seq, fence }, until, isClosing) =>
      answer(moves.renew.run({ seq, fence, until, closing: isClosing ? 1 : 0 }).changes === 1),
    ranOut(by, limit, before) {
      const rows =
        before === undefined
          ? queue.ranOut.all({ by, limit })
          : queue.ranOutBefore.all({ by, limit, id: before.id, endpoint: before.endpoint });
      return answer(
        (rows as (RunningRow & EventKey)[]).map((row) => ({
          ...runningOf(row),
          id: row.id,
          crashes: row.crashes,
          bytes: row.bytes,
        })),
      );
    },
    held({ seq, fence }) {
      const row = queue.held.get({ seq, fence }) as RunningRow | undefined;
      return answer(row && runningOf(row));
    },
    outcomeUnder({ seq, fence }) {
      const row = queue.outcomeUnder.get({ seq, fence }) as
        | { readonly outcome: Attempt['outcome']; readonly error_message: string | null }
        | undefined;
      return answer(row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome);
    },
    end(seq, ending, now) {
      const { failed, crashed } = ending;
      switch (ending.state) {
        case 'processed':
          moves.toProcessed.run({ seq, now });
          break;
        case 'pending':
          moves.toRetry.run({ seq, due: ending.dueAt, failed, crashed, yields: asColumn(ending.yields) });
          break;
        case 'dead':
          moves.toDead.run({ seq, reason: ending.deadReason, fingerprint: ending.fingerprint, now, failed, crashed });
          break;
      }
      return DONE;
    },
    processedUnderLease(seq, now) {
      moves.processedUnderLease.run({ seq, now });
      return DONE;
    },
    endLease(seq) {
      moves.endLease.run({ seq });
      return DONE;
    },
    noteLateError({ seq, fence }, { name, message, stack }) {
      queue.noteLateError.run({ seq, fence, name, message, stack });
      return DONE;
    },
    addAttempt({ seq, attempt, trigger, claimedAt }, { outcome, error, skipped, foundBy }, now) {
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
        skipped: skipped ?? null,
        foundBy: foundBy ?? null,
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
  { endpoints, types, except, now }: CandidatesAsked,
  {
    suspects,
    limit,
    pauses,
  }: { readonly suspects: boolean; readonly limit: number; readonly pauses: readonly EndpointType[] },
): CandidateRow[] {
  const { queue } = statements;
  const asked = { now, suspects: suspects ? 1 : 0, limit };
  const due = [...new Set(readyEndpoints(statements, endpoints))].flatMap((endpoint) => {
    const isWhole = types === '*' && except.length === 0 && !pausesIn(pauses, { endpoints: [endpoint], types });
    if (isWhole) return queue.dueOfEndpoint.all({ ...asked, endpoint }) as CandidateRow[];
    // What is paused is passed over by its type, however much of it waits.
    const named = types === '*' ? readyTypesBut(statements, endpoint, except) : [...new Set(types)];
    const lanes = openLanes(
      pauses,
      named.map((type) => ({ endpoint, type })),
    );
    return lanes.flatMap((lane) => queue.dueOfType.all({ ...asked, ...lane }) as CandidateRow[]);
  });
  return due.toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
}

/** A step through the index for each, so that a backlog of those that are left out is not looked through. */
export function readyTypesBut(
  { queue }: NamedStatements,
  endpoint: string,
  except: readonly string[],
): readonly string[] {
  const types: string[] = [];
  for (let from = ''; ;) {
    const { type } = queue.nextReadyType.get({ endpoint, from }) as { readonly type: string | null };
    if (type === null) return types;
    if (!except.includes(type)) types.push(type);
    from = `${type}\0`;
  }
}

function asColumn(flag: boolean | undefined): 0 | 1 | null {
  if (flag === undefined) return null;
  return flag ? 1 : 0;
}

function candidateOf(row: CandidateRow): Candidate {
  const { seq, endpoint, type, entity, crashes, bytes } = row;
  return { seq, endpoint, type, entity, created: createdOf(row), crashes, bytes };
}

function claimedOf(row: ClaimedRow): Omit<ClaimedEvent, 'superseded'> {
  return {
    lease: { seq: row.seq, fence: row.fence },
    endpoint: row.endpoint,
    id: row.id,
    body: row.body,
    verified: row.verified === 1,
    receivedAt: new Date(row.received_ms),
    attempt: row.attempts,
    failures: row.failures,
    ...(row.trace !== null && { trace: row.trace }),
  };
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
    hasEffect: row.effect === 1,
    isProcessed: row.state === 'processed',
    isClosing: row.closing === 1,
  };
}

/** As the statements about the newest processed event of an entity name it. */
function markOf({ entity, endpoint, created }: Pick<Candidate, 'entity' | 'endpoint' | 'created'>) {
  return { entity, endpoint, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null };
}
