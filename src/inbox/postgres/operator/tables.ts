import { type OperatorTables, type Read } from '../../operator/sql.ts';
import { doneOnce } from '../driver/database.ts';
import type { Session } from '../driver/session.ts';
import { writeTogether, type Write } from '../sql/statements.ts';
import { postgres, rowsIn, type Access } from './access.ts';
import { operatorTransaction } from './transaction.ts';

export function operatorTables({ store, ask, notify }: Access): OperatorTables {
  const { database, t, time, within, writeAt } = store;
  const { toDatabase, toCaller } = time;
  const readUntil = (signal: AbortSignal | undefined): Read => {
    const until = database.until(signal);
    return (work) =>
      until.read(async (session) => {
        await time.follow(session);
        return work({ toDatabase, toCaller, rows: rowsIn(session) });
      });
  };
  return {
    dialect: postgres(t),
    bounds: { actsAtOnce: 100, erasedEvents: 100, erasedBytes: 1024 * 1024, prunedBytes: 8 * 1024 * 1024 },
    read: (work, signal) => ask(() => readUntil(signal)(work)),
    inSteps: (work, signal) => ask(() => work(readUntil(signal))),
    change(work, { locks, isRepeatable = false, dueAt, whileRunning } = {}) {
      const times = time.requested();
      const clock = { toCaller, toDatabase: (ms: number) => times.toDatabase(ms) };
      const requested = {
        before: (session: Session) => (dueAt === undefined ? time.follow(session) : writeAt(session, dueAt, times)),
        async work(session: Session) {
          if (locks !== undefined) await session.exec(`LOCK TABLE ${t[locks]} IN SHARE ROW EXCLUSIVE MODE`);
          const transaction = within(session);
          const later: Write[] = [];
          const result = await work(operatorTransaction(transaction, clock, later));
          await writeTogether(session, [...later, ...(await transaction.countsToWrite())]);
          return result;
        },
      };
      return ask(() => (isRepeatable ? database.transaction(requested) : doneOnce(database, requested, whileRunning)));
    },
    notify,
  };
}
