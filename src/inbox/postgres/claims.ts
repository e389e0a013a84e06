import { InboxUnavailableError } from '../../errors.ts';
import type { EventKey } from '../event.ts';
import type { CommitOutcome } from '../group-commit.ts';
import { isRunning, planSettle, withNews, withTimes } from '../rules/attempt.ts';
import { probeBegun } from '../rules/breakers.ts';
import {
  ClaimPlan,
  leaseOf,
  markedAs,
  planOne,
  probesFor,
  leasesOf,
  planLeases,
  type NumberedClaim,
} from '../rules/claim.ts';
import { eventsToUnpark } from '../rules/entity-order.ts';
import { isPaused, type EndpointType } from '../rules/pauses.ts';
import { seenSince } from '../rules/processors.ts';
import { RateLimits } from '../rules/rates.ts';
import type { Candidate, ClaimState, DueEvent, NewLease, Store as RuleStore } from '../rules/store.ts';
import type { ClaimedEvent, ClaimRequest, CrashedEvent, Lease, Settlement, Superseded, TellCrashed } from '../work.ts';
import type { RequestTimes } from './database-time.ts';
import { asUnavailable } from './driver/faults.ts';
import type { Session } from './driver/session.ts';
import { isSame, postgresStore } from './engine/postgres-store.ts';
import { keyOrNull, toKey } from './sql/tables.ts';
import type { Store } from './store.ts';

type AsyncStore = RuleStore<'async'>;
type Step<T> = T | 'more';

/** Does the same as `claimDue` in queue-operations.ts, with `await`. */
export async function claimDue(
  store: Store,
  requested: ClaimRequest,
  limit: number,
  tell: TellCrashed,
  tellFull: (freeAt: number) => void,
  tellSuperseded: (superseded: readonly Superseded[]) => void,
): Promise<readonly ClaimedEvent[]> {
  let freeAt: number | null = null;
  let superseded: readonly Superseded[] = [];
  const tellAll: TellCrashed = (crashed) => {
    tell(crashed);
    if (superseded.length > 0) tellSuperseded(superseded);
  };
  const claimed = await inSteps(store, requested, tellAll, async (place, before, crashed, later) => {
    superseded = [];
    const state = await startClaim(place, before, crashed);
    if (state === 'more') return 'more';
    const probes = await lockedProbes(place, state, before);
    const { request, rates } = await withRates(place, before, later);
    const plan = new ClaimPlan(request, limit, state, { rates, probes });
    const claimed: ClaimedEvent[] = [];
    for (let due = plan.toLoad(); due !== null; due = plan.toLoad()) {
      const found = await place.due(due);
      const inBursts = plan.inBursts(found);
      const bursts = inBursts.length === 0 ? [] : await place.bursts(inBursts, due);
      const { claimed: chosen, changes, left } = plan.choose(found, bursts);
      await place.apply(changes);
      if (left.length > 0) {
        const seqs = eventsToUnpark(await place.nextInQueues(left, due.handledSince));
        await place.apply([{ kind: 'unparked', seqs }]);
      }
      claimed.push(...(await give(place, chosen, leaseOf(request, { exclusive: true }))));
    }
    await place.apply(plan.begun());
    ({ freeAt, superseded } = plan);
    return claimed.length === 0 && plan.isCutShort ? 'more' : claimed;
  });
  if (freeAt !== null) tellFull(store.time.toCaller(freeAt));
  return claimed;
}

/** The locks of rates come last: a claim may wait for them, and then counts the attempts. */
async function withRates(place: AsyncStore, request: NumberedClaim, later: () => NumberedClaim) {
  const { rates, named = [] } = request;
  if (rates === undefined) return { request, rates: [] };
  // For a long type, rows contain its hash.
  const byKey = withKeys(rates);
  const loaded = await place.rates({ endpoints: request.endpoints, types: Object.keys(byKey) });
  return { request: { ...later(), rates: byKey, named: named.map(toKey) }, rates: loaded };
}

function withKeys<T>(byType: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(byType).map(([type, value]) => [toKey(type), value]));
}

