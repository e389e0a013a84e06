import type { SyncStore } from '../../queue-operations.ts';
import { isCommittedAlone, foundCrash, countChange, logColumn } from '../../rules/attempt.ts';
import { OTHERS_TO_LOAD, othersOf, supersededBy } from '../../rules/latest.ts';
import { isAmong } from '../../rules/processors.ts';
import { breakerWrites, NO_NEWS, type NewsOfBreakers } from '../../rules/breakers.ts';
import { handlersPauseWrites, isPaused, openLanes, pausesIn } from '../../rules/pauses.ts';
import { rateOf, ratesIn, rateWrite } from '../../rules/rates.ts';
import {
  NOTHING_NEXT,
  type Burst,
  type Candidate,
  type Change,
  type ClaimState,
  type DueRequest,
  type DueEvent,
  type HeldEvent,
  type LeasedEvent,
  type RunningEvent,
  type WaitingEvent,
} from '../../rules/store.ts';
import type { Scope } from '../../work.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { prepareNamedStatements, type NamedStatements } from '../sql/named-statements.ts';
import {
  createdColumns,
  createdOf,
  errorColumns,
  type BurstRow,
  type CandidateRow,
  type LeasedRow,
  type RunningRow,
} from '../sql/rows.ts';
import { newestSeq, statement } from '../sql/statement.ts';
import { announcements } from './announcements.ts';
import { followClock, indexNew, isSetBack, noteTime } from './clock.ts';
import { deliveries, type EventIndex } from './deliveries.ts';
import { frontOf, holdingTypesOf, nextInQueue, pausesOf, readyEndpoints } from './entity-queue.ts';

export interface Statements extends NamedStatements {
  readonly store: SyncStore;
}

export function prepareStatements(database: SqliteDatabase, index: EventIndex): Statements {
  const statements = prepareNamedStatements(database);
  return { ...statements, store: sqliteStore(statements, index) };
}

function sqliteStore(statements: NamedStatements, index: EventIndex): SyncStore {
  const { counts, database, moves, queue } = statements;

  const withNext = (row: RunningRow, handledSince: number | null): HeldEvent => {
    const event = runningOf(row);
    if (handledSince === null) return { ...event, next: NOTHING_NEXT, holdsBack: false };
    const holding = holdingTypesOf(statements, event.endpoint, handledSince);
    const next = nextInQueue(statements, event, holding);
    return { ...event, next, holdsBack: next !== NOTHING_NEXT && isAmong(holding(), event.type) };
  };
  const claimState = (): ClaimState => ({
    pauses: pausesOf(statements),
    isSuspectRunning: queue.runningSuspect.get() !== undefined,
  });

  return {
    counts,
    ...announcements(statements),
    ...deliveries(statements, index),
    followClock: (request) => followClock(statements, request),
    noteTime: (now) => noteTime(statements, now),
    newestSeq: () => newestSeq(database),
    indexNew: (now, upTo) => indexNew(statements, now, upTo),
    claimState,
    lockProbes: (types) => types,
    rates({ endpoints: requested, types }) {
      const endpoints = readyEndpoints(statements, requested);
      return ratesIn(endpoints, types, queue.rates.all({ endpoints: JSON.stringify(endpoints) }).map(rateOf));
    },
    startClaim({ now, lostClaims, expiredBy: by, limit, onlyFor, handledSince }) {
      const expired =
        onlyFor === undefined ? queue.ranOut.all({ by, limit }) : queue.ranOutBefore.all({ by, limit, ...onlyFor });
      return {
        isSetBack: isSetBack(statements, now),
        ...claimState(),
        lost: lostClaims.flatMap((number) =>
          queue.claimedUnder.all({ number }).map((row) => withNext(row, handledSince)),
        ),
        crashed: lostClaims.flatMap((number) => queue.foundBy.all({ number }).map(foundCrash)),
        expired: expired.map((row) => {
          const { id, crashes, bytes } = row;
          return { ...withNext(row, handledSince), id, crashes, bytes };
        }),
      };
    },
    due(request) {
      const lists = dueRows(statements, request);
      const rows = lists.flat().toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq);
      return {
        events: rows.slice(0, request.limit).map((row) => dueEvent(statements, row, request)),
        isAll: rows.length <= request.limit && lists.every((list) => list.length < request.limit),
      };
    },
    bursts: (events, request) => events.map((event) => burstOf(statements, event, request)),
    nextInQueues: (queues, handledSince) =>
      queues.map((each) => nextInQueue(statements, each, holdingTypesOf(statements, each.endpoint, handledSince))),
    eventToRun({ id, endpoint }) {
      const row = queue.eventToRun.get({ id, endpoint });
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
      events.map(({ seq }) => leasedOf(moves.claim.one({ seq, now, until, number }))),
    held: (leases, handledSince) =>
      leases.map(({ seq, fence }) => {
        const row = queue.held.get({ seq, fence });
        return row && withNext(row, handledSince);
      }),
    outcomesUnder: (leases) =>
      leases.map(({ seq, fence }) => {
        const row = queue.outcomeUnder.get({ seq, fence });
        return row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome;
      }),
    addStep: ({ seq, attempt }, step, now) => void queue.addStep.run({ ...step, seq, attempt, now }),
    renew: (leases, until, isClosing) =>
      leases.filter(
        ({ seq, fence }) => moves.renew.run({ seq, fence, until, closing: isClosing ? 1 : 0 }).changes === 1,
      ),
    apply(changes) {
      let news = NO_NEWS;
      for (const change of changes) {
        countChange(counts, change);
        if (change.kind === 'attempt reported') news = new Map([...news, ...report(statements, change)]);
        else apply(statements, change);
      }
      return news;
    },
  };
}

