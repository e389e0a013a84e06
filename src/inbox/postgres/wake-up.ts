import { createHash, randomUUID } from 'node:crypto';
import { ownContext } from '../../host/own-context.ts';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { unrefTimer } from '../../host/unref-timer.ts';
import type { Database } from './driver/database.ts';
import { ALIVE, CONNECT_MS, driver, type ListeningClient } from './driver/connections.ts';

/** NOTIFY locks all commits of the server, so a process sends it rarely. */
const EVERY_MS = 50;
/** A notification that takes longer was lost in a pooler. */
const ECHO_MS = 3_000;
/** Random, so that not all machines reconnect at once. */
const AGAIN_MS = 5_000;
const DEAF_MS = { first: 1_000, most: 600_000 };

/** May fail, because all machines check once a second in any case. */
export class WakeUp {
  readonly #database: Database;
  readonly #url: string;
  readonly #channel: string;
  readonly #own = randomUUID();
  readonly #wake: () => void;
  readonly #inOwnContext = ownContext();
  #sending: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #listening: ListeningClient | undefined;
  #echo: ((isThere: boolean) => void) | undefined;
  #missed = 0;
  #isReported = false;
  #isStarted = false;
  #isClosed = false;

  constructor(database: Database, url: string, schema: string, wake: () => void) {
    this.#database = database;
    this.#url = url;
    // Postgres cuts names to 63 bytes.
    this.#channel = `hookbox_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
    this.#wake = wake;
  }

  tell(): void {
    if (this.#isClosed || this.#sending !== undefined) return;
    const send = (): void => {
      this.#sending = undefined;
      void this.#send(this.#own);
    };
    this.#sending = this.#inOwnContext(() => unrefTimer(setTimeout(send, EVERY_MS * Math.random())));
  }

  listen(): void {
    if (this.#isStarted || this.#isClosed) return;
    this.#isStarted = true;
    void this.#inOwnContext(() => this.#connect());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sending);
    clearTimeout(this.#again);
    this.#echo?.(false);
    await this.#listening?.end().catch(() => {}); // it may have ended by itself
  }

  async #connect(): Promise<void> {
    let client: ListeningClient | undefined;
    try {
      const { Client } = await driver();
      client = new Client({ connectionString: this.#url, connectionTimeoutMillis: CONNECT_MS, ...ALIVE });
      client.on('error', () => this.#lost(client));
      client.on('end', () => this.#lost(client));
      client.on('notification', ({ payload }) => this.#notified(payload ?? ''));
      this.#listening = client;
      await client.connect();
      client.unref?.();
      await client.query({ text: `LISTEN ${this.#channel}` });
      if (await this.#echoes()) {
        this.#missed = 0;
        this.#isReported = false;
        return;
      }
      this.#missed += 1;
      this.#lost(client, Math.min(DEAF_MS.first * 2 ** (this.#missed - 1), DEAF_MS.most));
      await client.end();
    } catch {
      this.#lost(client);
      // After a standby has rejected LISTEN, the connection is still open.
      await client?.end().catch(() => {}); // it may have ended by itself
    }
  }

  problem(): { readonly what: string; readonly advice: string } | null {
    if (this.#isReported || this.#missed === 0) return null;
    this.#isReported = true;
    return DEAF;
  }

  /** Behind a pooler, LISTEN may succeed without effect. */
  async #echoes(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#echo = resolve;
    const timeout = unrefTimer(setTimeout(() => resolve(false), ECHO_MS));
    await this.#send(`${this.#own} echo`);
    const isThere = await promise;
    clearTimeout(timeout);
    this.#echo = undefined;
    return isThere;
  }

  #notified(payload: string): void {
    if (payload === `${this.#own} echo`) this.#echo?.(true);
    else if (payload !== this.#own && !payload.endsWith(' echo') && !this.#isClosed) this.#wake();
  }

  #lost(client: ListeningClient | undefined, againMs = AGAIN_MS): void {
    if (this.#listening !== client || this.#isClosed) return;
    this.#listening = undefined;
    this.#again = unrefTimer(setTimeout(() => void this.#connect(), againMs * (0.5 + Math.random())));
  }

  async #send(payload: string): Promise<void> {
    try {
      await this.#database.alone(async (session) => {
        await session.exec('BEGIN; SET LOCAL synchronous_commit = off');
        await session.rows('SELECT pg_notify($1, $2)', [this.#channel, payload]);
        await session.exec('COMMIT');
      });
    } catch {}
  }
}

const DEAF = {
  what:
    'LISTEN/NOTIFY does not work on this connection: a test NOTIFY did not arrive. The process looks for new events ' +
    'once a second, and keeps trying LISTEN.',
  advice: 'Behind a pooler, set `listen` to a direct URL, or to false.',
} as const;