/** Without an open breaker, it runs no statement. */
async function lockedProbes(
  place: AsyncStore,
  state: ClaimState,
  request: NumberedClaim,
): Promise<readonly EndpointType[]> {
  const ready = probesFor(state, request);
  return ready.length === 0 ? [] : place.lockProbes(ready);
}

export async function claimByKey(
  store: Store,
  key: EventKey,
  requested: ClaimRequest,
  tell: TellCrashed,
): Promise<ClaimedEvent | 'busy' | 'settled'> {
  let isBusy = false;
  const [claimed] = await inSteps(store, requested, tell, async (place, before, crashed, later) => {
    const state = await startClaim(place, before, crashed, key);
    if (state === 'more') return 'more';
    const event = await place.eventToRun(key);
    // A type may have been paused while this claim waited for the slot of its event.
    const now = await place.claimState();
    let decision = planOne(event, before, now.pauses);
    const probes = decision === 'probe' ? await lockedProbes(place, now, before) : [];
    if (decision === 'probe' && (event === undefined || !isPaused(probes, event))) decision = 'busy';
    isBusy = decision === 'busy';
    if (event === undefined || decision === 'busy' || decision === 'settled') return [];
    const { request, rates } = await withRates(place, { ...before, endpoints: [key.endpoint] }, later);
    const limits = new RateLimits(request, rates);
    isBusy = !limits.take({ ...event, type: keyOrNull(event.type) });
    await place.apply(limits.begun());
    const isProbe = decision === 'probe' && event.type !== null && !isBusy;
    if (isProbe)
      await place.apply([{ kind: 'probe begun', probe: probeBegun({ ...event, type: event.type }, request) }]);
    return isBusy
      ? []
      : give(place, [{ ...event, ...(isProbe && { isProbe }) }], leaseOf(request, { exclusive: false }));
  });
  return claimed ?? (isBusy ? 'busy' : 'settled');
}

async function startClaim(
  place: AsyncStore,
  request: NumberedClaim,
  crashed: CrashedEvent[],
  onlyFor?: EventKey,
): Promise<ClaimState | 'more'> {
  const requested = leasesOf(request, onlyFor);
  let start = await place.startClaim(requested);
  if (start.isSetBack) {
    await place.followClock(request);
    start = await place.startClaim(requested);
  }
  const plan = planLeases(start, request, onlyFor);
  await place.apply(plan.changes);
  crashed.push(...plan.crashed);
  if (plan.more) return 'more';
  const isCurrent = plan.changes.length === 0 && requested.lostClaims.length === 0;
  return isCurrent ? start : place.claimState();
}

async function give(
  place: AsyncStore,
  events: readonly (Candidate & Pick<DueEvent, 'isSuperseded' | 'isProbe'>)[],
  lease: NewLease,
): Promise<readonly ClaimedEvent[]> {
  if (events.length === 0) return [];
  const leased = await place.lease(events, lease);
  return leased.map((event, at) => markedAs(event, events[at]));
}

/**
 * Runs a claim in as many transactions as it needs. If the response to a COMMIT is lost, looks for its leases, because
 * leases without an owner would count as crashes.
 */
async function inSteps(
  store: Store,
  requested: ClaimRequest,
  tell: TellCrashed,
  work: (
    place: AsyncStore,
    request: NumberedClaim,
    crashed: CrashedEvent[],
    /** the request after a wait */
    later: () => NumberedClaim,
  ) => Promise<Step<readonly ClaimedEvent[]>>,
): Promise<readonly ClaimedEvent[]> {
  const times = store.time.requested();
  for (;;) {
    let claimed: readonly ClaimedEvent[] = [];
    let crashed: CrashedEvent[] = [];
    let mayBeCommitted = false;
    const step = await store.claims.claim(
      requested,
      (numbered) =>
        store.database.transaction<Step<readonly ClaimedEvent[]>>({
          before: (session) => store.writeAt(session, requested.now, times),
          async work(session) {
            const { number, lostClaims } = numbered;
            // An earlier try may be committed. This one releases the leases of that try, as the next claim would.
            const lost = mayBeCommitted ? [...lostClaims, number] : lostClaims;
            const request = () => onDatabaseClock(times, { ...numbered, lostClaims: lost });
            crashed = [];
            const result = await work(postgresStore(store.within(session)), request(), crashed, request);
            claimed = result === 'more' ? [] : result;
            mayBeCommitted ||= claimed.length > 0 || crashed.length > 0;
            return result;
          },
          async wasDone(session) {
            const leases = claimed.map(({ lease }) => lease);
            if (leases.length > 0 && (await areHeld(store, session, leases))) return { result: claimed };
            return undefined;
          },
        }),
      () => mayBeCommitted,
    );
    tell(crashed.map((event) => crashedOnCallersClock(store, event)));
    if (step !== 'more') return step.map((event) => claimedOnCallersClock(store, event));
  }
}