const PAUSE_TABLES = { pauses: 'hookbox_pauses', breakers: 'hookbox_breakers', audit: 'hookbox_audit' };

function report(
  statements: NamedStatements,
  { report }: Extract<Change, { kind: 'attempt reported' }>,
): NewsOfBreakers {
  const { endpoint, type } = report;
  const failures = statements.queue.failuresInARow.get({ endpoint, type })?.failures ?? 0;
  const pause = pausesOf(statements).find((each) => isPaused([each], report)) ?? null;
  const { writes, news } = breakerWrites(PAUSE_TABLES, { failures, pause }, report);
  for (const each of writes) write(statements.database, each);
  return news === null ? NO_NEWS : new Map([[report, news]]);
}

function apply(statements: NamedStatements, change: Exclude<Change, { kind: 'attempt reported' }>): void {
  const { database, moves, queue } = statements;
  switch (change.kind) {
    case 'attempt ended': {
      const { event, ending, now, keepsLease } = change;
      const { seq } = event;
      const { failed, crashed, outcome, error, skipped, log, limit, processor } = ending;
      if (ending.state === 'processed') {
        (keepsLease ? moves.processedUnderLease : moves.toProcessed).run({ seq, now });
      } else if (ending.state === 'pending') {
        const yields = ending.yields === undefined ? null : Number(ending.yields);
        moves.toRetry.run({ seq, due: ending.dueAt, failed, crashed, yields });
      } else {
        moves.toDead.run({ seq, reason: ending.deadReason, fingerprint: ending.fingerprint, now, failed, crashed });
      }
      if (change.supersedes) queue.raiseHighWater.run(markOf(event));
      queue.addAttempt.run({
        seq,
        number: event.attempt,
        trigger: event.trigger,
        outcome,
        started: event.claimedAt,
        ended: now,
        ...errorColumns(error),
        skipped: skipped ?? null,
        log: logColumn(log),
        limit: limit ?? null,
        processor: processor ?? null,
        foundBy: change.foundBy ?? null,
      });
      break;
    }
    case 'superseded': {
      const seqs = JSON.stringify(change.seqs);
      const { now, by } = change;
      moves.superseded.run({ seqs, now });
      queue.addSuperseded.run({ seqs, now, by: supersededBy(by.id) });
      break;
    }
    case 'postponed':
      for (const { seq, dueAt: due } of change.events) moves.moveDue.run({ seq, due });
      break;
    case 'lease ended':
      moves.endLease.run({ seq: change.seq });
      break;
    case 'lease renewed':
      moves.renew.run({ ...change.lease, until: change.until, closing: 0 });
      break;
    case 'late error':
      queue.noteLateError.run({ ...change.lease, ...change.error, log: logColumn(change.log) });
      break;
    case 'parked':
      for (const seq of change.seqs) moves.park.run({ seq });
      break;
    case 'unparked':
      for (const seq of change.seqs) moves.unpark.run({ seq });
      break;
    case 'type paused': {
      const known = pausesOf(statements).find((pause) => isPaused([pause], change.requested)) ?? null;
      for (const each of handlersPauseWrites(PAUSE_TABLES, known, change.requested)) write(database, each);
      break;
    }
    case 'probe begun':
      queue.beginProbe.run({ ...change.probe });
      break;
    case 'pauses ended':
      queue.endPauses.run({ now: change.now });
      break;
    case 'attempts begun':
      write(database, rateWrite('hookbox_rates', change.rate));
      break;
  }
}

function write(database: SqliteDatabase, { text, values }: { text: string; values: readonly unknown[] }): void {
  statement(database, text).run(Object.fromEntries(values.map((value, at) => [at + 1, value])));
}

