import { ConfigurationError } from '../../../errors.ts';
import { whyNoPath } from '../../../host/files.ts';
import { isPostgresUrl } from '../../../host/postgres-url.ts';
import type { Logger } from '../../../host/logger.ts';
import { assertAlone, assertOptions, kindOf, type KnownOptions } from '../../../known-options.ts';
import type { SqliteDatabase } from './database.ts';

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
export function assertGiven(source: unknown, options: unknown): void {
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
