import { InboxUnavailableError } from '../../errors.ts';
import type { CommitOutcome } from '../group-commit.ts';
import { isRunning, planSettle } from '../rules/attempt.ts';
import { seenSince } from '../rules/processors.ts';
import type { Lease, Settlement } from '../work.ts';
import type { AskedTimes } from './database-time.ts';
import { asUnavailable } from './driver/faults.ts';
import { postgresStore } from './engine/postgres-store.ts';
import type { Store } from './store.ts';

export interface SettlementJob {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
  readonly times: AskedTimes;
  /** an earlier call may have settled the attempt without an answer */
  readonly again: boolean;
}

/**
 * Settles attempts that ended together in one transaction. It locks the slots of all their entities first, because other
 * transactions may park events of these entities. See `settle` in queue-operations.ts.
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
        // An attempt that is settled twice in one group ends once.
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
            onDatabaseClock(times, settlement),
            times.toDatabase(now),
            outcomes[lost.indexOf(lease)],
          ),
        );
        await place.apply(plans.flatMap(({ changes }) => changes));
        return plans.map(({ result }) => result);
      },
      // The answer to COMMIT was lost: the next try finds what was done, behind the same locks.
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

function onDatabaseClock(times: AskedTimes, settlement: Settlement): Settlement {
  if (!('dueAt' in settlement) || settlement.dueAt === undefined) return settlement;
  return { ...settlement, dueAt: times.toDatabase(settlement.dueAt) };
}
