import { InboxUnavailableError, isError } from '../../errors.ts';
import type { Acceptance, IncomingEvent, Started } from '../event.ts';
import {
  countDelivery,
  planAgain,
  runsAtOnce,
  STORED,
  unchanged,
  type DeliveredAgain,
  hasSameBody,
} from '../rules/accept.ts';
import { leaseOf, type NumberedStart } from '../rules/claim.ts';
import { minuteInTables, isOwnType } from '../rules/counted.ts';
import type { AnswerJob, CommitOutcome } from '../group-commit.ts';
import type { RequestTimes } from './database-time.ts';
import { asUnavailable, DatabaseFailure } from './driver/faults.ts';
import type { Session } from './driver/session.ts';
import { readAhead, insertEvents, keyOf, type Insertion, knownEvents, saveAgain } from './engine/accepted-events.ts';
import { claimLocks, locksOf, namedTypes, type Transaction } from './engine/transaction.ts';
import { slotOf } from './sql/tables.ts';
import type { Store } from './store.ts';

/** The next group waits while a group waits for a lock. */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '2s'";
const LOCK_TAKEN = '55P03';
const START_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s'";

export interface Arrival {
  readonly event: IncomingEvent;
  readonly times: RequestTimes;
  /** set if a processor of this process handles the event, unless another event must run first */
  readonly start: NumberedStart | undefined;
  /** by the database's clock; `null` until that is known */
  receivedAt: number | null;
  /** the lease under which it was stored */
  started: Started | undefined;
  isUnsure: boolean;
}

interface DatedArrival {
  readonly arrival: Arrival;
  readonly event: IncomingEvent;
}

/** One statement stores new events, and responds at once. Known events need a second transaction. */
export function acceptGroup(
  store: Store,
  group: readonly Arrival[],
  answer: AnswerJob,
): Promise<readonly CommitOutcome[]> {
  return outcomesOf(group, (some, first) => acceptTogether(store, some, (at, result) => answer(first + at, result)));
}

/** If Postgres rejects a group, probably one job caused this, so each is tried alone. Never throws. */
async function outcomesOf<Item>(
  items: readonly Item[],
  work: (some: readonly Item[], first: number) => Promise<readonly CommitOutcome[]>,
  first = 0,
): Promise<readonly CommitOutcome[]> {
  try {
    return await work(items, first);
  } catch (failure) {
    const isRefused = failure instanceof DatabaseFailure && failure.fault === 'refused';
    if (!isRefused || items.length === 1) return items.map(() => failed(failure));
  }
  const outcomes: CommitOutcome[] = [];
  for (const [at, item] of items.entries()) outcomes.push(...(await outcomesOf([item], work, at)));
  return outcomes;
}

function failed(failure: unknown): CommitOutcome {
  const unavailable = asUnavailable(failure);
  if (unavailable instanceof InboxUnavailableError) return { failure: unavailable };
  const words = isError(failure) ? failure.message : 'Postgres did not store the event';
  return { failure: new InboxUnavailableError('FAILED', words) };
}

async function acceptTogether(
  store: Store,
  group: readonly Arrival[],
  answer: AnswerJob,
): Promise<readonly CommitOutcome[]> {
  const { database, moves, time, latest, t } = store;
  let named: ReadonlySet<string> = new Set();
  const { dated, stored } = await database.transaction({
    async before(session) {
      await time.follow(session);
      const claimedAt = group.flatMap(({ start, times }) => (start === undefined ? [] : [times.granted(start.now)]));
      if (claimedAt.length > 0) await latest.note(session, Math.max(...claimedAt));
      if (group.some(({ event: { type } }) => type !== null && isOwnType(type))) named = await namedTypes(session, t);
    },
    async work(session) {
      const dated = group.map((arrival) => {
        const receivedAt = (arrival.receivedAt ??= arrival.times.toDatabase(arrival.event.receivedAt));
        return { arrival, event: { ...arrival.event, receivedAt } };
      });
      const starts = await startsOf(store, session, group);
      const insertions = dated.map(({ event }, at) => ({ ...event, claim: starts[at] }));
      const stored = await insertEvents(session, moves, insertions, { at: minuteInTables(time, Date.now()), named });
      for (const [at, arrival] of group.entries()) {
        const [start, lease] = [starts[at], stored[at]];
        // A known event keeps the lease from an earlier try whose COMMIT got no response.
        if (lease !== undefined) arrival.started = start && { ...lease, superseded: start.isSuperseded };
      }
      return { dated, stored };
    },
    async wasDone() {
      for (const arrival of group) arrival.isUnsure = true;
      return undefined;
    },
  });
  // The second transaction may wait, and no processor renews the new leases until it ends.
  for (const [at, lease] of stored.entries()) if (lease !== undefined) answer(at, storedAs(group[at]?.started));
  const known = dated.filter((_, at) => stored[at] === undefined);
  const again = known.length === 0 ? [] : [...(await outcomesOf(known, (some) => acceptKnown(store, some)))];
  return stored.flatMap((lease, at) =>
    lease === undefined ? again.splice(0, 1) : [{ result: storedAs(group[at]?.started) }],
  );
}

