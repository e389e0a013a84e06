import { delay, performance } from '../../../host/real-timers.ts';
import type { Database } from './database.ts';
import type { Session } from './session.ts';
import { transactionStatus } from './transaction-status.ts';

/** For so long a transaction whose COMMIT was not answered is waited for; then it counts as done. */
const UNSURE_MS = 10_000;
const LOOK_MS = 50;

/** Appends rows by which nobody could tell whether they are there already: should COMMIT not be answered, its id tells. */
export function appendOnce(
  database: Database,
  before: (session: Session) => Promise<void>,
  append: (session: Session) => Promise<unknown>,
): Promise<void> {
  let id: string | undefined;
  return database.transaction({
    before,
    async work(session) {
      await append(session);
      id = (await session.row<{ id: string }>('SELECT pg_current_xact_id()::text AS id'))?.id;
    },
    async wasDone(session) {
      return (await wasCommitted(session, id)) ? { result: undefined } : undefined;
    },
  });
}

async function wasCommitted(session: Session, id: string | undefined): Promise<boolean> {
  for (const until = performance.now() + UNSURE_MS; ; await delay(LOOK_MS)) {
    const status = await transactionStatus(session, id);
    if (status !== 'in progress') return status === 'committed';
    if (performance.now() > until) return true;
  }
}
