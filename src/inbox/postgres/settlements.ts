import { InboxUnavailableError } from '../../errors.ts';
import type { CommitOutcome } from '../group-commit.ts';
import { settle } from '../rules/settle.ts';
import { awaited } from '../rules/steps.ts';
import type { Lease, Settlement } from '../work.ts';
import { asUnavailable } from './driver/faults.ts';
import type { Session } from './driver/session.ts';
import { readRunning } from './engine/handling.ts';
import { postgresEngine } from './engine/postgres-engine.ts';
import type { Store } from './store.ts';

export interface SettlementJob {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
}

/**
 * Attempts that ended in one turn share a transaction, side by side: each waits only for its own statements. They take the locks
 * of all their entities first, since what waits for an event may be set aside at the same moment elsewhere.
 */
export async function settleGroup(
  { database, time, scene, writeAt, t }: Store,
  jobs: readonly SettlementJob[],
): Promise<readonly CommitOutcome[]> {
  try {
    const held = await database.transaction({
      before: (session) => writeAt(session, Math.max(...jobs.map(({ now }) => now))),
      async work(session) {
        const place = scene(session, { ordered: false, exclusive: false });
        const engine = postgresEngine(place);
        const seqs = jobs.map(({ lease }) => lease.seq);
        await place.locks.takeOf(seqs);
        await readRunning(place, seqs);
        const held = await together(
          jobs.map(({ lease, settlement, now }) =>
            awaited(settle(engine, lease, onDatabaseClock(time, settlement), time.toDatabase(now))),
          ),
        );
        await place.writes.flush();
        return held;
      },
      wasDone: (session) => wereDone(session, t.attempts, jobs),
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

function onDatabaseClock(time: Store['time'], settlement: Settlement): Settlement {
  if (settlement.outcome !== 'retry') return settlement;
  return { ...settlement, dueAt: time.toDatabase(settlement.dueAt) };
}

/**
 * COMMIT was not answered: each attempt that is written is one that was. Only its holder ends an attempt under a fence with
 * anything but a crash, and so only one of them has to be looked for.
 */
async function wereDone(
  session: Session,
  attempts: string,
  jobs: readonly SettlementJob[],
): Promise<{ readonly result: readonly boolean[] } | undefined> {
  const rows = await session.rows<Lease>(
    `SELECT seq, fence FROM ${attempts} WHERE seq = ANY($1::bigint[]) AND outcome <> 'crashed'`,
    [jobs.map(({ lease }) => lease.seq)],
  );
  const result = jobs.map(({ lease }) => rows.some(({ seq, fence }) => seq === lease.seq && fence === lease.fence));
  return result.includes(true) ? { result } : undefined;
}
