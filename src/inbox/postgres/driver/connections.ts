import { InboxOpenError, isError } from '../../../errors.ts';
import { ownContext } from '../../../host/own-context.ts';
import type { PostgresConnection, PostgresPool } from './client.ts';

/** Where connections come from. */
export interface Connections {
  /** Bounds how many handlers hold at once, so that some are left for deliveries, renewals and the ends of attempts. */
  readonly share: LentShare;
  take(): Promise<PostgresConnection>;
  /** @param isBroken - nothing more is asked of it */
  giveBack(connection: PostgresConnection, isBroken: boolean): void;
  /** Whether a caller waits for a connection because the pool has no free one. */
  isWaitedFor(): boolean;
  /** Lets go of what was opened here. */
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

/** Of an inbox that opens its own: as many as ten handlers with a transaction each need, and two for what else is asked. */
const MOST_CONNECTIONS = 12;
/** Of a pool that does not say how many it has: as many as one of `pg` has unless told otherwise. */
const USUAL_CONNECTIONS = 10;
/** So many are kept from handlers: one that receives, and one that renews leases or ends attempts. */
const KEPT = 2;
export const CONNECT_MS = 10_000;
/** After so long without a word the system asks whether the other side is there: whoever asks for nothing finds out by that. */
export const ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 };

export function connectionsOf(source: PostgresSource): Connections {
  const connect = connecting(source);
  /** Of sockets, which call back in the context that has opened them and serve everybody. */
  const inOwnContext = ownContext();
  const listeners = new WeakMap<PostgresConnection, (failure: Error) => void>();
  return {
    share: shareOf(source),
    isWaitedFor: () => connect.isWaitedFor(),
    async take() {
      const connection = await inOwnContext(() => connect.open());
      // Postgres ends connections when it restarts; one that nobody listens to would end the process.
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
      // A pool listens to what it has; one that is thrown away may fail once more while it ends.
      if (listener !== undefined && !isBroken) connection.removeListener('error', listener);
      connection.release(isBroken);
    },
    close: () => connect.close(),
  };
}

interface Connecting {
  open(): Promise<PostgresConnection>;
  isWaitedFor(): boolean;
  close(): Promise<void>;
}

function connecting(source: PostgresSource): Connecting {
  if (typeof source === 'string') return ownPool(source);
  if (!('pool' in source)) return { open: () => source.connect(), isWaitedFor: () => false, close: async () => {} };
  const { pool } = source;
  listenToClients(pool);
  return { open: () => pool.connect(), isWaitedFor: () => isWaitedFor(pool), close: async () => {} };
}

const listenedTo = new WeakSet<object>();

/**
 * Postgres may end a connection in the very packet in which it says that the connection is ready. The pool has taken its own
 * listener away by then, and the caller has not received the client yet. So each client gets a listener before that.
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

function isWaitedFor(pool: object): boolean {
  const waiting: unknown = Reflect.get(pool, 'waitingCount');
  return typeof waiting === 'number' && waiting > 0;
}

const shares = new WeakMap<object, LentShare>();

/** Inboxes on one pool have one share of it. Where each use opens its own connection, only the server limits their number. */
function shareOf(source: PostgresSource): LentShare {
  if (typeof source === 'string') return new LentShare(() => MOST_CONNECTIONS - KEPT);
  if (!('pool' in source)) return new LentShare(() => Infinity);
  const { pool } = source;
  let share = shares.get(pool);
  if (share === undefined) shares.set(pool, (share = new LentShare(() => Math.max(1, sizeOf(pool) - KEPT))));
  return share;
}

function sizeOf(pool: object): number {
  const options: unknown = Reflect.get(pool, 'options');
  const max: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'max') : undefined;
  return typeof max === 'number' && max > 0 ? max : USUAL_CONNECTIONS;
}

/** `pg` is loaded when it is first needed: who gives a pool may have another copy. */
function ownPool(url: string): Connecting {
  let opened: Promise<PostgresPool & { end(): Promise<void> }> | undefined;
  const open = async (): Promise<PostgresPool & { end(): Promise<void> }> => {
    const { Pool } = await driver();
    const settings = { connectionString: url, max: MOST_CONNECTIONS, connectionTimeoutMillis: CONNECT_MS, ...ALIVE };
    // One that serves nobody keeps no process alive.
    const pool = new Pool({ ...settings, pipeline: true, allowExitOnIdle: true });
    // Idle connections fail when Postgres restarts; the pool drops them by itself.
    pool.on('error', () => {});
    listenToClients(pool);
    return pool;
  };
  return {
    async open() {
      opened ??= open();
      return (await opened).connect();
    },
    isWaitedFor: () => false, // only hookbox takes connections from it
    async close() {
      const pool = await opened?.catch(() => undefined); // what failed to open has nothing to close
      await pool?.end();
    },
  };
}

type OwnPool = PostgresPool & {
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
};

/** A connection that hears of notifications. */
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

/** This file, unless hookbox was made part of another one. */
const OWN_NAME = /\/driver\/connections\.[jt]s$/;

/**
 * Looks whether `pg` is installed, without loading it, so that a server that lacks it does not start. A bundle may hold it, and
 * have been moved since it was made: only where this file lies in its package does what is not found count.
 *
 * @throws InboxOpenError
 */
export function assertDriver(here = import.meta.url): void {
  let why: unknown;
  try {
    // Asked for here, as runtimes that lack them are given connections.
    const { existsSync } = process.getBuiltinModule('node:fs');
    const { createRequire } = process.getBuiltinModule('node:module');
    if (OWN_NAME.test(here) && existsSync(new URL(here))) createRequire(here).resolve('pg');
  } catch (failure) {
    why = failure;
  }
  if (isError(why) && Reflect.get(why, 'code') === 'MODULE_NOT_FOUND') throw missing();
}

/** How many connections handlers may hold at once. Who comes first is served first. */
export class LentShare {
  readonly #most: () => number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param most - asked each time, as a pool may be resized */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** How many handlers can hold a connection at once. */
  get size(): number {
    return this.#most();
  }

  /**
   * Waits until the share has room for one more.
   *
   * @param signal - gives up waiting
   * @returns gives the place back
   */
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

  /** Gives the place to the caller that has waited longest. */
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
