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
} from './rules/accept-event.ts';
import { ClaimPlan, leaseOf, planOne } from './rules/claim.ts';
import { Budget, firstWithin } from './rules/budget.ts';
import type { Counting } from './rules/engine.ts';
import { eventsToUnpark } from './rules/entity-order.ts';
import { leasesOf, planLeases, type NumberedClaim, type NumberedStart } from './rules/leases.ts';
import { mayRerun, type Content, type EventToRerun } from './rules/rerun-event.ts';
import { isRunning, planProcessed, planSettle } from './rules/settle.ts';
import type { DueEvent, NewLease, NextInQueue, Queue, SizedEvent, Store } from './rules/store.ts';
import { seenSince } from './rules/takers.ts';
import type { ClaimedEvent, CrashedEvent, Lease, Scope, Settled, Settlement } from './work.ts';

/**
 * What the operations below need of an engine that answers immediately. Each operation loads events, lets a plan decide, and
 * saves its changes, in the transaction of its caller.
 */
export interface SyncStore extends Store<'sync'>, Counting {
  ahead(event: IncomingEvent): Ahead;
  /** Stores an event, under a lease if it has one; `null` if its key is known. */
  insert(event: IncomingEvent, first: FirstState, lease?: NewLease): Lease | null;
  /** The stored event of a key that `insert` did not take. */
  known(key: EventKey): KnownEvent;
  saveAgain(change: DeliveredAgain): void;
  /** @param readFrom - the body that its content was read from */
  eventToRerun(key: EventKey, readFrom: Uint8Array | undefined): EventToRerun | undefined;
  toPending(key: EventKey, content: Content, now: number): void;
  /** Events that were processed before a time and have a body, those of an endpoint in the order of that time. */
  prunable(endpoints: Scope['endpoints'], before: number, limit: number): readonly SizedEvent[];
  /** Leaves tombstones of events: their bodies go, other bodies beside them, and what errors said. */
  prune(seqs: readonly number[]): void;
  /** What may be claimed next in these queues; types that were announced since then count as handled. */
  nextInQueues(queues: readonly Queue[], handledSince: number): readonly NextInQueue[];
}

/** How far a claim that takes several transactions has come. */
export interface ClaimProgress {
  /** the newest event when the claim began: later ones must not keep it from ending */
  newestSeq: number | null;
  /** receives the crashes that the claim finds; report them once its transaction is durable */
  readonly crashed: CrashedEvent[];
}

/** Claims due events; `more` if it has to go on in another transaction before it can claim anything. */
export function claimDue(
  store: SyncStore,
  request: NumberedClaim,
  limit: number,
  progress: ClaimProgress,
): readonly ClaimedEvent[] | 'more' {
  if (store.followClock(request)) return 'more';
  if (endLeases(store, request, progress)) return 'more';
  // The oldest event of an entity may have arrived last, so all are indexed before any is claimed.
  progress.newestSeq ??= store.newestSeq();
  if (store.indexNew(request.now, progress.newestSeq)) return 'more';
  const plan = new ClaimPlan(request, limit, store.claimState());
  const claimed: ClaimedEvent[] = [];
  for (let asked = plan.nextRound(); asked !== null; asked = plan.nextRound()) {
    const { claim, park } = plan.round(store.due(asked));
    if (park.length > 0) store.apply([{ kind: 'parked', seqs: park }]);
    claimed.push(...give(store, claim, leaseOf(request, { exclusive: true })));
  }
  return claimed.length === 0 && plan.isCutShort ? 'more' : claimed;
}

/** Claims one event, as inline mode does. */
export function claimOne(
  store: SyncStore,
  key: EventKey,
  request: NumberedClaim,
  progress: Pick<ClaimProgress, 'crashed'>,
): ClaimedEvent | 'busy' | 'settled' | 'more' {
  // A processor moves what is left.
  store.followClock(request);
  if (endLeases(store, request, progress, key)) return 'more';
  const event = store.eventToRun(key);
  const decision = planOne(event, request, store.claimState().pauses);
  if (event === undefined || decision !== 'run') return decision === 'busy' ? 'busy' : 'settled';
  const [claimed] = give(store, [event], leaseOf(request, { exclusive: false }));
  return claimed ?? 'settled';
}

function endLeases(
  store: SyncStore,
  request: NumberedClaim,
  progress: Pick<ClaimProgress, 'crashed'>,
  before?: EventKey,
): boolean {
  const { changes, crashed, more } = planLeases(store.leasesToEnd(leasesOf(request, before)), request);
  store.apply(changes);
  progress.crashed.push(...crashed);
  return more;
}

function give(
  store: SyncStore,
  events: readonly Pick<DueEvent, keyof Parameters<SyncStore['lease']>[0][number] | 'isSuperseded'>[],
  lease: NewLease,
): readonly ClaimedEvent[] {
  if (events.length === 0) return [];
  return store.lease(events, lease).map((event, at) => ({ ...event, superseded: events[at]?.isSuperseded === true }));
}

/** Extends leases that are not lost, even if they have expired, and returns them. */
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

/** @param again - an earlier call may have settled the attempt without an answer */
export function settle(store: SyncStore, lease: Lease, settlement: Settlement, now: number, again = false): Settled {
  const [event] = store.held([lease], seenSince(now));
  const [before] = again && !isRunning(event) ? store.outcomesUnder([lease]) : [];
  const { result, changes } = planSettle(lease, event, settlement, now, before);
  if (isRunning(event)) store.noteTime(now);
  store.apply(changes);
  return result;
}

/** Ends the attempt in the transaction of its handler; `false` if the lease is lost. */
export function settleInTransaction(
  store: SyncStore,
  lease: Lease,
  settlement: Extract<Settlement, { readonly outcome: 'processed' }>,
  now: number,
): boolean {
  const [event] = store.held([lease], seenSince(now));
  const changes = planProcessed(event, settlement, now);
  if (changes !== null) store.apply(changes);
  return changes !== null;
}

/** Stores an event unless its key is known. With a start, it is stored under a lease if nothing has to run before it. */
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

/** Unparks what comes next in queues that events have left. */
function unparkNext(store: SyncStore, left: readonly Queue[], now: number): void {
  const queues = left.filter(({ entity }) => entity !== null);
  if (queues.length === 0) return;
  const seqs = eventsToUnpark(store.nextInQueues(queues, seenSince(now)));
  if (seqs.length > 0) store.apply([{ kind: 'unparked', seqs }]);
}

/** Makes an event pending again, with what today's schemas make of its body; `false` if it may not be rerun. */
export function rerun(
  store: SyncStore,
  key: EventKey,
  content: Content,
  now: number,
  readFrom: Uint8Array | undefined,
): boolean {
  if (!mayRerun(store.eventToRerun(key, readFrom))) return false;
  store.toPending(key, content, now);
  store.noteTime(now);
  store.counts.countType('rerun', content.type);
  return true;
}

/** Leaves tombstones of as many events as one transaction may; returns how many. */
export function prune(store: SyncStore, endpoints: Scope['endpoints'], before: number, limit: number): number {
  const events = firstWithin(store.prunable(endpoints, before, limit), new Budget());
  store.prune(events.map(({ seq }) => seq));
  return events.length;
}
