import { messageOf, ConfigurationError } from '../../errors.ts';
import { assertLasting, whyNoPath } from '../../host/files.ts';
import { loggerOf, type Logger } from '../../host/logger.ts';
import { ownContext } from '../../host/own-context.ts';
import { isPostgresUrl } from '../../host/postgres-url.ts';
import { wallTime } from '../../host/real-timers.ts';
import { assertAlone, assertOptions, kindOf, type KnownOptions, positive } from '../../known-options.ts';
import type { Inbox } from '../contract.ts';
import type { StoredEvent } from '../event.ts';
import { runUpkeep } from '../operator/turns.ts';
import type { ClaimProgress } from '../queue-operations.ts';
import { WHOLE_SWEEP, type Sweep } from '../rules/processors.ts';
import { GroupCommit } from '../group-commit.ts';
import { UnconfirmedClaims, UnconfirmedSettlements } from '../unconfirmed-claims.ts';
import { adoptedConnection, ownConnection } from './connection.ts';
import { effectTransaction } from './effect-transaction.ts';
import type { Statements } from './engine/sqlite-store.ts';
import {
  commitGroup,
  type Work,
  runMove,
  runRead,
  type Move,
  type MoveGiven,
  type MoveName,
  type MoveResult,
  type ReadGiven,
  type ReadName,
  type ReadResult,
} from './jobs.ts';
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
import { FREE } from './threads/write-lock.ts';

/**
 * An inbox that stores events in SQLite.
 *
 * @module
 */

export type { SqliteDatabase, SqliteStatement } from './opening/database.ts';

