/**
 * An inbox that stores events in SQLite.
 *
 * @module
 */
import { messageOf, ConfigurationError } from '../../errors.ts';
import { assertLasting, whyNoPath } from '../../host/files.ts';
import { loggerOf, type Logger } from '../../host/logger.ts';
import { ownContext } from '../../host/own-context.ts';
import { turn } from '../../host/real-timers.ts';
import { isPostgresUrl } from '../../host/postgres-url.ts';
import { assertOptions, assertAlone, kindOf, positive, type RulesFor } from '../../option-rules.ts';
import type { Inbox } from '../contract.ts';
import type { StoredEvent } from '../event.ts';
import { runUpkeep } from '../operator/turns.ts';
import { pendingListeners } from '../pending-events.ts';
import { callsByMoves, runMove, type Move } from '../queue-moves.ts';
import { GroupCommit } from '../group-commit.ts';
import { changeQueue } from './changes.ts';
import { adoptedConnection, ownConnection } from './connection.ts';
import { effectTransaction } from './effect-transaction.ts';
import { commitGroup, runRead, type ReadGiven, type ReadName, type ReadResult, type Work } from './jobs.ts';
import { fileOf, isConnectionFault, type SqliteDatabase } from './opening/database.ts';
import { logGone, whyNoSecondConnection, whyNoSecondReader } from './opening/files-in-use.ts';
import { absolutePath, whyTemporaryDataFails } from './opening/open.ts';
import { accessOf } from './operator/access.ts';
import { sqliteOperations } from './operator/operations.ts';
import { SEARCH_INDEX } from './operator/search-words.ts';
import { backups } from './operator/backup.ts';
import { newestSeq } from './sql/statement.ts';
import { InboxThreads } from './threads/inbox-threads.ts';
import { NoThread } from './threads/thread.ts';
import { FREE, type BorrowLock } from './threads/write-lock.ts';

export type { SqliteDatabase, SqliteStatement } from './opening/database.ts';

/** The options of {@link sqliteInbox}. */
export interface SqliteInboxOptions {
  /**
   * How many deliveries may wait for the disk. Above this limit, new deliveries get a 503.
   *
   * @defaultValue 10,000
   */
  readonly maxWaiting?: number;
  /**
   * How many bytes of bodies may wait for the disk.
   *
   * @defaultValue 67,108,864 (64 MiB)
   */
  readonly maxWaitingBytes?: number;
  /**
   * `true` allows hosts that do not keep their disk, such as AWS Lambda, and a `database` in memory, for tests. Stored
   * events are eventually lost.
   *
   * @defaultValue `false`
   */
  readonly ephemeral?: boolean;
  /**
   * With `false`, or if the thread cannot start, the inbox writes on the event loop and blocks it during each commit.
   *
   * @defaultValue `true`
   */
  readonly thread?: boolean;
  /**
   * The logger that receives a warning if the thread cannot start; `false` for no log.
   *
   * @defaultValue the console
   */
  readonly logger?: Logger | false;
}

