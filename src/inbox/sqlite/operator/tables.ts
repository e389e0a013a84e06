import type { OperatorTables, OperatorTransaction, Read, Statement } from '../../operator/sql.ts';
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
    change: (work) =>
      write((statements, waitedMs, isOver) => work(untilOver(operatorTransaction(statements, waitedMs), isOver))),
    notify,
  };
}

/** Writes of a change after the rollback of its transaction would be committed on their own. */
function untilOver(tx: OperatorTransaction, isOver: () => boolean): OperatorTransaction {
  const guarded = (member: unknown): unknown => {
    if (typeof member !== 'function') return member;
    return (...given: unknown[]): unknown => {
      if (isOver()) throw new Error('the transaction is over');
      return Reflect.apply(member, tx, given);
    };
  };
  const members = Object.entries(tx).map(([name, member]) => [name, guarded(member)]);
  return Object.fromEntries(members) as OperatorTransaction; // the same members
}
