import { TransactionError } from '../errors.ts';
import type { Acceptance, EventKey, IncomingEvent } from './event.ts';
import { runNow, wait, type Operation } from './operation.ts';
import {
  countDelivery,
  firstStateOf,
  planAgain,
  runsAtOnce,
  STORED,
  unchanged,
  type Ahead,
  type DeliveredAgain,
  type FirstState,
  type KnownEvent,
} from './rules/accept.ts';
import {
  announced,
  IGNORE_BATCH,
  PARKED_BATCH,
  planIgnore,
  planParked,
  TYPES_BATCH,
  typesToIgnore,
  type ParkedEvent,
  type ReadyType,
  type Sweep,
  type TypePosition,
  type WaitingEvent,
  type WaitingEvents,
  goneSince,
  processorsSeen,
  seenSince,
  type HandledType,
  type NotedProcessor,
  unhandledTypes,
  type PendingType,
  type TypeTotal,
} from './rules/processors.ts';
import { Budget, withinBudget } from './rules/budget.ts';
import {
  ClaimPlan,
  leaseOf,
  planOne,
  leasesOf,
  planLeases,
  type NumberedClaim,
  type NumberedStart,
} from './rules/claim.ts';
import { eventsToUnpark } from './rules/entity-order.ts';
import { mayRerun, type Content, type EventToRerun } from './rules/decide-act.ts';
import { isRunning, planProcessed, planSettle } from './rules/attempt.ts';
import type {
  Answer,
  Candidate,
  ClaimState,
  Mode,
  NewLease,
  NextInQueue,
  Queue,
  SizedEvent,
  Store,
} from './rules/store.ts';
import type { Counting } from './rules/counted.ts';
import type {
  Announced,
  ClaimedEvent,
  CrashedEvent,
  Lease,
  ProcessorIdentity,
  ProcessorsSeen,
  Scope,
  UnhandledType,
  Settled,
  Settlement,
} from './work.ts';

/** Processors, their types and the events that wait for them. */
export interface Announcements<M extends Mode> {
  noteScope(scope: Scope, now: number): Answer<M, void>;
  /** Also forgets processors that were last seen by `seenBy`. */
  noteProcessor(processor: NotedProcessor, seenBy: number): Answer<M, void>;
  indexArrivals(now: number): Answer<M, unknown>;
  parkedAfter(seq: number, limit: number, handledSince: number): Answer<M, readonly ParkedEvent[]>;
  /** Leaves out endpoints at which a processor has handled every type since `gone`. */
  readyTypes(
    endpoints: Scope['endpoints'],
    from: TypePosition,
    gone: number,
    limit: number,
  ): Answer<M, readonly ReadyType[]>;
  waitingOf(types: readonly ReadyType[], dueBy: number, limit: number): Answer<M, WaitingEvents>;
  /** Also counts them. */
  ignore(events: readonly WaitingEvent[], now: number): Answer<M, void>;
  nextInQueues(queues: readonly Queue[], handledSince: number): Answer<M, readonly NextInQueue[]>;
}

export interface SyncAnnouncements extends Announcements<'sync'> {
  forgetProcessor(name: string): void;
  processorsAfter(since: number): readonly NotedProcessor[];
  handledTypes(): readonly HandledType[];
  isAnybodyThere(since: number): boolean;
  pendingTypes(): readonly PendingType[];
  ignoredTypes(scope: Scope, since: number): readonly TypeTotal[];
}

/**
 * An engine that answers immediately. Each operation loads events, lets a plan decide, and saves the changes, in its
 * caller's transaction.
 */
export interface SyncStore extends Store<'sync'>, SyncAnnouncements, Counting {
  ahead(event: IncomingEvent): Ahead;
  insert(event: IncomingEvent, first: FirstState, lease?: NewLease): Lease | null;
  known(key: EventKey): KnownEvent;
  saveAgain(change: DeliveredAgain): void;
  eventToRerun(key: EventKey, readFrom: Uint8Array | undefined): EventToRerun | undefined;
  toPending(event: EventKey & Pick<EventToRerun, 'entity'>, content: Content, now: number): void;
  /** Processed events with a body; those of an endpoint in the order in which they were processed. */
  prunable(endpoints: Scope['endpoints'], before: number, limit: number): readonly SizedEvent[];
  prune(seqs: readonly number[]): void;
}

export interface ClaimStep<Claimed> {
  /** `more` if the claim must continue in another transaction */
  readonly step: Claimed | 'more';
  /** report these once the transaction is durable */
  readonly crashed: readonly CrashedEvent[];
  /** the newest event when the claim began: later ones must not keep it from ending */
  readonly newestSeq: number | null;
}

