import type { EventKey, DeadReason, EventState } from '../../event.ts';
import type { SyncStore } from '../../queue-operations.ts';
import { isCommittedAlone, foundCrash, type FoundCrash, countChange } from '../../rules/attempt.ts';
import { isAmong } from '../../rules/processors.ts';
import type { Attempt, Lease, Scope } from '../../work.ts';
import { openLanes, pausesIn } from '../../rules/pauses.ts';
import {
  NOTHING_NEXT,
  type Candidate,
  type Change,
  type ClaimState,
  type DueAsked,
  type DueEvent,
  type HeldEvent,
  type LeasedEvent,
  type RunningEvent,
} from '../../rules/store.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { type NamedStatements, prepareNamedStatements } from '../sql/named-statements.ts';
import { createdOf } from '../sql/rows.ts';
import { newestSeq } from '../sql/statement.ts';
import { announcements } from './announcements.ts';
import { followClock, isSetBack, noteTime, indexNew } from './clock.ts';
import { deliveries, type EventIndex, settledEvents } from './deliveries.ts';
import { frontOf, holdingTypesOf, nextInQueue, pausesOf, readyEndpoints } from './entity-queue.ts';

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

interface LeasedRow extends Lease, EventKey {
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
  readonly yields: 0 | 1;
  readonly state: EventState;
  readonly effect: 0 | 1;
  readonly closing: 0 | 1;
}

interface OutcomeRow {
  readonly outcome: Attempt['outcome'];
  readonly error_message: string | null;
}

/** What the operations of `queue-operations.ts` need, on the tables of a file. */
function sqliteStore(statements: NamedStatements, index: EventIndex): SyncStore {
  const { counts, database, moves, queue } = statements;

  const withNext = (row: RunningRow, handledSince: number | null): HeldEvent => {
    const event = runningOf(row);
    if (handledSince === null) return { ...event, next: NOTHING_NEXT, holdsBack: false };
    const holding = holdingTypesOf(statements, event.endpoint, handledSince);
    const next = nextInQueue(statements, event, holding);
    return { ...event, next, holdsBack: next !== NOTHING_NEXT && isAmong(holding(), event.type) };
  };

  return {
    counts,
    ...announcements(statements),
    ...deliveries(statements, index),
    ...settledEvents(statements, index),
    nextInQueues: (queues, handledSince) =>
      queues.map((each) => nextInQueue(statements, each, holdingTypesOf(statements, each.endpoint, handledSince))),
    followClock: (request) => followClock(statements, request),
    noteTime: (now) => noteTime(statements, now),
    newestSeq: () => newestSeq(database),
    indexNew: (now, upTo) => indexNew(statements, now, upTo),
    claimState: () => claimState(statements),
    startClaim({ now, lostClaims, expiredBy: by, limit, onlyFor, handledSince }) {
      const rows =
        onlyFor === undefined ? queue.ranOut.all({ by, limit }) : queue.ranOutBefore.all({ by, limit, ...onlyFor });
      return {
        isSetBack: isSetBack(statements, now),
        ...claimState(statements),
        lost: lostClaims.flatMap((number) =>
          (queue.claimedUnder.all({ number }) as RunningRow[]).map((row) => withNext(row, handledSince)),
        ),
        crashed: lostClaims.flatMap((number) =>
          (queue.foundBy.all({ number }) as (FoundCrash & EventKey)[]).map((row) => foundCrash(row)),
        ),
        expired: (rows as (RunningRow & EventKey)[]).map((row) => {
          const { id, crashes, bytes } = row;
          return { ...withNext(row, handledSince), id, crashes, bytes };
        }),
      };
    },
    due(asked) {
      const lanes = dueByLane(statements, asked);
      const rows = lanes.flat().toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
      return {
        events: rows.slice(0, asked.limit).map((row) => withFacts(statements, row, asked)),
        isAll: rows.length <= asked.limit && lanes.every((lane) => lane.length < asked.limit),
      };
    },
    eventToRun({ id, endpoint }) {
      const row = queue.eventToRun.get({ id, endpoint }) as RowToRun | undefined;
      if (row === undefined) return undefined;
      return {
        ...candidateOf(row),
        hasLease: hasLease(statements, row),
        isSuperseded: isSuperseded(statements, row),
        state: row.state,
        isInvalid: row.dead_reason === 'invalid',
        isPruned: row.pruned === 1,
      };
    },
    lease: (events, { now, until, claimNumber: number }) =>
      events.map(({ seq }) => leasedOf(moves.claim.get({ seq, now, until, number }) as LeasedRow)),
    held: (leases, handledSince) =>
      leases.map(({ seq, fence }) => {
        const row = queue.held.get({ seq, fence }) as RunningRow | undefined;
        return row && withNext(row, handledSince);
      }),
    outcomesUnder: (leases) =>
      leases.map(({ seq, fence }) => {
        const row = queue.outcomeUnder.get({ seq, fence }) as OutcomeRow | undefined;
        return row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome;
      }),
    renew: (leases, until, isClosing) =>
      leases.filter(
        ({ seq, fence }) => moves.renew.run({ seq, fence, until, closing: isClosing ? 1 : 0 }).changes === 1,
      ),
    apply(changes) {
      for (const change of changes) {
        countChange(counts, change);
        applyOne(statements, change);
      }
    },
  };
}