const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * Opens an inbox in SQLite, in its own file or in your database, beside your tables. Several processes on one machine
 * may share the file. hookbox answers a delivery only after the commit of its event is on disk (WAL with
 * `synchronous=FULL`).
 *
 * @typeParam Database - the type of the connection that `ctx.transaction` passes to its function
 * @param source - the path of a file, which hookbox creates if it is missing and its folder exists; or `{ database }`
 * with an open better-sqlite3 connection, which you close yourself
 * @throws ConfigurationError `INVALID_OPTION` for an invalid option or source
 * @throws InboxOpenError for a file or connection that cannot be opened or is not durable; {@link InboxOpenError} lists
 * the causes
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const receiver = createReceiver({ secret: 'a signing secret', inbox });
 * await receiver.close();
 * await inbox.close();
 * ```
 */
export function sqliteInbox<Database extends SqliteDatabase = SqliteDatabase>(
  source: string | { readonly database: Database },
  options?: SqliteInboxOptions,
): Inbox<Database>;
export function sqliteInbox(
  source: string | { readonly database: SqliteDatabase },
  options: SqliteInboxOptions = {},
): Inbox {
  assertGiven(source, options);
  const { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES, ephemeral = false, thread = true } = options;
  const logger = loggerOf(options.logger);
  const inOwnContext = ownContext();
  assertLasting('sqliteInbox', ephemeral);
  let threads: InboxThreads | null = null;
  /** until the abandoned threads have ended */
  let givenUp: Promise<void> | null = null;
  const isAdopted = typeof source !== 'string';
  const connection = isAdopted
    ? adoptedConnection(source.database, SEARCH_INDEX, { ephemeral })
    : ownConnection(source, SEARCH_INDEX, { isAlone });
  const { name: file, memory: inMemory } = connection.statements().database;
  const noTemporaryFiles = isAdopted ? whyTemporaryDataFails(source.database) : null;
  if (noTemporaryFiles !== null) warn(noTemporaryFiles, NO_TEMPORARY_FILES);

  const { notify, onPending } = pendingListeners();
  const borrow: BorrowLock = async () => threads?.borrow() ?? givenUp?.then(() => turn()).then(FREE) ?? FREE();
  const changes = changeQueue(connection, borrow);
  const access = accessOf(connection, changes, notify, borrow);
  const here = { ...sqliteOperations(access), ...backups(access) };
  if (thread && !inMemory) {
    threads = new InboxThreads({
      file: isAdopted ? fileOf(source.database) : absolutePath(source),
      here,
      newest: () => newestSeq(connection.statements().database),
      whyNot,
      isInPlace: () => connection.place() === 'in place',
      notify,
      writerStarted: () => connection.leaveCheckpoints(threads !== null),
      unusable,
      noOperators: (why) => warn(why, 'operator searches run without their thread, so they block the event loop'),
    });
    const why = whyNot();
    if (why !== null) unusable(why);
  }
  const onLoop = (moves: readonly Move[]) => {
    const works = moves.map(
      (move): Work =>
        ({ store }) =>
          runMove(store, move),
    );
    return commitGroup(connection, works);
  };
  const commits = new GroupCommit<Move>(
    (moves, isAgain) =>
      threads === null && givenUp === null
        ? onLoop(moves)
        : inThread(
            (running) => running.commit(moves, isAgain),
            () => onLoop(moves),
          ),
    { maxWaiting, maxWaitingBytes },
  );

  async function inThread<T>(ask: (running: InboxThreads) => Promise<T>, otherwise: () => T): Promise<T> {
    try {
      if (threads !== null) return await ask(threads);
    } catch (failure) {
      if (!(failure instanceof NoThread)) throw failure;
    }
    await givenUp;
    return otherwise();
  }

  function whyNot(): string | null {
    if (connection.place() === 'log gone') return logGone(file);
    try {
      return isAdopted ? whyNoSecondConnection(source.database) : whyNoSecondReader(connection.statements().database);
    } catch (failure) {
      if (isAdopted && isConnectionFault(failure)) return null; // the application is reading now
      throw failure;
    }
  }

  function unusable(cause: unknown): void {
    // The threads may keep the file open until they have ended.
    givenUp = threads?.close().finally(() => (givenUp = null)) ?? null;
    threads = null;
    connection.leaveCheckpoints(false);
    warn(cause, 'the inbox runs without its thread, so disk writes block the event loop');
  }

  function warn(cause: unknown, message: string): void {
    inOwnContext(() => logger.warn({ cause: messageOf(cause), file }, message));
  }

  function isAlone(goneBecause: string): boolean {
    if (threads !== null) unusable(goneBecause);
    return givenUp === null;
  }

  async function read<Name extends ReadName>(name: Name, ...given: ReadGiven<Name>): Promise<ReadResult<Name>> {
    const found = await inThread(
      (running) => running.read(name, given),
      () => runRead(connection.statements(), name, given),
    );
    return found as ReadResult<Name>;
  }

  async function stop(): Promise<void> {
    await Promise.all([commits.close(), changes.close()]);
    await (givenUp ?? threads?.close());
    connection.close();
  }

  const operations = threads?.operations ?? here;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= stop());

  return {
    ...(!inMemory && { file }),
    operations,
    ...callsByMoves({
      submit: (move, bytes, deadline) => commits.submit(move, bytes, deadline),
      run: (move) => commits.submitMove(move),
      notify,
    }),
    async get(key) {
      const event = await read('get', key);
      return event === null ? null : withBuffers(event);
    },
    async list({ after = 0, limit = 100 } = {}) {
      return (await read('list', after, limit)).map(withBuffers);
    },
    transaction: (lease, work, attempt) => effectTransaction(connection, lease, work, attempt, borrow),
    processors: (now) => read('processors', now),
    nextDue: (scope) => read('nextDue', scope),
    unhandled: (now, handledSince) => read('unhandled', now, handledSince),
    ignoredSince: (scope, since, now) => read('ignoredSince', scope, since, now),
    steps: (key) => read('steps', key),
    attempts: (key) => read('attempts', key),
    upkeep: (how) => runUpkeep(operations, how),
    onPending,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const NO_TEMPORARY_FILES =
  'SQLite cannot create temporary files here, and your connection keeps temporary data in files, so some queries ' +
  'fail. Run PRAGMA temp_store = MEMORY on that connection';

/** better-sqlite3 returns each body as a Buffer, and a thread as a Uint8Array. */
function withBuffers(event: StoredEvent): StoredEvent {
  const { body, conflict } = event;
  return {
    ...event,
    body: body && bufferOf(body),
    conflict: conflict && { ...conflict, body: bufferOf(conflict.body) },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const OPTIONS: RulesFor<SqliteInboxOptions> = {
  maxWaiting: positive(),
  maxWaitingBytes: positive(),
  ephemeral: 'boolean',
  thread: 'boolean',
  logger: true,
};
const SECOND = 'Pass options as the second argument: sqliteInbox({ database }, { thread: false }).';

function assertGiven(source: unknown, options: unknown): void {
  assertAlone('sqliteInbox', source, { database: true }, OPTIONS, SECOND);
  assertOptions('sqliteInbox', options, OPTIONS, SECOND);
  const why = whyNoSource(source);
  if (why === null) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `sqliteInbox needs the path of a file, or { database } with an open connection of better-sqlite3. ${why}`,
  );
}

/** Other libraries' connections lack one of these. */
const METHODS = ['prepare', 'exec', 'pragma', 'close'] as const satisfies readonly (keyof SqliteDatabase)[];

/** A message must not quote the source: a URL may have a password. */
function whyNoSource(source: unknown): string | null {
  if (typeof source === 'string') {
    if (isPostgresUrl(source)) return 'This is a Postgres URL: pass it to postgresInbox of hookbox/postgres.';
    return whyNoPath(source);
  }
  if (!isObject(source)) return `Its first argument is ${kindOf(source)}. Is HOOKBOX_DB set?`;
  if (!('database' in source)) {
    return 'prepare' in source
      ? 'Wrap the connection in an object: { database }.'
      : 'The object has no property database.';
  }
  const { database } = source;
  if (typeof database === 'string') return 'Pass a path directly, not as { database }.';
  if (!isObject(database)) return `database must be a connection of better-sqlite3 (${kindOf(database)}).`;
  const missing = METHODS.find((method) => typeof Reflect.get(database, method) !== 'function');
  return missing === undefined ? null : `database must be a connection of better-sqlite3 (it has no ${missing}()).`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
