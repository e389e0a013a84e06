import type { EventKey } from './event.ts';
import { ClaimPlan, leaseOf, planOne } from './rules/claim.ts';
import { leasesOf, planLeases, type NumberedClaim } from './rules/leases.ts';
import { isRunning, planProcessed, planSettle } from './rules/settle.ts';
import type { ClaimState, DueEvent, NewLease, Store } from './rules/store.ts';
import { seenSince } from './rules/takers.ts';
import type { ClaimedEvent, CrashedEvent, Lease, Settled, Settlement } from './work.ts';

/**
 * Claims and settlements of an engine that answers immediately: each loads events, lets a plan decide, and saves its
 * changes, in the transaction of its caller.
 */
type SyncStore = Store<'sync'>;

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
  const state = startClaim(store, request, progress);
  if (state === 'more') return 'more';
  // The oldest event of an entity may have arrived last, so all are indexed before any is claimed.
  progress.newestSeq ??= store.newestSeq();
  if (store.indexNew(request.now, progress.newestSeq)) return 'more';
  const plan = new ClaimPlan(request, limit, state);
  const claimed: ClaimedEvent[] = [];
  for (let asked = plan.toLoad(); asked !== null; asked = plan.toLoad()) {
    const { claimed: chosen, parked } = plan.choose(store.due(asked));
    if (parked.length > 0) store.apply([{ kind: 'parked', seqs: parked }]);
    claimed.push(...give(store, chosen, leaseOf(request, { exclusive: true })));
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
  const state = startClaim(store, request, progress, key);
  if (state === 'more') return 'more';
  const event = store.eventToRun(key);
  const decision = planOne(event, request, state.pauses);
  if (event === undefined || decision !== 'run') return decision === 'busy' ? 'busy' : 'settled';
  const [claimed] = give(store, [event], leaseOf(request, { exclusive: false }));
  return claimed ?? 'settled';
}

/** Follows the clock, and ends leases that were lost or have expired. */
function startClaim(
  store: SyncStore,
  request: NumberedClaim,
  progress: Pick<ClaimProgress, 'crashed'>,
  onlyFor?: EventKey,
): ClaimState | 'more' {
  const asked = leasesOf(request, onlyFor);
  let start = store.startClaim(asked);
  if (start.isSetBack) {
    // For one event, a processor moves what is left.
    if (store.followClock(request) && onlyFor === undefined) return 'more';
    start = store.startClaim(asked);
  } else {
    store.noteTime(request.now);
  }
  const { changes, crashed, more } = planLeases(start, request);
  store.apply(changes);
  progress.crashed.push(...crashed);
  if (more) return 'more';
  return changes.length === 0 ? start : store.claimState();
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
