import { boundToHere } from '../../../host/own-context.ts';
import { wallTime } from '../../../host/real-timers.ts';
import type { Work } from '../commit-group.ts';
import type { Connection } from '../connection.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import type { GroupCommit } from '../../group-commit.ts';
import type { Statements } from '../statements.ts';
import { FREE, type BorrowLock } from '../threads/write-lock.ts';
import { waitedSince } from '../waited-time.ts';

/** How operations reach the tables. */
export interface Access {
  /** The connection, for reading outside a transaction. */
  readonly database: () => SqliteDatabase;
  /**
   * Runs synchronous work in the next group commit, with what else waits; resolves when that is on disk. What is thrown
   * takes these back as well, so nothing should be.
   *
   * @param work - told by how much the clock has moved while it waited for that commit, in milliseconds
   */
  readonly write: <T>(work: (statements: Statements, waitedMs: number) => T) => Promise<T>;
  /** Runs synchronous work outside of a transaction while nobody else in this process writes. */
  readonly alone: <T>(work: (database: SqliteDatabase) => T) => Promise<T>;
  /** Tells processors that events may have become due. */
  readonly notify: () => void;
}

export function accessOf(
  connection: Connection,
  commits: Pick<GroupCommit<Work<Statements>>, 'submitMove'>,
  notify: () => void,
  borrow: BorrowLock = FREE,
): Access {
  function database(): SqliteDatabase {
    connection.statements(); // opens the file afresh where it has to be
    return connection.database();
  }

  return {
    database,
    write<T>(work: (statements: Statements, waitedMs: number) => T) {
      const askedAt = wallTime();
      // A job resolves with what its work has returned.
      const job = (statements: Statements): T => work(statements, waitedSince(askedAt));
      // The work may call functions of its caller, such as an entity rule.
      return commits.submitMove(boundToHere(job)) as Promise<T>;
    },
    async alone(work) {
      const giveBack = await borrow();
      try {
        return work(database());
      } finally {
        giveBack();
      }
    },
    notify,
  };
}