type Start = NonNullable<Insertion['claim']> & { readonly isSuperseded: boolean };

async function startsOf(
  { t }: Store,
  session: Session,
  group: readonly Arrival[],
): Promise<readonly (Start | undefined)[]> {
  const wanted = group.filter(({ start, event }) => start !== undefined && event.valid);
  if (wanted.length === 0) return [];
  const events = wanted.map(({ event }) => event);
  // This transaction holds slots, so it must not wait long for one that is storing the same key.
  const numbers = wanted.map(({ start }) => start?.number ?? 0);
  const [, aheads] = await Promise.all([
    session.inOneMessage([START_LOCK_TIMEOUT, claimLocks(`'{${numbers.join()}}'`)]),
    readAhead({ session, t, locks: locksOf(session, t) }, events),
  ]);
  const ahead = new Map(wanted.map((arrival, at) => [arrival, aheads[at]]));
  const before = new Set<number>();
  return group.map((arrival) => {
    const { event, start, times } = arrival;
    const slot = event.entity === null ? null : slotOf(event.endpoint, event.entity, event.id);
    const isBehind = slot !== null && before.has(slot);
    if (slot !== null) before.add(slot);
    const found = ahead.get(arrival);
    if (start === undefined || found === undefined) return undefined;
    const now = times.granted(start.now);
    if (!runsAtOnce({ ...found, isEntityBusy: found.isEntityBusy || isBehind }, { ...start, now })) return undefined;
    return { ...leaseOf({ ...start, now }, { exclusive: false }), isSuperseded: found.isSuperseded };
  });
}

function storedAs(started: Started | undefined): Acceptance {
  return started === undefined ? STORED : { ...STORED, started };
}

function acceptKnown(store: Store, known: readonly DatedArrival[]): Promise<readonly CommitOutcome[]> {
  const keys = new Map(known.map(({ event }) => [keyOf(event), event]));
  return store.database.transaction({
    async work(session) {
      const transaction = store.within(session);
      await takeLocks(
        transaction,
        known.map(({ event }) => event),
      );
      const found = await knownEvents(transaction, [...keys.values()]);
      const stored = new Map([...keys.keys()].map((key, at) => [key, found[at]]));
      const changes = new Map<string, DeliveredAgain>();
      const acceptances: Acceptance[] = [];
      for (const { arrival, event } of known) {
        const key = keyOf(event);
        const before = stored.get(key);
        if (before === undefined) throw new RangeError('the event of a known key is missing');
        // This delivery stored the event, in a transaction whose COMMIT got no response.
        if (arrival.isUnsure && before.receivedAt === event.receivedAt && hasSameBody(before, event.body)) {
          acceptances.push(await ownAcceptance(store, session, arrival));
          continue;
        }
        const { acceptance, change } = planAgain(changes.get(key) ?? unchanged(before), event);
        changes.set(key, change);
        countDelivery(transaction.counts, event, acceptance);
        acceptances.push(acceptance);
      }
      await saveAgain(transaction, [...changes.values()]);
      return acceptances.map((result) => ({ result }));
    },
  });
}

/**
 * All other deliveries wait meanwhile.
 *
 * @throws InboxUnavailableError if another transaction keeps the locks
 */
async function takeLocks({ session, locks }: Transaction, events: readonly IncomingEvent[]): Promise<void> {
  try {
    await Promise.all([session.exec(LOCK_TIMEOUT), locks.takeOfKeys(events)]);
    await locks.take(events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)));
  } catch (failure) {
    if (!(failure instanceof DatabaseFailure) || failure.code !== LOCK_TAKEN) throw failure;
    throw new InboxUnavailableError('FAILED', 'a different process has locked the event');
  }
}

/** No processor renewed the lease while the response was missing. */
async function ownAcceptance(store: Store, session: Session, { started, start, times }: Arrival): Promise<Acceptance> {
  if (started === undefined || start === undefined) return STORED;
  const until = times.granted(start.now) + start.leaseMs;
  const isHeld = (await session.run(store.moves.renew([started], until, false))) === 1;
  return storedAs(isHeld ? started : undefined);
}