function claimState(statements: NamedStatements): ClaimState {
  return {
    pauses: pausesOf(statements),
    isSuspectRunning: statements.queue.runningSuspect.get() !== undefined,
  };
}

function applyOne({ moves, queue }: NamedStatements, change: Change): void {
  switch (change.kind) {
    case 'attempt ended':
      endAttempt({ moves, queue }, change);
      break;
    case 'lease ended':
      moves.endLease.run({ seq: change.seq });
      break;
    case 'lease renewed': {
      const { seq, fence } = change.lease;
      moves.renew.run({ seq, fence, until: change.until, closing: 0 });
      break;
    }
    case 'late error': {
      const { seq, fence } = change.lease;
      queue.noteLateError.run({ seq, fence, ...change.error });
      break;
    }
    case 'parked':
      for (const seq of change.seqs) moves.park.run({ seq });
      break;
    case 'unparked':
      for (const seq of change.seqs) moves.unpark.run({ seq });
      break;
  }
}

function endAttempt(
  { moves, queue }: Pick<NamedStatements, 'moves' | 'queue'>,
  { event, ending, now, supersedes, keepsLease, foundBy }: Extract<Change, { kind: 'attempt ended' }>,
): void {
  const { seq } = event;
  const { failed, crashed, outcome, error, skipped } = ending;
  if (ending.state === 'processed') {
    (keepsLease ? moves.processedUnderLease : moves.toProcessed).run({ seq, now });
  } else if (ending.state === 'pending') {
    moves.toRetry.run({ seq, due: ending.dueAt, failed, crashed, yields: asColumn(ending.yields) });
  } else {
    moves.toDead.run({ seq, reason: ending.deadReason, fingerprint: ending.fingerprint, now, failed, crashed });
  }
  if (supersedes) queue.raiseHighWater.run(markOf(event));
  queue.addAttempt.run({
    seq,
    number: event.attempt,
    trigger: event.trigger,
    outcome,
    started: event.claimedAt,
    ended: now,
    name: error?.name ?? null,
    message: error?.message ?? null,
    stack: error?.stack ?? null,
    skipped: skipped ?? null,
    foundBy: foundBy ?? null,
  });
}

/** The first due events of each endpoint and type, by one look through an index for each. */
function dueByLane(
  statements: NamedStatements,
  { endpoints, types, except, now, includeSuspects, limit, pauses }: DueAsked,
): CandidateRow[][] {
  const { queue } = statements;
  const asked = { now, suspects: includeSuspects ? 1 : 0, limit };
  return [...new Set(readyEndpoints(statements, endpoints))].flatMap((endpoint) => {
    const isWhole = types === '*' && except.length === 0 && !pausesIn(pauses, { endpoints: [endpoint], types });
    if (isWhole) return [queue.dueOfEndpoint.all({ ...asked, endpoint }) as CandidateRow[]];
    // Paused types are skipped by name, however many of their events wait.
    const named = types === '*' ? readyTypesBut(statements, endpoint, except) : [...new Set(types)];
    const lanes = openLanes(
      pauses,
      named.map((type) => ({ endpoint, type })),
    );
    return lanes.map((lane) => queue.dueOfType.all({ ...asked, ...lane }) as CandidateRow[]);
  });
}

/** Each type costs one step through the index, so a backlog of the types that are left out is not read. */
function readyTypesBut({ queue }: NamedStatements, endpoint: string, except: readonly string[]): readonly string[] {
  const types: string[] = [];
  for (let from = ''; ;) {
    const { type } = queue.nextReadyType.get({ endpoint, from }) as { readonly type: string | null };
    if (type === null) return types;
    if (!except.includes(type)) types.push(type);
    from = `${type}\0`;
  }
}