export function* claimDue(
  store: Store<Mode>,
  request: NumberedClaim,
  limit: number,
  newest: number | null = null,
): Operation<ClaimStep<readonly ClaimedEvent[]>> {
  const { state, crashed } = yield* startClaim(store, request);
  if (state === 'more') return { step: 'more', crashed, newestSeq: newest };
  // The oldest event of an entity may have arrived last, so all are indexed before any is claimed.
  const newestSeq = newest ?? (yield* wait(store.newestSeq()));
  if (yield* wait(store.indexNew(request.now, newestSeq))) return { step: 'more', crashed, newestSeq };
  const plan = new ClaimPlan(request, limit, state);
  const claimed: ClaimedEvent[] = [];
  for (let asked = plan.toLoad(); asked !== null; asked = plan.toLoad()) {
    const { claimed: chosen, parked } = plan.choose(yield* wait(store.due(asked)));
    if (parked.length > 0) yield* wait(store.apply([{ kind: 'parked', seqs: parked }]));
    claimed.push(...(yield* give(store, chosen, leaseOf(request, { exclusive: true }))));
  }
  return { step: claimed.length === 0 && plan.isCutShort ? 'more' : claimed, crashed, newestSeq };
}

export function* claimOne(
  store: Store<Mode>,
  key: EventKey,
  request: NumberedClaim,
): Operation<Omit<ClaimStep<ClaimedEvent | 'busy' | 'settled'>, 'newestSeq'>> {
  const { state, crashed } = yield* startClaim(store, request, key);
  if (state === 'more') return { step: 'more', crashed };
  const event = yield* wait(store.eventToRun(key));
  // A type may have been paused while this claim waited for the event.
  const { pauses } = store.mayWait ? yield* wait(store.claimState()) : state;
  const decision = planOne(event, request, pauses);
  if (event === undefined || decision !== 'run') return { step: decision === 'busy' ? 'busy' : 'settled', crashed };
  const [claimed = 'settled' as const] = yield* give(store, [event], leaseOf(request, { exclusive: false }));
  return { step: claimed, crashed };
}

function* startClaim(
  store: Store<Mode>,
  request: NumberedClaim,
  onlyFor?: EventKey,
): Operation<{ readonly state: ClaimState | 'more'; readonly crashed: readonly CrashedEvent[] }> {
  const asked = leasesOf(request, onlyFor);
  let start = yield* wait(store.startClaim(asked));
  let isBehind = false;
  if (start.isSetBack) {
    isBehind = (yield* wait(store.followClock(request))) && onlyFor === undefined;
    start = yield* wait(store.startClaim(asked));
  } else {
    yield* wait(store.noteTime(request.now));
  }
  const { changes, crashed, more } = planLeases(start, request);
  yield* wait(store.apply(changes));
  if (more || isBehind) return { state: 'more', crashed };
  const isCurrent = changes.length === 0 && asked.lostClaims.length === 0;
  return { state: isCurrent ? start : yield* wait(store.claimState()), crashed };
}

function* give(
  store: Store<Mode>,
  events: readonly (Candidate & { readonly isSuperseded: boolean })[],
  lease: NewLease,
): Operation<readonly ClaimedEvent[]> {
  if (events.length === 0) return [];
  const leased = yield* wait(store.lease(events, lease));
  return leased.map((event, at) => ({ ...event, superseded: events[at]?.isSuperseded === true }));
}

export function renewLeases(
  store: SyncStore,
  leases: readonly Lease[],
  now: number,
  leaseMs: number,
  isClosing = false,
): readonly Lease[] {
  store.noteTime(now);
  return store.renew(leases, now + leaseMs, isClosing);
}

export function settle(store: SyncStore, lease: Lease, settlement: Settlement, now: number, again = false): Settled {
  const [event] = store.held([lease], seenSince(now));
  const [before] = again && !isRunning(event) ? store.outcomesUnder([lease]) : [];
  const { result, changes } = planSettle(lease, event, settlement, now, before);
  if (isRunning(event)) store.noteTime(now);
  store.apply(changes);
  return result;
}

export function settleInTransaction(
  store: SyncStore,
  lease: Lease,
  settlement: Extract<Settlement, { readonly outcome: 'processed' }>,
  now: number,
): boolean {
  const [event] = store.held([lease], null);
  const changes = planProcessed(event, settlement, now);
  if (changes !== null) store.apply(changes);
  return changes !== null;
}

export function accept(store: SyncStore, event: IncomingEvent, start?: NumberedStart): Acceptance {
  const acceptance = acceptNew(store, event, start) ?? acceptAgain(store, event);
  countDelivery(store.counts, event, acceptance);
  return acceptance;
}