const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Roughly what a waiting delivery holds beside its body. */
const OVERHEAD_BYTES = 512;

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
  positive('maxWaiting', maxWaiting);
  positive('maxWaitingBytes', maxWaitingBytes);
  assertLasting('sqliteInbox', ephemeral);
  let threads: InboxThreads | null = null;
  /** until the threads that were given up have ended */
  let givenUp: Promise<void> | null = null;
  const isAdopted = typeof source !== 'string';
  const connection = isAdopted
    ? adoptedConnection(source.database, SEARCH_INDEX, { ephemeral })
    : ownConnection(source, SEARCH_INDEX, { isAlone });
  const file = connection.database().name;
  const inMemory = connection.database().memory;
  const noTemporaryFiles = isAdopted ? whyTemporaryDataFails(source.database) : null;
  if (noTemporaryFiles !== null) warn(noTemporaryFiles, NO_TEMPORARY_FILES);

  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  /** Operators' functions on this thread; beside a writer they ask it for the lock. */
  const access = accessOf(connection, { submitMove: (work) => hereOrBorrowed().submitMove(work) }, notify, () =>
    borrow(),
  );
  const here = { ...sqliteOperations(access), ...backups(access) };
  const newest = (): number => newestSeq(connection.statements().database);
  const path = isAdopted ? fileOf(source.database) : absolutePath(source);
  if (thread && !inMemory) {
    const isInPlace = (): boolean => connection.place() === 'in place';
    const writerStarted = (): void => connection.leaveCheckpoints(threads !== null);
    const told = { notify, writerStarted, unusable, noOperators };
    threads = new InboxThreads({ file: path, here, newest, whyNot, isInPlace, ...told });
  }
  const why = threads === null ? null : whyNot();
  if (why !== null) unusable(why);
  const onLoop = (jobs: readonly Job[]) => commitGroup(connection, jobs.map(workOf));
  const commits = new GroupCommit<Job>(
    (jobs, isAgain) => (threads === null && givenUp === null ? onLoop(jobs) : whereverItCan(jobs, isAgain)),
    { maxWaiting, maxWaitingBytes },
  );
  const borrow = async () => threads?.borrow() ?? givenUp?.then(FREE) ?? FREE();
  const borrowed = new GroupCommit<Job>(async (jobs) => {
    const giveBack = await borrow();
    try {
      return onLoop(jobs);
    } finally {
      giveBack();
    }
  });
  function hereOrBorrowed(): GroupCommit<Job> {
    return threads === null ? commits : borrowed;
  }

  async function whereverItCan(jobs: readonly Job[], isAgain: boolean) {
    try {
      // Only moves wait while there are threads.
      if (threads !== null) return await threads.commit(jobs as readonly Move[], isAgain);
    } catch (failure) {
      if (!(failure instanceof NoThread)) throw failure;
    }
    await givenUp;
    return onLoop(jobs);
  }

  function whyNot(): string | null {
    if (connection.place() === 'log gone') return logGone(file);
    try {
      return isAdopted ? whyNoSecondConnection(source.database) : whyNoSecondReader(connection.database());
    } catch (failure) {
      if (isAdopted && isConnectionFault(failure)) return null; // the application is reading just now
      throw failure;
    }
  }

  function unusable(cause: unknown): void {
    // They may run, and have the file open until they have ended.
    givenUp = threads?.close().finally(() => (givenUp = null)) ?? null;
    threads = null;
    connection.leaveCheckpoints(false);
    warn(cause, 'the inbox runs without its thread, so disk writes block the event loop');
  }

  function noOperators(cause: unknown): void {
    warn(cause, 'operator searches run without their thread, so they block the event loop');
  }

  function warn(cause: unknown, message: string): void {
    inOwnContext(() => logger.warn({ cause: messageOf(cause), file }, message));
  }

  function isAlone(goneBecause: string): boolean {
    if (threads !== null) unusable(goneBecause);
    return givenUp === null;
  }

  function move<Name extends MoveName>(name: Name, ...given: MoveGiven<Name>): Promise<MoveResult<Name>> {
    return commits.submitMove({ name, given }) as Promise<MoveResult<Name>>; // what the move of that name returns
  }

  async function read<Name extends ReadName>(name: Name, ...given: ReadGiven<Name>): Promise<ReadResult<Name>> {
    try {
      if (threads !== null) return (await threads.read(name, given)) as ReadResult<Name>;
    } catch (failure) {
      if (!(failure instanceof NoThread)) throw failure;
    }
    await givenUp;
    return runRead(connection.statements(), name, given) as ReadResult<Name>;
  }

  async function stop(): Promise<void> {
    await Promise.all([commits.close(), borrowed.close()]);
    await (givenUp ?? threads?.close());
    connection.close();
  }

  /** how far each processor of this process has come with what waits */
  const sweeps = new Map<string, Sweep>();
  const claims = new UnconfirmedClaims({ bits: 32 });
  const settlements = new UnconfirmedSettlements();
  const operations = threads?.operations ?? here;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= stop());

  return {
    ...(!inMemory && { file }),
    operations,
    async accept(event, deadline, start) {
      const bytes = event.body.byteLength + OVERHEAD_BYTES;
      const accepted = (...given: MoveGiven<'accept'>) =>
        commits.submit({ name: 'accept', given }, bytes, deadline) as Promise<MoveResult<'accept'>>;
      const acceptance = await (start === undefined
        ? accepted(event)
        : claims.start(start, (numbered) =>
            numbered === undefined ? accepted(event) : accepted(event, numbered, wallTime()),
          ));
      const isWaiting = acceptance.result === 'stored' && acceptance.started === undefined;
      if (isWaiting || acceptance.replaced) notify();
      return acceptance;
    },
    async get(key) {
      const event = await read('get', key);
      return event === null ? null : withBuffers(event);
    },
    async list({ after = 0, limit = 100 } = {}) {
      return (await read('list', after, limit)).map(withBuffers);
    },
    async claim(request, limit, tell = () => {}) {
      const askedAt = wallTime();
      let newestSeq: ClaimProgress['newestSeq'] = null;
      for (;;) {
        const { step, crashed, ...progress } = await claims.claim(request, (numbered) =>
          move('claim', numbered, limit, newestSeq, askedAt),
        );
        tell(crashed);
        if (step !== 'more') return step;
        ({ newestSeq } = progress);
      }
    },
    async claimOne(key, request, tell = () => {}) {
      const askedAt = wallTime();
      for (;;) {
        const { step, crashed } = await claims.claim(request, (numbered) => move('claimOne', key, numbered, askedAt));
        tell(crashed);
        if (step !== 'more') return step;
      }
    },
    async renew(leases, now, leaseMs, isClosing = false) {
      const held = await move('renew', leases, now, leaseMs, isClosing, wallTime());
      // A thread answers with copies, and whoever asks tells its leases by what they are.
      return leases.filter((lease) => held.some(({ seq, fence }) => seq === lease.seq && fence === lease.fence));
    },
    settle: (lease, settlement, now) =>
      settlements.settle(lease, (again) => move('settle', lease, settlement, now, again, wallTime())),
    transaction: (lease, work, attempt) => effectTransaction(connection, lease, work, attempt, borrow),
    async announce(scope, now, ignoreBefore, processor) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const { sweep, ignored, more } = await move('announce', scope, now, ignoreBefore, from, processor, wallTime());
      sweeps.set(whose, sweep);
      return { ignored, more };
    },
    leave: (processor) => move('leave', processor),
    processors: (now) => read('processors', now),
    async rerun(key, content, now, readFrom) {
      const moved = await move('rerun', key, content, now, readFrom, wallTime());
      if (moved) notify();
      return moved;
    },
    prune: (endpoints, processedBefore, limit) => move('prune', endpoints, processedBefore, limit),
    nextDue: (scope) => read('nextDue', scope),
    unhandled: (now, handledSince) => read('unhandled', now, handledSince),
    ignoredSince: (scope, since, now) => read('ignoredSince', scope, since, now),
    attempts: (key) => read('attempts', key),
    upkeep: (how) => runUpkeep(operations, how),
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const NO_TEMPORARY_FILES =
  'SQLite cannot create temporary files here, and your connection keeps temporary data in files, so some queries ' +
  'fail. Run PRAGMA temp_store = MEMORY on that connection';

