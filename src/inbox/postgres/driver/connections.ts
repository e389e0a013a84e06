import { InboxOpenError, isError } from '../../../errors.ts';
import { ownContext } from '../../../host/own-context.ts';

export interface Connections {
  /** The share of handlers, which leaves connections for deliveries, renewals and settlements. */
  readonly share: LentShare;
  take(): Promise<PostgresConnection>;
  giveBack(connection: PostgresConnection, isBroken: boolean): void;
  /** Whether a caller waits for a connection because the pool has no free one. */
  isWaitedFor(): boolean;
  close(): Promise<void>;
}

/**
 * A URL, your own pool, or a function that opens one connection. Use the function on hosts where each request needs its
 *  own connection.
 */
export type PostgresSource<Connection extends PostgresConnection = PostgresConnection> =
  | string
  | { readonly pool: PostgresPool<Connection> }
  | { readonly connect: () => Promise<Connection> };

/** Ten handlers with a transaction each, and two others. */
const MOST_CONNECTIONS = 12;
/** The default of `pg`. */
const USUAL_CONNECTIONS = 10;
/** One for deliveries, and one for renewals and settlements. */
const KEPT = 2;
export const CONNECT_MS = 10_000;
/** Detects that the other end of an idle connection is gone. */
export const ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 };

export function connectionsOf(source: PostgresSource): Connections {
  const { open, ...connections } = openerOf(source);
  /** Sockets call back in the context that opened them. */
  const inOwnContext = ownContext();
  const listeners = new WeakMap<PostgresConnection, (failure: Error) => void>();
  return {
    ...connections,
    async take() {
      const connection = await inOwnContext(open);
      // An error without a listener would end the process, for example when Postgres restarts.
      const listener = (): void => {};
      listeners.set(connection, listener);
      connection.on('error', listener);
      return connection;
    },
    giveBack(connection, isBroken) {
      if (connection.release === undefined) {
        connection.end?.().catch(() => {}); // it may have ended by itself
        return;
      }
      const listener = listeners.get(connection);
      // A destroyed connection may fail once more before it ends; the pool listens to the others.
      if (listener !== undefined && !isBroken) connection.removeListener('error', listener);
      connection.release(isBroken);
    },
  };
}

interface Opener extends Pick<Connections, 'share' | 'isWaitedFor' | 'close'> {
  readonly open: () => Promise<PostgresConnection>;
}

/** Inboxes on one pool share its connections. */
const shares = new WeakMap<object, LentShare>();

function openerOf(source: PostgresSource): Opener {
  if (typeof source === 'string') return ownPool(source);
  const close = async (): Promise<void> => {};
  if (!('pool' in source)) {
    // Only the server limits the number of connections.
    return { open: () => source.connect(), share: new LentShare(() => Infinity), isWaitedFor: () => false, close };
  }
  const { pool } = source;
  listenToClients(pool);
  const share = shares.get(pool) ?? new LentShare(() => Math.max(1, sizeOf(pool) - KEPT));
  shares.set(pool, share);
  return { open: () => pool.connect(), share, isWaitedFor: () => Number(Reflect.get(pool, 'waitingCount')) > 0, close };
}

const listenedTo = new WeakSet<object>();

/**
 * Postgres may end a connection in the packet that says it is ready. The pool has then removed its listener, and the
 * caller does not have the client yet.
 */
function listenToClients(pool: object): void {
  const on: unknown = Reflect.get(pool, 'on');
  if (typeof on !== 'function' || listenedTo.has(pool)) return;
  listenedTo.add(pool);
  Reflect.apply(on, pool, [
    'acquire',
    (client: PostgresConnection) => {
      if (listenedTo.has(client)) return;
      listenedTo.add(client);
      client.on('error', () => {});
    },
  ]);
}

function sizeOf(pool: object): number {
  const options: unknown = Reflect.get(pool, 'options');
  const max: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'max') : undefined;
  return typeof max === 'number' && max > 0 ? max : USUAL_CONNECTIONS;
}

/** Only here, because the pool of an application may come from another copy of `pg`. */
function ownPool(url: string): Opener {
  let opened: Promise<OwnPool> | undefined;
  const openPool = async (): Promise<OwnPool> => {
    const { Pool } = await driver();
    const settings = { connectionString: url, max: MOST_CONNECTIONS, connectionTimeoutMillis: CONNECT_MS, ...ALIVE };
    const pool = new Pool({ ...settings, pipeline: true, allowExitOnIdle: true });
    // Idle connections fail when Postgres restarts; the pool drops them by itself.
    pool.on('error', () => {});
    listenToClients(pool);
    return pool;
  };
  return {
    async open() {
      opened ??= openPool();
      return (await opened).connect();
    },
    share: new LentShare(() => MOST_CONNECTIONS - KEPT),
    isWaitedFor: () => false, // only hookbox takes connections from it
    async close() {
      const pool = await opened?.catch(() => undefined); // a pool that failed to open has nothing to close
      await pool?.end();
    },
  };
}

