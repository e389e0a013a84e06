import { runNow } from '../../operation.ts';
import { type OperatorTables, type Read, type Statement } from '../../operator/sql.ts';
import { clockAfter, rowsOf, sqlite, type Access } from './access.ts';
import { operatorTransaction } from './transaction.ts';

export function operatorTables({ database, write, notify }: Access): OperatorTables {
  const read: Read = (work) =>
    work({ ...clockAfter(0), rows: async <Row>(statement: Statement) => rowsOf<Row>(database(), statement) });
  return {
    dialect: sqlite,
    // Erased bytes are overwritten, so they are written twice.
    bounds: { actsAtOnce: 10, erasedEvents: 50, erasedBytes: 512 * 1024, prunedBytes: 1024 * 1024 },
    read,
    inSteps: (work) => work(read),
    change: (work) => write((statements, waitedMs) => runNow(work(operatorTransaction(statements, waitedMs)))),
    notify,
  };
}
