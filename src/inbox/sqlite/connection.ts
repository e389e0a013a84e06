import { InboxUnavailableError, messageOf } from '../../errors.ts';
import { fileOf, isFull, type SqliteDatabase, type SqliteStatement } from './opening/database.ts';
import type { EventIndex } from './engine/deliveries.ts';
import type { Transactions } from './jobs.ts';
import {
  FilesInUse,
  IN_ANOTHER_LIBRARY,
  isInAnotherLibrary,
  isStillInAnotherLibrary,
  LibraryWatch,
  logGone,
  type Place,
} from './opening/files-in-use.ts';
import { checkpoint, checkpointItself } from './opening/checkpoints.ts';
import { absolutePath, adopt, assertDurable, openFile } from './opening/open.ts';
import { prepareStatements, type Statements } from './engine/sqlite-store.ts';
import { unfit } from './threads/messages.ts';

/** A connection with what hookbox has prepared on it. */
export interface Connection extends Transactions {
  /** For reading outside a transaction. */
  statements(): Statements;
  /** The connection itself, for the application's part of a transaction. */
  database(): SqliteDatabase;
  /** Whether another connection copies the write-ahead log into the file, which takes the time of many commits. */
  leaveCheckpoints(toAnother: boolean): void;
  /** Whether what it has open is what lies at its path. */
  place(): Place;
  close(): void;
}

/** What a thread opens was there when the inbox was opened; somebody may hold its lock just now. */
const FIRST_WAIT_MS = 1_000;

const OPEN_AGAIN = 'Reopen your connection, and create the inbox again with the new connection.';

interface Prepared {
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly begin: SqliteStatement;
  readonly commit: SqliteStatement;
}

/** What a connection of our own has open. */
interface InUse extends Prepared {
  /** where it lies, whatever links lead there */
  readonly file: string;
  readonly files: FilesInUse;
  readonly watch: LibraryWatch;
}

function inUse(path: string, prepared: Prepared): InUse {
  const file = fileOf(prepared.database);
  return { ...prepared, file, files: new FilesInUse(path, file), watch: new LibraryWatch(file) };
}

export interface OwnConnectionOptions {
  /** It is a thread's: somebody else has made the file ready, and it is opened when it is first used. */
  readonly isThere?: boolean;
  /** Told that the log is gone; whether no thread of the inbox has the file open. */
  readonly isAlone?: (why: string) => boolean;
}

/**
 * A file of the inbox's own. After a failure that is the file's (read-only, full, gone, replaced) it is opened afresh,
 * so that the inbox recovers by itself when the cause goes away.
 *
 * All connections of a process to one file share the index of its log. So when the log is gone, all have to be closed
 * before one is opened; a thread leaves the file alone then, and so it does where another SQLite library has the file
 * open.
 */