function claimedOnCallersClock({ time }: Store, event: ClaimedEvent): ClaimedEvent {
  return { ...event, receivedAt: new Date(time.toCaller(event.receivedAt.getTime())) };
}

function crashedOnCallersClock({ time }: Store, event: CrashedEvent): CrashedEvent {
  return { ...event, dueAt: event.dueAt === null ? null : time.toCaller(event.dueAt) };
}

/**
 * Leases begin now, because the request may have waited. Other leases are compared with the request's time, as their
 * renewals may have waited too.
 */
function onDatabaseClock(times: RequestTimes, request: NumberedClaim): NumberedClaim {
  const { now, expiredBy = now, handledSince, latest } = request;
  return {
    ...request,
    now: times.granted(now),
    expiredBy: times.toDatabase(expiredBy),
    ...(handledSince !== undefined && { handledSince: times.toDatabase(handledSince) }),
    ...(latest !== undefined && { latest: withKeys(latest) }),
  };
}

/** Waits for the transaction that created the leases, if it is still running. */
async function areHeld({ t }: Store, session: Session, leases: readonly Lease[]): Promise<boolean> {
  const rows = await session.rows<Lease>(
    `SELECT seq, fence FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NOT NULL ORDER BY seq FOR UPDATE`,
    [leases.map(({ seq }) => seq)],
  );
  return leases.every((lease) => rows.some((row) => isSame(row, lease)));
}

export interface SettlementJob {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
  readonly times: RequestTimes;
  readonly again: boolean;
}

/**
 * Locks the slots of all entities first, because other transactions may park their events. See `settle` in
 * queue-operations.ts.
 */
export async function settleGroup(store: Store, jobs: readonly SettlementJob[]): Promise<readonly CommitOutcome[]> {
  const { database, latest, time } = store;
  let isUnsure = false;
  try {
    const results = await database.transaction({
      async before(session) {
        await time.follow(session);
        await latest.note(session, Math.max(...jobs.map(({ now, times }) => times.toDatabase(now))));
      },
      async work(session) {
        const transaction = store.within(session);
        const place = postgresStore(transaction);
        const leases = jobs.map(({ lease }) => lease);
        await transaction.locks.takeOf(leases.map(({ seq }) => seq));
        const now = Math.max(...jobs.map(({ now, times }) => times.toDatabase(now)));
        const ended = new Set<number>();
        const held = (await place.held(leases, seenSince(now))).map((event) => {
          if (event === undefined || ended.has(event.seq)) return undefined;
          ended.add(event.seq);
          return event;
        });
        const lost = leases.filter((_, at) => (isUnsure || jobs[at]?.again === true) && !isRunning(held[at]));
        const outcomes = lost.length === 0 ? [] : await place.outcomesUnder(lost);
        const plans = jobs.map(({ lease, settlement, now, times }, at) =>
          planSettle(
            lease,
            held[at],
            settlementOnDatabaseClock(times, settlement),
            times.toDatabase(now),
            outcomes[lost.indexOf(lease)],
          ),
        );
        const news = await place.apply(plans.flatMap(({ changes }) => changes));
        return plans.map(({ result, changes }) => withNews(result, changes, news));
      },
      async wasDone() {
        isUnsure = true;
        return undefined;
      },
    });
    return results.map((result) => ({ result }));
  } catch (failure) {
    const unavailable = asUnavailable(failure);
    if (!(unavailable instanceof InboxUnavailableError)) throw failure;
    return jobs.map(() => ({ failure: unavailable }));
  }
}

function settlementOnDatabaseClock(times: RequestTimes, settlement: Settlement): Settlement {
  return withTimes(settlement, (ms) => times.toDatabase(ms));
}
