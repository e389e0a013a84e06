import type { EventKey } from '../event.ts';
import { claim, claimOne } from '../rules/claim.ts';
import type { NumberedClaim } from '../rules/leases.ts';
import type { ClaimedEvent, CrashedEvent, Lease, TellCrashed } from '../work.ts';
import type { AskedTimes } from './database-time.ts';
import type { Session } from './driver/session.ts';
import type { Scene } from './engine/scene.ts';
import { carriedOut, type Store } from './store.ts';

/** A claim whose answer was lost after COMMIT would leave leases that nobody knows of, and that count as crashes. */
export async function claimDue(
  store: Store,
  asked: NumberedClaim,
  limit: number,
  tell: TellCrashed,
): Promise<readonly ClaimedEvent[]> {
  const times = store.time.asked();
  let isUnsure = false;
  for (;;) {
    let claimed: readonly ClaimedEvent[] = [];
    let crashed: CrashedEvent[] = [];
    const step = await store.database.transaction<readonly ClaimedEvent[] | 'more'>({
      before: (session) => store.writeAt(session, asked.now, times),
      async work(session) {
        const request = onDatabaseClock(times, isUnsure ? alsoUnheard(asked) : asked);
        const scene = store.scene(session, { ordered: asked.ordered, exclusive: true });
        await takeUnheard(store, scene, request);
        crashed = [];
        const progress = { freshUpTo: null, crashed };
        const step = await carriedOut(scene, (engine) => claim(engine, request, limit, progress));
        claimed = step === 'more' ? [] : step;
        return step;
      },
      async wasDone(session) {
        if (
          claimed.length > 0 &&
          (await areHeld(
            store,
            session,
            claimed.map(({ lease }) => lease),
          ))
        )
          return { result: claimed };
        isUnsure = true;
        return undefined;
      },
    });
    tell(crashed.map((event) => crashedOnCallersClock(store, event)));
    if (step !== 'more') return step.map((event) => claimedOnCallersClock(store, event));
  }
}

export async function claimByKey(
  store: Store,
  key: EventKey,
  asked: NumberedClaim,
  tell: TellCrashed,
): Promise<ClaimedEvent | 'busy' | 'settled'> {
  const times = store.time.asked();
  let isUnsure = false;
  for (;;) {
    let claimed: ClaimedEvent | undefined;
    let crashed: CrashedEvent[] = [];
    const step = await store.database.transaction<ClaimedEvent | 'busy' | 'settled' | 'more'>({
      before: (session) => store.writeAt(session, asked.now, times),
      async work(session) {
        const request = onDatabaseClock(times, isUnsure ? alsoUnheard(asked) : asked);
        const scene = store.scene(session, { ordered: asked.ordered, exclusive: false });
        await takeUnheard(store, scene, request);
        crashed = [];
        const step = await carriedOut(scene, (engine) => claimOne(engine, key, request, crashed));
        claimed = typeof step === 'string' ? undefined : step;
        return step;
      },
      async wasDone(session) {
        if (claimed !== undefined && (await areHeld(store, session, [claimed.lease]))) return { result: claimed };
        isUnsure = true;
        return undefined;
      },
    });
    tell(crashed.map((event) => crashedOnCallersClock(store, event)));
    if (step !== 'more') return typeof step === 'string' ? step : claimedOnCallersClock(store, step);
  }
}

/** Its own COMMIT was not answered: it looks for what it has done, as the next claim would. */
function alsoUnheard(asked: NumberedClaim): NumberedClaim {
  const { number, unheard = [] } = asked;
  return number === undefined ? asked : { ...asked, unheard: [...new Set([...unheard, number])] };
}

/** Locks the slots of all lost claims in one statement. Taken claim by claim, two transactions could deadlock. */
async function takeUnheard({ given }: Store, { locks }: Scene, { unheard = [] }: NumberedClaim): Promise<void> {
  await locks.take(given.slotsUnder(unheard));
}

function claimedOnCallersClock({ time }: Store, event: ClaimedEvent): ClaimedEvent {
  return { ...event, receivedAt: new Date(time.toCaller(event.receivedAt.getTime())) };
}

function crashedOnCallersClock({ time }: Store, event: CrashedEvent): CrashedEvent {
  return { ...event, dueAt: event.dueAt === null ? null : time.toCaller(event.dueAt) };
}

/**
 * As the database has the times of a request. Its leases count from now: one that counted from when it was asked for might have
 * run out before it was given. What others hold is judged as of then, as they may have had to wait too.
 */
function onDatabaseClock(times: AskedTimes, request: NumberedClaim): NumberedClaim {
  const { now, ranOutBy = now, takenSince } = request;
  return {
    ...request,
    now: times.granted(now),
    ranOutBy: times.toDatabase(ranOutBy),
    ...(takenSince !== undefined && { takenSince: times.toDatabase(takenSince) }),
  };
}

/** Whether leases stand. Waits for the transaction that has given them, should it be under way still. */
async function areHeld({ t }: Store, session: Session, leases: readonly Lease[]): Promise<boolean> {
  const rows = await session.rows<Lease>(
    `SELECT seq, fence FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NOT NULL ORDER BY seq FOR UPDATE`,
    [leases.map(({ seq }) => seq)],
  );
  return leases.every((lease) => rows.some(({ seq, fence }) => seq === lease.seq && fence === lease.fence));
}