type OwnPool = PostgresPool & {
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
};

export interface ListeningClient {
  connect(): Promise<unknown>;
  query(query: { readonly text: string }): Promise<unknown>;
  end(): Promise<void>;
  unref?(): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
}

interface Driver {
  readonly Pool: new (settings: Readonly<Record<string, unknown>>) => OwnPool;
  readonly Client: new (settings: Readonly<Record<string, unknown>>) => ListeningClient;
}

export async function driver(): Promise<Driver> {
  try {
    const { default: pg } = await import('pg');
    return pg;
  } catch {
    throw missing();
  }
}

function missing(): InboxOpenError {
  return new InboxOpenError('CANNOT_OPEN', 'hookbox/postgres needs the package pg. Run: npm install pg');
}

/** This file, unless hookbox is part of a bundle. */
const OWN_NAME = /\/driver\/connections\.[jt]s$/;

/** Throws at start if `pg` is not installed. A bundle may contain `pg`, so a bundle skips this check. */
export function assertDriver(here = import.meta.url): void {
  let why: unknown;
  try {
    // Some runtimes lack these modules.
    const { existsSync } = process.getBuiltinModule('node:fs');
    const { createRequire } = process.getBuiltinModule('node:module');
    if (OWN_NAME.test(here) && existsSync(new URL(here))) createRequire(here).resolve('pg');
  } catch (failure) {
    why = failure;
  }
  if (isError(why) && Reflect.get(why, 'code') === 'MODULE_NOT_FOUND') throw missing();
}

export class LentShare {
  readonly #most: () => number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param most - called each time, because a pool may be resized */
  constructor(most: () => number) {
    this.#most = most;
  }

  get size(): number {
    return this.#most();
  }

  /** Waits until the signal is aborted. Returns a function that gives the place back. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#taken >= this.#most()) await this.#turn(signal);
    else this.#taken += 1;
    return () => this.#leave();
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = (): void => {
      this.#waiting.delete(turn);
      reject(signal.reason as Error);
    };
    const turn = (): void => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#waiting.add(turn);
    return promise;
  }

  /** The caller that has waited longest gets the place. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#taken > this.#most()) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** The part of a `pg` connection that hookbox uses. Any version with it fits. */
interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
}

/** A connection from a pool, or one that your `connect` function opened. */
export interface PostgresConnection extends PostgresClient {
  /** `true` if the connection accepts a query before it has answered earlier queries. */
  readonly pipeline?: boolean;
  /**
   * Returns `T` in a transaction, `E` in a failed transaction, and `I` outside a transaction. Absent in older versions
   * of `pg`.
   */
  getTransactionStatus?(): string | null;
  on(event: 'error', listener: (failure: Error) => void): unknown;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  removeListener(event: 'error', listener: (failure: Error) => void): unknown;
  removeListener(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  /** Returns the connection to its pool or, with `true`, destroys it. */
  release?(destroy?: boolean): void;
  /** Closes a connection that belongs to no pool. */
  end?(): Promise<void>;
}

/** A notice from Postgres. */
export interface PostgresNotice {
  readonly message?: string | undefined;
  /** The SQLSTATE of the notice. */
  readonly code?: string | undefined;
}

/** The part of a `pg` pool that hookbox uses. */
export interface PostgresPool<Connection extends PostgresConnection = PostgresConnection> {
  /** Takes a connection from the pool. */
  connect(): Promise<Connection>;
  /**
   * The same signature again. A `pg` pool declares two, and TypeScript infers `Connection` correctly only if there are
   * two here as well.
   */
  connect(): Promise<Connection>;
}

/** A query in the form that `pg` accepts. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** The name of the prepared statement, on connections that support it. */
  readonly name?: string;
  /** The time after which an unanswered query fails, in milliseconds. */
  readonly query_timeout?: number;
  /** How columns are parsed, regardless of your own `pg` settings. */
  readonly types?: { getTypeParser(oid: number): (text: string) => unknown };
}

/** The result of a query. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
  /** The columns of a row. */
  readonly fields?: readonly { readonly name: string }[];
  readonly rowCount: number | null;
  /** The command that Postgres reports. This is `ROLLBACK` for the `COMMIT` of a failed transaction. */
  readonly command: string;
}
