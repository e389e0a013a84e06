import { InboxUnavailableError, messageOf } from '../../errors.ts';
import type { EventIndex } from './engine/deliveries.ts';
import { prepareStatements, type Statements } from './engine/sqlite-store.ts';
import type { Transactions } from './jobs.ts';
import { checkpoint, checkpointItself } from './opening/checkpoints.ts';
import { fileOf, isConnectionFault, isFull, type SqliteDatabase } from './opening/database.ts';
import {
  FilesInUse,
  IN_ANOTHER_LIBRARY,
  isInAnotherLibrary,
  isStillInAnotherLibrary,
  LibraryWatch,
  logGone,
  type Place,
} from './opening/files-in-use.ts';
import { absolutePath, adopt, assertDurable, openFile } from './opening/open.ts';
import { statement } from './sql/statement.ts';
import { unfit } from './threads/messages.ts';

export interface Connection extends Transactions {
  /** May open the file again. */
  statements(): Statements;
  leaveCheckpoints(toAnother: boolean): void;
  place(): Place;
  close(): void;
}

/** When a thread opens the file, another process may hold its lock for a moment. */
const FIRST_WAIT_MS = 1_000;

const OPEN_AGAIN = 'Reopen your connection, and create the inbox again with the new connection.';

interface InUse {
  readonly statements: Statements;
  /** the path with all links resolved */
  readonly file: string;
  readonly files: FilesInUse;
  readonly watch: LibraryWatch;
}

export interface OwnConnectionOptions {
  /** The connection of a thread: the file exists, and is opened at its first use. */
  readonly isThere?: boolean;
  /** Called when the log is gone. Returns whether no thread of the inbox has the file open. */
  readonly isAlone?: (why: string) => boolean;
}

/**
 * After a failure of the file (read-only, full, gone, replaced), opens it again, so the inbox recovers.
 *
 * All connections of a process to one file share the index of its log. If the log is gone, all must be closed before
 * is opened again, so a thread then does not touch the file. Nor does a thread touch a file that another SQLite library has
 * open.
 */
export function ownConnection(
  given: string,
  index: EventIndex,
  { isThere = false, isAlone = () => true }: OwnConnectionOptions = {},
): Connection {
  const path = absolutePath(given);
  const inUse = (database: SqliteDatabase): InUse => {
    const file = fileOf(database);
    const statements = prepareStatements(database, index);
    return { statements, file, files: new FilesInUse(path, file), watch: new LibraryWatch(file) };
  };
  let open: InUse | null = isThere ? null : inUse(openFile(path));
  let wasOpen = !isThere;
  let broken = false;
  let isBegun = false;
  /** the disk was full: copying the log may make room */
  let isLogInTheWay = false;
  let closed = false;
  let checkpoints = true;
  /** the files whose log is gone, until no connection writes to that log */
  let withoutLog: FilesInUse | null = null;
  let whyUnfit: string | null = null;

  const current = (): Statements => {
    if (closed) throw isClosed('the inbox');
    if (whyUnfit !== null) throw unfit(whyUnfit, false);
    if (open !== null && !open.files.isReplaced()) {
      if (isThere) leaveAlone(open, false);
      else if (open.files.isLogGone()) withoutLog = open.files;
      if (withoutLog !== null) assertClosable(open);
      else if (!broken || isInAnotherLibrary(open.file)) return open.statements;
    }
    open?.statements.database.close();
    open = null;
    if (withoutLog?.isLogInUse() === true) {
      throw unavailable(
        `${logGone(path)} Another connection of this process is still writing to the deleted file. Close that ` +
          'connection.',
      );
    }
    // A new file would not contain the old events. Only a starting thread may wait.
    open = inUse(openFile(path, { mustExist: true, waitMs: wasOpen ? 0 : FIRST_WAIT_MS }));
    const { database } = open.statements;
    if (!checkpoints) checkpointItself(database, false);
    if (isLogInTheWay) copyLog(database);
    isLogInTheWay = false;
    wasOpen = true;
    broken = false;
    withoutLog = null;
    if (isThere) leaveAlone(open, false);
    return open.statements;
  };

  function leaveAlone({ files, watch }: InUse, isBegun: boolean): void {
    const isGone = files.isLogGone();
    if (isGone && isBegun && files.isReplaced()) throw unavailable(`${path} was replaced by another file.`);
    if (isGone) whyUnfit = logGone(path);
    else if (watch.isInAnotherLibrary()) whyUnfit = IN_ANOTHER_LIBRARY;
    if (whyUnfit !== null) throw unfit(whyUnfit, isBegun);
  }

  function assertClosable({ file }: InUse): void {
    if (!isAlone(logGone(path))) throw unavailable(logGone(path));
    // Our library would delete the other library's log, and release its locks.
    if (isStillInAnotherLibrary(file))
      throw unavailable(`${logGone(path)} Another SQLite library still has the database open.`);
  }

  return {
    begin() {
      if (isBegun) throw inTransaction();
      const statements = current();
      statement(statements.database, BEGIN).run();
      isBegun = true;
      return statements;
    },
    commit() {
      isBegun = false;
      if (open === null) return;
      commit(open.statements);
      // A commit to a deleted log is not on the disk.
      if (isThere) leaveAlone(open, true);
      else if (open.files.isLogGone()) throw unavailable(logGone(path));
    },
    apart: (work) => (open === null ? work() : apart(open.statements, work)),
    rollback() {
      isBegun = false;
      if (open !== null) rollback(open.statements);
    },
    failed(failure) {
      broken = true;
      isLogInTheWay ||= isFull(failure);
    },
    statements: current,
    leaveCheckpoints(toAnother) {
      if (toAnother === !checkpoints) return;
      checkpoints = !toAnother;
      if (open !== null) checkpointItself(open.statements.database, checkpoints);
    },
    place: () => (open === null ? 'replaced' : open.files.place()),
    close() {
      closed = true;
      open?.statements.database.close();
    },
  };
}

