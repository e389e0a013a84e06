/**
 * An inbox that stores events in Postgres.
 *
 * @module
 */
import { ConfigurationError } from '../../errors.ts';
import { isPostgresUrl, USUAL_SCHEMA } from '../../host/postgres-url.ts';
import { assertOptions, assertAlone, kindOf, positive, oneOf, type RulesFor } from '../../option-rules.ts';
import type { Inbox } from '../contract.ts';
import { databaseTime } from './database-time.ts';
import { type PostgresConnection, assertDriver, type PostgresSource } from './driver/connections.ts';
import { inboxOnPostgres } from './inbox-on-postgres.ts';
import { assertSchema } from './sql/tables.ts';

export type { PostgresConnection, PostgresPool, PostgresQuery, PostgresResult } from './driver/connections.ts';
export type { PostgresSource } from './driver/connections.ts';

/** The options of {@link postgresInbox}. */
export interface PostgresInboxOptions {
  /**
   * The Postgres schema of the inbox. The inbox creates this schema if it is missing.
   *
   * @defaultValue `'hookbox'`
   */
  readonly schema?: string;
  /**
   * `false` if your deployment creates and changes the tables. The inbox then rejects a missing or outdated schema.
   *
   * @defaultValue `true`
   */
  readonly migrate?: boolean;
  /**
   * `true` allows a server that may lose commits in a crash, for tests: with `fsync` or `synchronous_commit` off, or
   * with `UNLOGGED` tables. PGlite is such a server.
   *
   * @defaultValue `false`
   */
  readonly ephemeral?: boolean;
  /**
   * With `auto`, hookbox prepares its statements, and stops behind a pooler that does not support that. With `false`,
   * hookbox never prepares its statements.
   *
   * @defaultValue `'auto'`
   */
  readonly prepare?: 'auto' | false;
  /**
   * Where the inbox listens for events that other machines store: a URL that bypasses any pooler. `auto` uses the URL
   * of the inbox. With `false`, processors look for new events once a second.
   *
   * @defaultValue `'auto'`
   */
  readonly listen?: 'auto' | false | (string & {});
  /**
   * How many deliveries may wait for Postgres. Above this limit, new deliveries get a 503.
   *
   * @defaultValue 10,000
   */
  readonly maxWaiting?: number;
  /**
   * How many bytes of bodies may wait for Postgres.
   *
   * @defaultValue 67,108,864 (64 MiB)
   */
  readonly maxWaitingBytes?: number;
}

const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * Creates an inbox in Postgres, in its own schema beside your tables. Any number of processes and machines may share
 * the inbox. hookbox answers a delivery only after its event has been committed durably. The inbox needs Postgres 14 or
 * newer and the package `pg`.
 *
 * The inbox connects at its first call. If hookbox cannot open the inbox, this first call rejects with an
 * `InboxOpenError` that says what to grant or change. Possible causes are missing rights, missing tables, an old
 * server, a standby server, and a server on which `fsync` or `synchronous_commit` is off.
 *
 * @param source - a URL; or `{ pool }` with an open `pg` pool, which you close yourself; or `{ connect }`, which opens
 * one connection for each use. If `source` is `undefined`, for example because an environment variable is not set,
 * `postgresInbox` throws.
 * @throws ConfigurationError `INVALID_OPTION` for an invalid option
 * @throws InboxOpenError if `source` is a URL and `pg` is not installed
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { postgresInbox } from 'hookbox/postgres';
 *
 * const inbox = postgresInbox('postgres://shop@localhost/shop');
 * const receiver = createReceiver({ secret: 'a signing secret', inbox });
 * await receiver.close();
 * await inbox.close();
 * ```
 */
export function postgresInbox<Connection extends PostgresConnection = PostgresConnection>(
  source: PostgresSource<Connection> | undefined,
  options: PostgresInboxOptions = {},
): Inbox<Connection> {
  assertAlone('postgresInbox', source, SOURCES, OPTIONS, SECOND);
  assertOptions('postgresInbox', options, OPTIONS, SECOND);
  const { schema = USUAL_SCHEMA, migrate = true, ephemeral = false, prepare = 'auto', listen = 'auto' } = options;
  const { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  assertSchema(schema);
  assertSource(source);
  return inboxOnPostgres(source, {
    schema,
    migrates: migrate,
    ephemeral,
    prepares: prepare === 'auto',
    maxWaiting,
    maxWaitingBytes,
    time: databaseTime(),
    listenAt: listeningUrl(source, listen),
  });
}

const OPTIONS: RulesFor<PostgresInboxOptions> = {
  schema: true,
  migrate: 'boolean',
  ephemeral: 'boolean',
  prepare: oneOf('auto', false),
  listen: true,
  maxWaiting: positive(),
  maxWaitingBytes: positive(),
};

const SOURCES = { pool: true, connect: true } as const;
const SECOND = 'Pass options as the second argument: postgresInbox({ pool }, { schema }).';

function listeningUrl(source: PostgresSource, listen: 'auto' | false | (string & {})): string | null {
  if (listen === false) return null;
  if (listen !== 'auto') return assertUrl(listen, "listen must be 'auto', false, or a URL");
  return typeof source === 'string' ? source : null;
}

/** Messages do not quote the source, because a URL has a password. */
function assertSource<Source>(source: Source): asserts source is Exclude<Source, undefined> {
  if (typeof source === 'string') {
    assertUrl(source, 'Pass a URL');
    assertDriver();
    return;
  }
  const isObject = typeof source === 'object' && source !== null;
  const pool: unknown = isObject ? Reflect.get(source, 'pool') : undefined;
  const connects = isObject && typeof Reflect.get(source, 'connect') === 'function';
  const isPool = typeof pool === 'object' && pool !== null && typeof Reflect.get(pool, 'connect') === 'function';
  if (connects && pool !== undefined) throw refusal('Pass { pool } or { connect }, not both.');
  if (connects || isPool) return;
  const isNamed = isObject && 'pool' in source && pool !== undefined;
  throw refusal(
    'Pass a URL, { pool } with a pool of pg, or { connect } with a function. ' +
      (isNamed ? `pool must be a Pool from pg; ${kindOf(pool)} has no connect().` : 'Is DATABASE_URL set?'),
  );
}

function assertUrl(url: unknown, what: string): string {
  if (typeof url === 'string' && isPostgresUrl(url)) return url;
  throw refusal(`${what} starting with postgres:// or postgresql://.`);
}

function refusal(why: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', `postgresInbox: ${why}`);
}