function withFacts(statements: NamedStatements, row: CandidateRow, asked: DueAsked): DueEvent {
  const event = candidateOf(row);
  if (event.entity === null) return { ...event, hasLease: false, front: undefined, isSuperseded: false };
  if (!asked.ordered) {
    return { ...event, hasLease: false, front: undefined, isSuperseded: isSuperseded(statements, row) };
  }
  // An event that waits for a lease needs no other fact.
  if (hasLease(statements, row)) return { ...event, hasLease: true, front: undefined, isSuperseded: false };
  const holding = holdingTypesOf(statements, event.endpoint, asked.handledSince, asked.handles);
  const front = frontOf(statements, event, holding, ({ seq }) => seq === event.seq);
  return { ...event, hasLease: false, front, isSuperseded: isSuperseded(statements, row) };
}

function hasLease({ queue }: NamedStatements, { entity, endpoint }: CandidateRow): boolean {
  return entity !== null && queue.leaseOfEntity.get({ entity, endpoint }) !== undefined;
}

function isSuperseded({ queue }: NamedStatements, row: CandidateRow): boolean {
  return row.entity !== null && queue.highWater.get(markOf(candidateOf(row))) !== undefined;
}

function asColumn(flag: boolean | undefined): 0 | 1 | null {
  if (flag === undefined) return null;
  return flag ? 1 : 0;
}

function candidateOf(row: CandidateRow): Candidate {
  const { seq, endpoint, type, entity, crashes, bytes } = row;
  return { seq, endpoint, type, entity, created: createdOf(row), crashes, bytes };
}

function leasedOf(row: LeasedRow): LeasedEvent {
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
    yields: row.yields === 1,
    hasEffect: row.effect === 1,
    isProcessed: row.state === 'processed',
    isClosing: row.closing === 1,
  };
}

/** As the statements about the newest processed event of an entity name it. */
export function markOf({ entity, endpoint, created }: Pick<Candidate, 'entity' | 'endpoint' | 'created'>) {
  return { entity, endpoint, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null };
}

/** A row of hookbox_attempts; the CHECKs of the table hold the unions. */
interface AttemptRow {
  readonly number: number;
  readonly trigger: Attempt['trigger'];
  readonly outcome: Attempt['outcome'];
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly skipped: string | null;
}

/** The attempts of an event, oldest first. */
export function attemptsOf({ queue }: NamedStatements, { id, endpoint }: EventKey): Attempt[] {
  return (queue.attemptsOf.all({ id, endpoint }) as AttemptRow[]).map((row) => ({
    number: row.number,
    trigger: row.trigger,
    outcome: row.outcome,
    startedAt: new Date(row.started_ms),
    endedAt: new Date(row.ended_ms),
    error:
      row.error_name === null
        ? null
        : { name: row.error_name, message: row.error_message ?? '', stack: row.error_stack },
    ...(row.skipped !== null && { skipped: row.skipped }),
  }));
}

/** When the next event of a scope is due that is not paused, or a lease runs out. */
export function nextDue(statements: NamedStatements, scope: Scope): number | null {
  const { queue } = statements;
  const { endpoints, types } = openScope(statements, scope);
  const named = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
  const found =
    endpoints === '*'
      ? (types === '*' ? queue.nextDueOfAll : queue.nextDueAnywhere).get(named)
      : (types === '*' ? queue.nextDueOfEveryType : queue.nextDue).get(named);
  return (found as { at: number | null }).at;
}

/** Where something is paused, every type is each by its name: by that, paused ones are passed over. */
function openScope(statements: NamedStatements, scope: Scope): Scope {
  if (scope.types !== '*' || !pausesIn(pausesOf(statements), scope)) return scope;
  const endpoints = readyEndpoints(statements, scope.endpoints);
  return { endpoints, types: [...new Set(endpoints.flatMap((endpoint) => readyTypesBut(statements, endpoint, [])))] };
}

/** Every statement of the inbox, and what the rules ask for, of one connection. */
export interface Statements extends NamedStatements {
  readonly store: SyncStore;
}

export function prepareStatements(database: SqliteDatabase, index: EventIndex): Statements {
  const statements = prepareNamedStatements(database);
  return { ...statements, store: sqliteStore(statements, index) };
}