/** One index search per endpoint and type. */
function dueRows(
  statements: NamedStatements,
  { endpoints, types, except, now, includeSuspects, limit, closed }: DueRequest,
): CandidateRow[][] {
  const { queue } = statements;
  const parameters = { now, suspects: includeSuspects ? 1 : 0, limit };
  return [...new Set(readyEndpoints(statements, endpoints))].flatMap((endpoint) => {
    const isWhole = types === '*' && except.length === 0 && !pausesIn(closed, { endpoints: [endpoint], types });
    if (isWhole) return [queue.dueOfEndpoint.all({ ...parameters, endpoint })];
    // Closed lanes are skipped by name, however many of their events wait.
    const named = types === '*' ? readyTypesBut(statements, endpoint, except) : [...new Set(types)];
    const open = openLanes(
      closed,
      named.map((type) => ({ endpoint, type })),
    );
    return open.map((lane) => queue.dueOfType.all({ ...parameters, ...lane }));
  });
}

/** Each type costs one step through the index, so a backlog of excluded types is not read. */
function readyTypesBut({ queue }: NamedStatements, endpoint: string, except: readonly string[]): readonly string[] {
  const types: string[] = [];
  for (let from = ''; ;) {
    const { type } = queue.nextReadyType.one({ endpoint, from });
    if (type === null) return types;
    if (!except.includes(type)) types.push(type);
    from = `${type}\0`;
  }
}

function dueEvent(statements: NamedStatements, row: CandidateRow, request: DueRequest): DueEvent {
  const event = candidateOf(row);
  const alone = { ...event, trigger: row.trigger, hasLease: false, front: undefined, isSuperseded: false };
  if (event.entity === null) return alone;
  if (!request.ordered) return { ...alone, isSuperseded: isSuperseded(statements, row) };
  // An event that waits for a lease needs no other fact.
  if (hasLease(statements, row)) return { ...alone, hasLease: true };
  const holding = holdingTypesOf(statements, event.endpoint, request.handledSince, request.handles);
  const front = frontOf(statements, event, holding, ({ seq }) => seq === event.seq);
  return { ...alone, front, isSuperseded: isSuperseded(statements, row) };
}

/** In three or four statements, however many events wait. */
function burstOf(
  statements: NamedStatements,
  { endpoint, entity, type }: DueEvent,
  { handles, handledSince }: DueRequest,
): Burst | undefined {
  const { queue } = statements;
  const lane = { endpoint, entity, type };
  const row = queue.newestOfType.get(lane);
  if (row === undefined) return undefined;
  const others = queue.othersOfType.all({ ...lane, newest: row.seq, limit: OTHERS_TO_LOAD }).map(waitingOf);
  const oldest = queue.oldestOfType.get({ ...lane, newest: row.seq });
  const types = holdingTypesOf(statements, endpoint, handledSince, handles)();
  const place = { newest: row.seq, created_ms: row.created_ms, created_ns: row.created_ns };
  return {
    newest: {
      ...candidateOf(row),
      ...waitingOf(row),
      id: row.id,
      dueAt: row.due_ms,
      trigger: row.trigger,
      hasLease: false,
      front: undefined,
      isSuperseded: isSuperseded(statements, row),
    },
    ...othersOf(others, oldest && waitingOf(oldest)),
    isNext: queue.beforeNewest.get({ ...lane, ...place, types: JSON.stringify(types) }) === undefined,
  };
}

function waitingOf({ seq, bytes, attempts, received_ms: receivedAt }: BurstRow): WaitingEvent {
  return { seq, bytes, attempts, receivedAt };
}

function hasLease({ queue }: NamedStatements, { entity, endpoint }: CandidateRow): boolean {
  return entity !== null && queue.leaseOfEntity.get({ entity, endpoint }) !== undefined;
}

function isSuperseded({ queue }: NamedStatements, row: CandidateRow): boolean {
  return row.entity !== null && queue.highWater.get(markOf(candidateOf(row))) !== undefined;
}

export function nextDue(statements: NamedStatements, scope: Scope): number | null {
  const { queue } = statements;
  const { endpoints, types } = openScope(statements, scope);
  const every = types === '*';
  const due =
    endpoints === '*'
      ? every
        ? queue.nextDueOfAll
        : queue.nextDueAnywhere
      : every
        ? queue.nextDueOfEveryType
        : queue.nextDue;
  return due.one({ endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) }).at;
}

/** If something is paused, all other types are named. */
function openScope(statements: NamedStatements, scope: Scope): Scope {
  if (scope.types !== '*' || !pausesIn(pausesOf(statements), scope)) return scope;
  const endpoints = readyEndpoints(statements, scope.endpoints);
  return { endpoints, types: [...new Set(endpoints.flatMap((endpoint) => readyTypesBut(statements, endpoint, [])))] };
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

export function markOf({ entity, endpoint, created }: Pick<Candidate, 'entity' | 'endpoint' | 'created'>) {
  return { entity, endpoint, ...createdColumns(created) };
}
