import { delay } from '../../../host/real-timers.ts';
import type { Asked } from '../driver/database.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import type { Session } from '../driver/session.ts';
import { transactionStatus } from '../driver/transaction-status.ts';
import type { Store } from '../store.ts';

const LOOK_MS = 20;
const MOST_LOOKS = 100;

/**
 * A transaction whose work is done once: where the connection is lost before COMMIT is answered, Postgres knows what
 * has become of it by its number.
 */
export async function doneOnce<T>({ database }: Store, { before, work }: Omit<Asked<T>, 'wasDone'>): Promise<T> {
  let tried: { readonly id: string; readonly result: T } | undefined;
  return database.transaction({
    ...(before !== undefined && { before }),
    async work(session) {
      tried = undefined;
      const result = await work(session);
      const row = await session.row<{ id: string | null }>('SELECT pg_current_xact_id_if_assigned()::text AS id');
      // What has written nothing has no number, and may be done again.
      const id = row?.id ?? null;
      if (id !== null) tried = { id, result };
      return result;
    },
    async wasDone(session) {
      return tried !== undefined && (await wasCommitted(session, tried.id)) ? { result: tried.result } : undefined;
    },
  });
}

/** @throws DatabaseFailure when it is still under way: a server may go on with what nobody waits for */
async function wasCommitted(session: Session, id: string): Promise<boolean> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const status = await transactionStatus(session, id);
    if (status !== 'in progress') return status === 'committed';
    await delay(LOOK_MS);
  }
  throw new DatabaseFailure(new Error('a transaction is still running'));
}