function copyLog(database: SqliteDatabase): void {
  try {
    checkpoint(database);
  } catch {}
}

/** The application's connection keeps its settings, and only the application closes it. */
export function adoptedConnection(
  database: SqliteDatabase,
  index: EventIndex,
  { ephemeral = false }: { readonly ephemeral?: boolean } = {},
): Connection {
  adopt(database, ephemeral);
  const statements = prepareStatements(database, index);
  const file = fileOf(database);
  const files = database.memory ? null : new FilesInUse(file, file);
  let closed = false;
  const current = (): Statements => {
    if (closed) throw isClosed('the inbox');
    if (!database.open) throw isClosed('the connection that you passed');
    return statements;
  };
  return {
    begin() {
      current();
      if (database.inTransaction) throw inTransaction();
      try {
        if (files !== null) assertInPlace(database, files, file);
        withoutWaiting(database, () => statement(database, BEGIN).run());
      } catch (failure) {
        // The application is reading rows one by one.
        throw isConnectionFault(failure) ? inTransaction() : failure;
      }
      return statements;
    },
    commit() {
      commit(statements);
      if (files?.isLogGone()) throw unavailable(`${logGone(file)} ${OPEN_AGAIN}`);
    },
    apart: (work) => apart(statements, work),
    rollback: () => rollback(statements),
    failed: () => {},
    statements: current,
    leaveCheckpoints: () => {},
    place: () => files?.place() ?? 'in place',
    close() {
      closed = true;
    },
  };
}

/** The application may have replaced its file, or changed settings that make commits durable. */
function assertInPlace(database: SqliteDatabase, files: FilesInUse, file: string): void {
  if (database.pragma('journal_mode', { simple: true }) !== 'wal') files.forgetLog();
  assertDurable(database);
  if (files.isReplaced()) throw unavailable(`${file} was replaced by another file. ${OPEN_AGAIN}`);
  if (files.isLogGone()) throw unavailable(`${logGone(file)} ${OPEN_AGAIN}`);
}

/** A busy wait would block the event loop. */
export function withoutWaiting<T>(database: SqliteDatabase, work: () => T): T {
  const timeout = Number(database.pragma('busy_timeout', { simple: true }));
  database.pragma('busy_timeout = 0');
  try {
    return work();
  } finally {
    database.pragma(`busy_timeout = ${timeout}`);
  }
}

const BEGIN = 'BEGIN IMMEDIATE';

function commit({ counts, database }: Statements): void {
  counts.write();
  statement(database, 'COMMIT').run();
}

function apart<T>({ counts, database }: Statements, work: () => T): T {
  database.exec('SAVEPOINT hookbox_row');
  try {
    return counts.apart(work);
  } catch (failure) {
    // A trigger that raises ROLLBACK undoes the whole transaction.
    if (!database.inTransaction) throw new InboxUnavailableError('FAILED', messageOf(failure), { cause: failure });
    database.exec('ROLLBACK TO hookbox_row');
    throw failure;
  } finally {
    if (database.inTransaction) database.exec('RELEASE hookbox_row');
  }
}

function rollback({ counts, database }: Statements): void {
  counts.take();
  // SQLite itself rolls back if the disk is full or failing.
  if (database.open && database.inTransaction) database.exec('ROLLBACK');
}

function isClosed(what: string): InboxUnavailableError {
  return new InboxUnavailableError('CLOSED', `${what} is closed`);
}

function inTransaction(): Error {
  return Object.assign(new Error('the connection has an open transaction'), { code: 'SQLITE_BUSY' });
}

function unavailable(why: string): InboxUnavailableError {
  return new InboxUnavailableError('FAILED', why);
}