function acceptNew(store: SyncStore, event: IncomingEvent, start: NumberedStart | undefined): Acceptance | undefined {
  if (start === undefined || !event.valid) {
    return store.insert(event, firstStateOf(event)) === null ? undefined : STORED;
  }
  const ahead = store.ahead(event);
  const runs = runsAtOnce(ahead, start);
  const lease = runs ? leaseOf(start, { exclusive: false }) : undefined;
  const stored = store.insert(event, firstStateOf(event, runs), lease);
  if (stored === null || !runs) return stored === null ? undefined : STORED;
  store.noteTime(start.now);
  return { ...STORED, started: { ...stored, superseded: ahead.isSuperseded } };
}

function acceptAgain(store: SyncStore, event: IncomingEvent): Acceptance {
  const { acceptance, change } = planAgain(unchanged(store.known(event)), event);
  store.saveAgain(change);
  runNow(unparkNext(store, change.left, event.receivedAt));
  return acceptance;
}

function* unparkNext(
  store: Pick<Store<Mode> & Announcements<Mode>, 'apply' | 'nextInQueues'>,
  left: readonly Queue[],
  now: number,
  budget = new Budget(),
): Operation<void> {
  const queues = left.filter(({ entity }) => entity !== null);
  if (queues.length === 0) return;
  const seqs = eventsToUnpark(yield* wait(store.nextInQueues(queues, seenSince(now))), budget);
  if (seqs.length > 0) yield* wait(store.apply([{ kind: 'unparked', seqs }]));
}

export function rerun(
  store: SyncStore,
  key: EventKey,
  content: Content,
  now: number,
  readFrom: Uint8Array | undefined,
): boolean {
  const event = store.eventToRerun(key, readFrom);
  if (!mayRerun(event)) return false;
  store.toPending({ id: key.id, endpoint: key.endpoint, entity: event.entity }, content, now);
  store.noteTime(now);
  store.counts.countType('rerun', content.type);
  return true;
}

export function prune(store: SyncStore, endpoints: Scope['endpoints'], before: number, limit: number): number {
  const events = withinBudget(store.prunable(endpoints, before, limit), new Budget());
  store.prune(events.map(({ seq }) => seq));
  return events.length;
}

export function* announce(
  store: Pick<Store<Mode>, 'noteTime' | 'apply'> & Announcements<Mode>,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
  processor?: ProcessorIdentity,
): Operation<Announced & { readonly sweep: Sweep }> {
  yield* wait(store.noteTime(now));
  yield* wait(store.noteScope(scope, now));
  if (processor !== undefined) {
    yield* wait(store.noteProcessor({ ...processor, ...scope, seenAt: now }, seenSince(now)));
  }
  yield* wait(store.indexArrivals(now));
  const budget = new Budget();
  let { parked } = sweep;
  if (parked !== null) {
    const plan = planParked(yield* wait(store.parkedAfter(parked, PARKED_BATCH, seenSince(now))), budget);
    yield* wait(store.apply([{ kind: 'unparked', seqs: plan.unpark }]));
    yield* unparkNext(store, plan.queues, now, budget);
    ({ parked } = plan);
  }
  if (ignoreBefore === null || sweep.ignoring === null) return announced([], { parked, ignoring: null });
  const gone = goneSince(now, ignoreBefore);
  const ready = yield* wait(store.readyTypes(scope.endpoints, sweep.ignoring, gone, TYPES_BATCH));
  const types = typesToIgnore(ready, now, ignoreBefore);
  const { events, left, ignored, ignoring } = planIgnore(
    ready,
    yield* wait(store.waitingOf(types, ignoreBefore, IGNORE_BATCH)),
    budget,
  );
  yield* wait(store.ignore(events, now));
  yield* unparkNext(store, left, now);
  return announced(ignored, { parked, ignoring });
}

export function unhandled(store: SyncStore, handledSince: number): UnhandledType[] {
  return unhandledTypes(store.pendingTypes(), { isAnybodyThere: store.isAnybodyThere(handledSince), handledSince });
}

export function processors(store: SyncStore, now: number): ProcessorsSeen {
  return processorsSeen(store.processorsAfter(seenSince(now)), store.handledTypes());
}

/** An `await` inside a transaction would commit early. */
export function refuseAsyncFunction(work: unknown): void {
  if (Object.prototype.toString.call(work) === '[object AsyncFunction]') throw notSynchronous();
}

export function refusePromise(result: unknown): void {
  const isThenable = typeof result === 'object' && result !== null && 'then' in result;
  if (!isThenable || typeof result.then !== 'function') return;
  // Only a promise: other thenables, such as query builders, begin to work when `then` is called.
  if (result instanceof Promise) result.catch(() => {});
  throw notSynchronous();
}

function notSynchronous(): TransactionError {
  return new TransactionError(
    'NOT_SYNCHRONOUS',
    'The function passed to ctx.transaction is asynchronous, so nothing was committed. Await before ' +
      'ctx.transaction, and only write inside the function.',
  );
}
