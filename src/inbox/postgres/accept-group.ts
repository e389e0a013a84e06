import { InboxUnavailableError, isError, isInstance } from '../../errors.ts';
import type { Acceptance, IncomingEvent } from '../event.ts';
import type { CommitOutcome } from '../group-commit.ts';
import { acceptAgain } from '../rules/accept-event.ts';
import { isOwnType } from '../rules/counted-types.ts';
import { awaited } from '../rules/steps.ts';
import { hasSameBody } from '../rules/tombstone.ts';
import type { AskedTimes } from './database-time.ts';
import { asUnavailable, DatabaseFailure } from './driver/faults.ts';
import { insertEvents } from './engine/insert-events.ts';
import { namedTypes } from './engine/named-types.ts';
import { postgresEngine } from './engine/postgres-engine.ts';
import type { Scene } from './engine/scene.ts';
import { minuteInDatabase } from './sql/minutes.ts';
import { slotOf } from './sql/slots.ts';
import { carriedOut, type Store } from './store.ts';

/** Deliveries of new events wait behind those of known ones, which wait no longer than this for whoever works on their events. */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '2s'";
const LOCK_TAKEN = '55P03';

const STORED: Acceptance = Object.freeze({ result: 'stored', conflict: false, replaced: false });

/** A delivery on its way in. It remembers whether it was sent to Postgres without an answer. */
export interface Arrival {
  readonly event: IncomingEvent;
  readonly times: AskedTimes;
  /** when it arrived, by the database's clock; `null` until that is known */
  receivedAt: number | null;
  isUnsure: boolean;
}

/**
 * Takes in what has arrived together. What is new is stored by one statement; what is known already goes to a second
 * transaction, by the rule that every engine shares.
 */
export async function acceptGroup(store: Store, group: readonly Arrival[]): Promise<readonly CommitOutcome[]> {
  try {
    return await acceptTogether(store, group);
  } catch (failure) {
    // One row, most likely: each is tried alone.
    const isRefused = failure instanceof DatabaseFailure && failure.fault === 'refused';
    if (!isRefused || group.length === 1) return group.map(() => failed(failure));
  }
  const outcomes: CommitOutcome[] = [];
  for (const arrival of group) outcomes.push(...(await acceptGroup(store, [arrival])));
  return outcomes;
}

function failed(failure: unknown): CommitOutcome {
  const unavailable = asUnavailable(failure);
  if (isInstance(unavailable, InboxUnavailableError)) return { failure: unavailable };
  const words = isError(failure) ? failure.message : 'Postgres did not store the event';
  return { failure: new InboxUnavailableError('FAILED', words) };
}

async function acceptTogether(store: Store, group: readonly Arrival[]): Promise<readonly CommitOutcome[]> {
  const { database, moves, time, t } = store;
  let named: ReadonlySet<string> = new Set();
  const { events, stored } = await database.transaction({
    async before(session) {
      await time.follow(session);
      if (group.some(({ event: { type } }) => type !== null && isOwnType(type))) named = await namedTypes(session, t);
    },
    async work(session) {
      const events = group.map((arrival) => {
        arrival.receivedAt ??= arrival.times.toDatabase(arrival.event.receivedAt);
        return { ...arrival.event, receivedAt: arrival.receivedAt };
      });
      const stored = await insertEvents(session, moves, events, { at: minuteInDatabase(time, Date.now()), named });
      return { events, stored };
    },
    // Asked again, it finds them known.
    async wasDone() {
      for (const arrival of group) arrival.isUnsure = true;
      return undefined;
    },
  });
  const known = events.filter((_, at) => stored[at] === false);
  const unsure = new Set(events.filter((_, at) => group[at]?.isUnsure === true));
  const again = known.length === 0 ? [] : await acceptKnown(store, known, unsure);
  return stored.flatMap((isStored) => (isStored ? [{ result: STORED }] : again.splice(0, 1)));
}

/** What was stored beside those that are locked stays so, and is answered so. */
async function acceptKnown(
  store: Store,
  events: readonly IncomingEvent[],
  unsure: ReadonlySet<IncomingEvent>,
): Promise<CommitOutcome[]> {
  try {
    return (await acceptAllKnown(store, events, unsure)).map((result) => ({ result }));
  } catch (failure) {
    if (!isInstance(failure, InboxUnavailableError)) throw failure;
    return events.map(() => ({ failure }));
  }
}

/** Deliveries whose keys are known, each by the rule, in the order of arrival. */
function acceptAllKnown(
  store: Store,
  events: readonly IncomingEvent[],
  unsure: ReadonlySet<IncomingEvent>,
): Promise<readonly Acceptance[]> {
  return store.database.transaction({
    async work(session) {
      const scene = store.scene(session, { ordered: false, exclusive: false });
      await takeLocks(scene, events);
      const engine = postgresEngine(scene);
      const acceptances: Acceptance[] = [];
      for (const event of events) {
        const isOwn = unsure.has(event) && (await isOwnCommit(store, scene, event));
        acceptances.push(isOwn ? STORED : await awaited(acceptAgain(engine, event)));
      }
      // What this rule leaves to be written are counts, which none of them reads.
      await scene.writes.flush();
      return acceptances;
    },
  });
}

/** @throws InboxUnavailableError when somebody keeps them: asked again and again, all others would wait on */
async function takeLocks({ session, locks }: Scene, events: readonly IncomingEvent[]): Promise<void> {
  try {
    await Promise.all([session.exec(LOCK_TIMEOUT), locks.takeOfKeys(events)]);
    await locks.take(events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)));
  } catch (failure) {
    if (!isInstance(failure, DatabaseFailure) || failure.code !== LOCK_TAKEN) throw failure;
    throw new InboxUnavailableError('FAILED', 'a different process has locked the event');
  }
}

/** The answer to a commit of ours was lost: the event is there as we have sent it. */
async function isOwnCommit(store: Store, scene: Scene, event: IncomingEvent): Promise<boolean> {
  const known = await carriedOut(scene, (engine) => engine.known(event));
  if (!hasSameBody(known, event.body)) return false;
  const row = await scene.session.row<{ received_ms: number }>(
    `SELECT received_ms FROM ${store.t.events} WHERE seq = $1`,
    [known.seq],
  );
  return row?.received_ms === event.receivedAt;
}
