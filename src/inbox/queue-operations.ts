import { TransactionError } from '../errors.ts';
import type { Acceptance, EventKey, IncomingEvent } from './event.ts';
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
  probesFor,
  markedAs,
  leasesOf,
  planLeases,
  type NumberedClaim,
  type NumberedStart,
} from './rules/claim.ts';
import { eventsToUnpark } from './rules/entity-order.ts';
import { mayRerun, type Content, type EventToRerun } from './rules/decide-act.ts';
import { isRunning, planProcessed, planSettle, withNews } from './rules/attempt.ts';
import { RateLimits, type StoredRate } from './rules/rates.ts';
import { probeBegun } from './rules/breakers.ts';
import type { Candidate, ClaimState, DueEvent, NewLease, NewStep, Queue, SizedEvent, Store } from './rules/store.ts';
import type { Counting } from './rules/counted.ts';
import type {
  Announced,
  ClaimedEvent,
  CrashedEvent,
  Lease,
  ProcessorIdentity,
  ProcessorsSeen,
  Scope,
  Superseded,
  UnhandledType,
  Settled,
  Settlement,
} from './work.ts';

/** Processors, their types and the events that wait for them. */
export interface Announcements {
  noteScope(scope: Scope, now: number): void;
  /** Also deletes processors that were last seen by `seenBy`. */
  noteProcessor(processor: NotedProcessor, seenBy: number): void;
  indexArrivals(now: number): unknown;
  parkedAfter(seq: number, limit: number, handledSince: number): readonly ParkedEvent[];
  /** Excludes endpoints at which a processor has handled every type since `gone`. */
  readyTypes(endpoints: Scope['endpoints'], from: TypePosition, gone: number, limit: number): readonly ReadyType[];
  waitingOf(types: readonly ReadyType[], dueBy: number, limit: number): WaitingEvents;
  /** Also counts them. */
  ignore(events: readonly WaitingEvent[], now: number): void;
  forgetProcessor(name: string): void;
  processorsAfter(since: number): readonly NotedProcessor[];
  handledTypes(): readonly HandledType[];
  isAnybodyThere(since: number): boolean;
  /** A pause that ended by then does not count. */
  pendingTypes(handledSince: number): readonly PendingType[];
  ignoredTypes(scope: Scope, since: number): readonly TypeTotal[];
}

/**
 * An engine that answers immediately. Each operation loads events, lets a plan decide, and saves the changes, in its
 * caller's transaction.
 */
export interface SyncStore extends Store<'sync'>, Announcements, Counting {
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
  /** the time at which a type that has reached its rate may begin another attempt */
  readonly freeAt?: number | null;
  readonly superseded?: readonly Superseded[];
}

export function claimDue(
  store: SyncStore,
  request: NumberedClaim,
  limit: number,
  newest: number | null = null,
): ClaimStep<readonly ClaimedEvent[]> {
  const { state, crashed } = startClaim(store, request);
  if (state === 'more') return { step: 'more', crashed, newestSeq: newest };
  // The oldest event of an entity may have arrived last, so all are indexed before any is claimed.
  const newestSeq = newest ?? store.newestSeq();
  if (store.indexNew(request.now, newestSeq)) return { step: 'more', crashed, newestSeq };
  const plan = new ClaimPlan(request, limit, state, {
    rates: ratesFor(store, request),
    probes: probesFor(state, request),
  });
  const claimed: ClaimedEvent[] = [];
  for (let requested = plan.toLoad(); requested !== null; requested = plan.toLoad()) {
    const due = store.due(requested);
    const inBursts = plan.inBursts(due);
    const {
      claimed: chosen,
      changes,
      left,
    } = plan.choose(due, inBursts.length === 0 ? [] : store.bursts(inBursts, requested));
    store.apply(changes);
    unparkNext(store, left, request.now);
    claimed.push(...give(store, chosen, leaseOf(request, { exclusive: true })));
  }
  store.apply(plan.begun());
  const { freeAt, superseded } = plan;
  return { step: claimed.length === 0 && plan.isCutShort ? 'more' : claimed, crashed, newestSeq, freeAt, superseded };
}

