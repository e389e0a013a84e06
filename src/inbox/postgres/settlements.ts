import { InboxUnavailableError } from '../../errors.ts';
import type { CommitOutcome } from '../group-commit.ts';
import { settle } from '../rules/settle.ts';
import { awaited } from '../rules/steps.ts';
import type { Lease, Settlement } from '../work.ts';
import type { AskedTimes } from './database-time.ts';
import { asUnavailable } from './driver/faults.ts';
import { readFronts } from './engine/entity-queue.ts';
import { readRunning } from './engine/handling.ts';
import { postgresEngine } from './engine/postgres-engine.ts';
import type { Store } from './store.ts';

export interface SettlementJob {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
  readonly times: AskedTimes;
  /** whether it was asked for before, and nobody knows what became of it */
  readonly again: boolean;
}

/**
 * Attempts that ended in one turn share a transaction, side by side: each waits only for its own statements. They take the locks
 * of all their entities first, since what waits for an event may be set aside at the same moment elsewhere.
 */
export async function settleGroup(
  { database, latest, time, scene }: Store,
  jobs: readonly SettlementJob[],
): Promise<readonly CommitOutcome[]> {
  let isUnsure = false;
  try {
    const held = await database.transaction({
      async before(session) {
        await time.follow(session);
        await latest.note(session, Math.max(...jobs.map(({ now, times }) => times.toDatabase(now))));
      },
      async work(session) {
        const place = scene(session, { ordered: false, exclusive: false });
        const engine = postgresEngine(place);
        const seqs = jobs.map(({ lease }) => lease.seq);
        await place.locks.takeOf(seqs);
        await readRunning(place, seqs);
        await readFronts(
          place,
          [...place.facts.running.values()].filter((event) => event !== undefined),
        );
        const held = await together(
          jobs.map(({ lease, settlement, now, times, again }) => {
            const ending = onDatabaseClock(times, settlement);
            return awaited(settle(engine, lease, ending, times.toDatabase(now), again || isUnsure));
          }),
        );
        await place.writes.flush();
        return held;
      },
      // COMMIT was not answered: the rule finds what was done, behind the locks that it had.
      async wasDone() {
        isUnsure = true;
        return undefined;
      },
    });
    return held.map((result) => ({ result }));
  } catch (failure) {
    const unavailable = asUnavailable(failure);
    if (!(unavailable instanceof InboxUnavailableError)) throw failure;
    return jobs.map(() => ({ failure: unavailable }));
  }
}

/** Of several on one connection all have to end before anything else is asked of it. */
async function together<T>(all: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(all);
  return Promise.all(all);
}

function onDatabaseClock(times: AskedTimes, settlement: Settlement): Settlement {
  if (!('dueAt' in settlement) || settlement.dueAt === undefined) return settlement;
  return { ...settlement, dueAt: times.toDatabase(settlement.dueAt) };
}
