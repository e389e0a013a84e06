import { statSync } from 'node:fs';
import { InboxUnavailableError, messageOf } from '../../errors.ts';
import type { SqliteDatabase, SqliteStatement } from './opening/database.ts';
import type { EventIndex } from './engine/event-index.ts';
import type { Transactions } from './commit-group.ts';
import { absolutePath, adopt, assertDurable, checkpointItself, openFile } from './opening/open.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** A connection with what hookbox has prepared on it. */
export interface Connection extends Transactions<Statements> {
  /** For reading outside a transaction. */
  statements(): Statements;
  /** The connection itself, for the merchant's part of a transaction. */
  database(): SqliteDatabase;
  /** Whether another connection copies the write-ahead log into the file, which takes the time of many commits. */
  leaveCheckpoints(toAnother: boolean): void;
  close(): void;
}

/** The file that a thread opens was there when the inbox was opened; somebody may hold its lock just now. */
const NOT_SEEN = '';
const FIRST_WAIT_MS = 1_000;

interface Prepared {
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly begin: SqliteStatement;
  readonly commit: SqliteStatement;
}

/**
 * A file of the inbox's own. After a failure that is the file's (read-only, full, gone, replaced) it is opened afresh, so
 * that the inbox recovers by itself when the cause goes away.
 *
 * @param options - `isThere`: somebody else has made it ready, and it is opened when it is first used
 */
export function ownConnection(
  given: string,
  index: EventIndex,
  { isThere }: { readonly isThere: boolean } = { isThere: false },
): Connection {
  const path = absolutePath(given);
  let open: Prepared | null = isThere ? null : prepare(openFile(path), index);
  let identity = isThere ? NOT_SEEN : identityOf(path);
  let broken = false;
  let closed = false;
  let checkpoints = true;

  /** Deleted or replaced under our feet: what is written to the old file is lost to everyone else. */
  const moved = (): boolean => identityOf(path) !== identity;

  const current = (): Prepared => {
    if (closed) throw isClosed('the inbox');
    if (open !== null && !broken && !moved()) return open;
    open?.database.close();
    open = null;
    // The file must exist: a fresh one would have forgotten which events are known.
    // And nobody may be kept waiting, as events are under way; only a thread waits a moment when it begins.
    open = prepare(openFile(path, { mustExist: true, waitMs: identity === NOT_SEEN ? FIRST_WAIT_MS : 0 }), index);
    if (!checkpoints) checkpointItself(open.database, false);
    identity = identityOf(path);
    broken = false;
    return open;
  };

  return {
    begin() {
      const { begin, statements } = current();
      begin.run();
      return statements;
    },
    commit: () => open !== null && commit(open),
    apart: (work) => (open === null ? work() : apart(open, work)),
    rollback: () => open !== null && rollback(open),
    failed: () => {
      broken = true;
    },
    statements: () => current().statements,
    database: () => current().database,
    leaveCheckpoints(toAnother) {
      checkpoints = !toAnother;
      if (open !== null) checkpointItself(open.database, checkpoints);
    },
    close() {
      closed = true;
      open?.database.close();
    },
  };
}

/** The merchant's own connection: their settings stay, and only they close it. */
export function adoptedConnection(database: SqliteDatabase, index: EventIndex): Connection {
  adopt(database);
  const prepared = prepare(database, index);
  let closed = false;
  const current = (): Prepared => {
    if (closed) throw isClosed('the inbox');
    if (!database.open) throw isClosed('the connection that the inbox was given');
    return prepared;
  };
  return {
    begin() {
      const { statements, begin } = current();
      // The merchant is between BEGIN and COMMIT of their own: joining in would tie our durability to their outcome.
      if (database.inTransaction) throw busyWithTheMerchant();
      try {
        assertDurable(database);
        withoutWaiting(database, () => begin.run());
      } catch (failure) {
        throw isReading(failure) ? busyWithTheMerchant() : failure;
      }
      return statements;
    },
    commit: () => commit(prepared),
    apart: (work) => apart(prepared, work),
    rollback: () => rollback(prepared),
    failed: () => {},
    statements: () => current().statements,
    database: () => current().database,
    // As they have set it.
    leaveCheckpoints: () => {},
    close() {
      closed = true;
    },
  };
}

/** A busy wait would block the event loop; the merchant's own statements keep theirs. */
export function withoutWaiting<T>(database: SqliteDatabase, work: () => T): T {
  const timeout = Number(database.pragma('busy_timeout', { simple: true }));
  database.pragma('busy_timeout = 0');
  try {
    return work();
  } finally {
    database.pragma(`busy_timeout = ${timeout}`);
  }
}

function prepare(database: SqliteDatabase, index: EventIndex): Prepared {
  return {
    database,
    statements: prepareStatements(database, index),
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
  };
}

function commit({ statements, commit }: Prepared): void {
  statements.counts.write();
  commit.run();
  statements.counts.forget();
}

function apart<T>({ database, statements }: Prepared, work: () => T): T {
  database.exec('SAVEPOINT hookbox_row');
  try {
    return statements.counts.apart(work);
  } catch (failure) {
    // A trigger that raises ROLLBACK takes the whole transaction down, and with it the rows before.
    if (!database.inTransaction) throw new InboxUnavailableError('FAILED', messageOf(failure), { cause: failure });
    database.exec('ROLLBACK TO hookbox_row');
    throw failure;
  } finally {
    if (database.inTransaction) database.exec('RELEASE hookbox_row');
  }
}

function rollback({ database, statements }: Prepared): void {
  statements.counts.forget();
  // SQLite rolls back by itself when the disk is full or failing.
  if (database.open && database.inTransaction) database.exec('ROLLBACK');
}

/** better-sqlite3 lets nobody write while rows of a statement are being read one by one. */
function isReading(failure: unknown): boolean {
  return failure instanceof TypeError && failure.message.includes('busy executing a query');
}

function isClosed(what: string): InboxUnavailableError {
  return new InboxUnavailableError('CLOSED', `${what} is closed`);
}

function busyWithTheMerchant(): Error {
  return Object.assign(new Error('the connection has an open transaction'), { code: 'SQLITE_BUSY' });
}

function identityOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    throw new InboxUnavailableError('FAILED', `${path} is gone. Put the file back; it holds which events are known.`);
  }
  return `${stats.dev}:${stats.ino}`;
}