export function claimOne(
  store: SyncStore,
  key: EventKey,
  request: NumberedClaim,
): Omit<ClaimStep<ClaimedEvent | 'busy' | 'settled'>, 'newestSeq'> {
  const { state, crashed } = startClaim(store, request, key);
  if (state === 'more') return { step: 'more', crashed };
  const event = store.eventToRun(key);
  const decision = planOne(event, request, state.pauses);
  if (event === undefined || decision === 'busy' || decision === 'settled') {
    return { step: decision === 'busy' ? 'busy' : 'settled', crashed };
  }
  const rates = new RateLimits(request, ratesFor(store, { ...request, endpoints: [key.endpoint] }));
  const mayBegin = rates.take(event);
  store.apply(rates.begun());
  if (!mayBegin) return { step: 'busy', crashed };
  const isProbe = decision === 'probe' && event.type !== null;
  if (isProbe) store.apply([{ kind: 'probe begun', probe: probeBegun({ ...event, type: event.type }, request) }]);
  const [claimed = 'settled' as const] = give(
    store,
    [{ ...event, ...(isProbe && { isProbe }) }],
    leaseOf(request, { exclusive: false }),
  );
  return { step: claimed, crashed };
}

function ratesFor(store: SyncStore, { endpoints, rates }: NumberedClaim): readonly StoredRate[] {
  return rates === undefined ? [] : store.rates({ endpoints, types: Object.keys(rates) });
}

function startClaim(
  store: SyncStore,
  request: NumberedClaim,
  onlyFor?: EventKey,
): { readonly state: ClaimState | 'more'; readonly crashed: readonly CrashedEvent[] } {
  const requested = leasesOf(request, onlyFor);
  let start = store.startClaim(requested);
  let isBehind = false;
  if (start.isSetBack) {
    isBehind = store.followClock(request) && onlyFor === undefined;
    start = store.startClaim(requested);
  } else {
    store.noteTime(request.now);
  }
  const { changes, crashed, more } = planLeases(start, request, onlyFor);
  store.apply(changes);
  if (more || isBehind) return { state: 'more', crashed };
  return { state: changes.length === 0 ? start : store.claimState(), crashed };
}

function give(
  store: SyncStore,
  events: readonly (Candidate & Pick<DueEvent, 'isSuperseded' | 'isProbe'>)[],
  lease: NewLease,
): readonly ClaimedEvent[] {
  if (events.length === 0) return [];
  const leased = store.lease(events, lease);
  return leased.map((event, at) => markedAs(event, events[at]));
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
  return withNews(result, changes, store.apply(changes));
}

export function keepStep(store: SyncStore, lease: Lease, step: NewStep, now: number): boolean {
  const [event] = store.held([lease], null);
  if (!isRunning(event)) return false;
  store.addStep(event, step, now);
  return true;
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
  unparkNext(store, change.left, event.receivedAt);
  return acceptance;
}

function unparkNext(store: SyncStore, left: readonly Queue[], now: number, budget = new Budget()): void {
  const queues = left.filter(({ entity }) => entity !== null);
  if (queues.length === 0) return;
  const seqs = eventsToUnpark(store.nextInQueues(queues, seenSince(now)), budget);
  if (seqs.length > 0) store.apply([{ kind: 'unparked', seqs }]);
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

export function announce(
  store: SyncStore,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
  processor?: ProcessorIdentity,
): Announced & { readonly sweep: Sweep } {
  store.noteTime(now);
  store.noteScope(scope, now);
  if (processor !== undefined) {
    store.noteProcessor({ ...processor, ...scope, seenAt: now }, seenSince(now));
  }
  store.indexArrivals(now);
  const budget = new Budget();
  let { parked } = sweep;
  if (parked !== null) {
    const plan = planParked(store.parkedAfter(parked, PARKED_BATCH, seenSince(now)), budget);
    store.apply([{ kind: 'unparked', seqs: plan.unpark }]);
    unparkNext(store, plan.queues, now, budget);
    ({ parked } = plan);
  }
  if (ignoreBefore === null || sweep.ignoring === null) return announced([], { parked, ignoring: null });
  const gone = goneSince(now, ignoreBefore);
  const ready = store.readyTypes(scope.endpoints, sweep.ignoring, gone, TYPES_BATCH);
  const types = typesToIgnore(ready, now, ignoreBefore);
  const { events, left, ignored, ignoring } = planIgnore(
    ready,
    store.waitingOf(types, ignoreBefore, IGNORE_BATCH),
    budget,
  );
  store.ignore(events, now);
  unparkNext(store, left, now);
  return announced(ignored, { parked, ignoring });
}

export function unhandled(store: SyncStore, handledSince: number): UnhandledType[] {
  return unhandledTypes(store.pendingTypes(handledSince), {
    isAnybodyThere: store.isAnybodyThere(handledSince),
    handledSince,
  });
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