/** What is committed on this thread: a move, or whatever an operator's function does. */
type Job = Move | Work<Statements>;

function workOf(job: Job): Work<Statements> {
  return typeof job === 'function' ? job : (statements) => runMove(statements, job);
}

/** As better-sqlite3 gives bytes, also where they came from another thread. */
function withBuffers(event: StoredEvent): StoredEvent {
  const { body, conflict } = event;
  return {
    ...event,
    body: body === null ? null : bufferOf(body),
    conflict: conflict === null ? null : { ...conflict, body: bufferOf(conflict.body) },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

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
   * `true` allows hosts that do not keep their disk, such as AWS Lambda. `true` also allows a `database` in memory, for
   * tests. In both cases, stored events are eventually lost.
   *
   * @defaultValue `false`
   */
  readonly ephemeral?: boolean;
  /**
   * By default, the inbox writes in a separate thread, so the disk does not block your server. With `false`, the inbox
   * writes on the event loop and blocks it during each commit. If the thread cannot start, the inbox writes on the
   * event loop.
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

const OPTIONS: KnownOptions<SqliteInboxOptions> = {
  maxWaiting: true,
  maxWaitingBytes: true,
  ephemeral: 'boolean',
  thread: 'boolean',
  logger: true,
};
const SOURCES = { database: true } as const;
const SECOND = 'Pass options as the second argument: sqliteInbox({ database }, { thread: false }).';

/**
 * Refuses what `sqliteInbox` cannot be given.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
function assertGiven(source: unknown, options: unknown): void {
  assertAlone('sqliteInbox', source, SOURCES, OPTIONS, SECOND);
  assertOptions('sqliteInbox', options, OPTIONS, SECOND);
  assertSource(source);
}

/** What tells a connection of better-sqlite3 from those of other libraries. */
const METHODS = ['prepare', 'exec', 'pragma', 'close'] as const satisfies readonly (keyof SqliteDatabase)[];

/** What is neither a path nor a connection is not quoted: it may be a URL with a password in it. */
function assertSource(source: unknown): void {
  if (typeof source === 'string') {
    if (isPostgresUrl(source)) {
      throw refusal('This is a Postgres URL: pass it to postgresInbox of hookbox/postgres.');
    }
    const why = whyNoPath(source);
    if (why !== null) throw refusal(why);
    return;
  }
  if (typeof source !== 'object' || source === null) {
    throw refusal(`Its first argument is ${kindOf(source)}. Is HOOKBOX_DB set?`);
  }
  if (!('database' in source)) {
    const isConnection = 'prepare' in source;
    throw refusal(
      isConnection ? 'Wrap the connection in an object: { database }.' : 'The object has no property database.',
    );
  }
  const { database } = source;
  if (typeof database === 'string') throw refusal('Pass a path directly, not as { database }.');
  const missing = METHODS.find((method) => !isFunction(database, method));
  if (missing === undefined) return;
  const what = typeof database === 'object' && database !== null ? `it has no ${missing}()` : kindOf(database);
  throw refusal(`database must be a connection of better-sqlite3 (${what}).`);
}

function isFunction(database: unknown, method: string): boolean {
  return typeof database === 'object' && database !== null && typeof Reflect.get(database, method) === 'function';
}

function refusal(why: string): ConfigurationError {
  return new ConfigurationError(
    'INVALID_OPTION',
    `sqliteInbox needs the path of a file, or { database } with an open connection of better-sqlite3. ${why}`,
  );
}