export function ownConnection(
  given: string,
  index: EventIndex,
  { isThere = false, isAlone = () => true }: OwnConnectionOptions = {},
): Connection {
  const path = absolutePath(given);
  let open: InUse | null = isThere ? null : inUse(path, prepare(openFile(path), index));
  let wasOpen = !isThere;
  let broken = false;
  /** a log that is copied takes no more room, and one that is copied in time needs less */
  let isLogInTheWay = false;
  let closed = false;
  let checkpoints = true;
  /** what was open when its log was gone, until nobody writes to that log any more */
  let withoutLog: FilesInUse | null = null;
  let whyUnfit: string | null = null;

  const current = (): Prepared => {
    if (closed) throw isClosed('the inbox');
    if (whyUnfit !== null) throw unfit(whyUnfit, false);
    if (open !== null && !open.files.isReplaced()) {
      if (isThere) leaveAlone(open, false);
      else if (open.files.isLogGone()) withoutLog = open.files;
      if (withoutLog !== null) assertClosable(open);
      else if (!broken || isInAnotherLibrary(open.file)) return open;
    }
    open?.database.close();
    open = null;
    if (withoutLog?.isLogInUse() === true) {
      throw unavailable(
        `${logGone(path)} Another connection of this process is still writing to the deleted file. Close that ` +
          'connection.',
      );
    }
    // The file must exist: a fresh one would have forgotten which events are known.
    // And nobody may be kept waiting, as events are under way; only a thread waits a moment when it begins.
    open = inUse(path, prepare(openFile(path, { mustExist: true, waitMs: wasOpen ? 0 : FIRST_WAIT_MS }), index));
    if (!checkpoints) checkpointItself(open.database, false);
    if (isLogInTheWay) copyLog(open.database);
    isLogInTheWay = false;
    wasOpen = true;
    broken = false;
    withoutLog = null;
    if (isThere) leaveAlone(open, false);
    return open;
  };

  /** Throws where a thread must not work on the file any longer; from then on always. */
  function leaveAlone({ files, watch }: InUse, isBegun: boolean): void {
    const isGone = files.isLogGone();
    if (isGone && isBegun && files.isReplaced()) throw unavailable(`${path} was replaced by another file.`);
    if (isGone) whyUnfit = logGone(path);
    else if (watch.isInAnotherLibrary()) whyUnfit = IN_ANOTHER_LIBRARY;
    if (whyUnfit !== null) throw unfit(whyUnfit, isBegun);
  }

  function assertClosable({ file }: InUse): void {
    if (!isAlone(logGone(path))) throw unavailable(logGone(path));
    // Ours would delete the log of theirs, and drop their locks.
    if (isStillInAnotherLibrary(file))
      throw unavailable(`${logGone(path)} Another SQLite library still has the database open.`);
  }

  return {
    begin() {
      const { begin, statements } = current();
      begin.run();
      return statements;
    },
    commit() {
      if (open === null) return;
      commit(open);
      // What is in a log that was deleted meanwhile is not on the disk.
      if (isThere) leaveAlone(open, true);
      else if (open.files.isLogGone()) throw unavailable(logGone(path));
    },
    apart: (work) => (open === null ? work() : apart(open, work)),
    rollback: () => open !== null && rollback(open),
    failed(failure) {
      broken = true;
      isLogInTheWay ||= isFull(failure);
    },
    statements: () => current().statements,
    database: () => current().database,
    leaveCheckpoints(toAnother) {
      if (toAnother === !checkpoints) return;
      checkpoints = !toAnother;
      if (open !== null) checkpointItself(open.database, checkpoints);
    },
    place: () => (open === null ? 'replaced' : open.files.place()),
    close() {
      closed = true;
      open?.database.close();
    },
  };
}

function copyLog(database: SqliteDatabase): void {
  try {
    checkpoint(database);
  } catch {
    // There is no room in the file either, and the next commit says so.
  }
}

/** The application's own connection: it keeps its settings, and only the application closes and reopens it. */
export function adoptedConnection(
  database: SqliteDatabase,
  index: EventIndex,
  { ephemeral = false }: { readonly ephemeral?: boolean } = {},
): Connection {
  adopt(database, ephemeral);
  const prepared = prepare(database, index);
  const file = fileOf(database);
  /** `null` for a database in memory, which nobody can replace or delete the log of */
  const files = database.memory ? null : new FilesInUse(file, file);
  let closed = false;
  const current = (): Prepared => {
    if (closed) throw isClosed('the inbox');
    if (!database.open) throw isClosed('the connection that you passed');
    return prepared;
  };
  return {
    begin() {
      const { statements, begin } = current();
      // The application is in its own transaction: joining in would tie our durability to its outcome.
      if (database.inTransaction) throw busyWithTheApplication();
      try {
        if (files !== null) assertInPlace(database, files, file);
        withoutWaiting(database, () => begin.run());
      } catch (failure) {
        throw isReading(failure) ? busyWithTheApplication() : failure;
      }
      return statements;
    },
    commit() {
      commit(prepared);
      if (files?.isLogGone()) throw unavailable(`${logGone(file)} ${OPEN_AGAIN}`);
    },
    apart: (work) => apart(prepared, work),
    rollback: () => rollback(prepared),
    failed: () => {},
    statements: () => current().statements,
    database: () => current().database,
    // As they have set it.
    leaveCheckpoints: () => {},
    place: () => files?.place() ?? 'in place',
    close() {
      closed = true;
    },
  };
}

/** The application's file is the one that was opened, and its commits are durable. */
function assertInPlace(database: SqliteDatabase, files: FilesInUse, file: string): void {
  if (database.pragma('journal_mode', { simple: true }) !== 'wal') files.forgetLog();
  assertDurable(database);
  if (files.isReplaced()) throw unavailable(`${file} was replaced by another file. ${OPEN_AGAIN}`);
  if (files.isLogGone()) throw unavailable(`${logGone(file)} ${OPEN_AGAIN}`);
}

/** A busy wait would block the event loop; the application's own statements keep theirs. */
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
  statements.counts.take();
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

function busyWithTheApplication(): Error {
  return Object.assign(new Error('the connection has an open transaction'), { code: 'SQLITE_BUSY' });
}

function unavailable(why: string): InboxUnavailableError {
  return new InboxUnavailableError('FAILED', why);
}
