import { delay, performance } from '../../../host/real-timers.ts';
import { CLOCK, type ServerClock } from '../database-time.ts';
import type { PostgresNotice } from './connections.ts';
import { DatabaseFailure, DENIED } from './faults.ts';
import type { Session, Sessions } from './session.ts';

/** A process that is suspended during a transaction must not keep its locks. */
export const IDLE_TIMEOUT = `SET LOCAL idle_in_transaction_session_timeout = '15s'`;

/** Turns durable commits on, but does not lower a setting that waits for standbys. Returns no row. */
export const SYNCED = `SELECT WHERE CASE current_setting('synchronous_commit')
  WHEN 'off' THEN set_config('synchronous_commit', 'on', true) IS NULL ELSE false END`;

/** Planning anew for each list of values takes longer than the statement. */
export const KNOWN_PLANS = 'SET LOCAL plan_cache_mode = force_generic_plan';

/** Lists may hold NULL, and texts are in UTF-8. */
export const VALUES = "SET LOCAL array_nulls = on; SET LOCAL client_encoding = 'UTF8'";

/**
 * Overrides the settings of the session, which a pooler may change at any time, the role and the database. Each
 * statement uses an index, whatever the statistics say.
 */
export const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  ...['seqscan', 'bitmapscan'].map((way) => `SET LOCAL enable_${way} = off`),
  ...['indexscan', 'indexonlyscan', 'nestloop'].map((way) => `SET LOCAL enable_${way} = on`),
  KNOWN_PLANS,
  'SET LOCAL jit = off',
  'SET LOCAL search_path = pg_catalog, pg_temp',
  'SET LOCAL client_min_messages = warning',
  VALUES,
  IDLE_TIMEOUT,
  SYNCED,
].join('; ');

const MOST_AGAIN = 25;
const AGAIN_MS = 3;
const MOST_LOST = 2;
const LOST_MS = 100;

/** A transaction, which may run again after a rollback. */
export interface TransactionRequest<T> {
  readonly before?: (session: Session) => Promise<void>;
  readonly work: (session: Session) => Promise<T>;
  /**
   * Finds out whether the transaction was committed, if COMMIT got no response. Runs in a new transaction, which waits
   * for the rows of the old one.
   */
  readonly wasDone?: (session: Session) => Promise<{ readonly result: T } | undefined>;
}

export class Database {
  readonly #sessions: Sessions;
  readonly #answerMs: number;
  readonly #clock: ServerClock | undefined;
  readonly #signal: AbortSignal | undefined;

  /** @param signal - once aborted, no transaction begins */
  constructor(sessions: Sessions, answerMs: number, clock?: ServerClock, signal?: AbortSignal) {
    this.#sessions = sessions;
    this.#answerMs = answerMs;
    this.#clock = clock;
    this.#signal = signal;
  }

  waiting(answerMs: number): Database {
    return new Database(this.#sessions, answerMs, this.#clock, this.#signal);
  }

  /** Once aborted, it throws the signal's reason before the next transaction. */
  until(signal: AbortSignal | undefined): Database {
    return signal === undefined ? this : new Database(this.#sessions, this.#answerMs, this.#clock, signal);
  }

  /**
   * @throws InboxOpenError if the inbox cannot be used; the message says what to change
   * @throws DatabaseFailure if the transaction was not committed
   */
  transaction<T>({ before, work, wasDone }: TransactionRequest<T>): Promise<T> {
    let isUnsure = false;
    return this.alone(async (session) => {
      await before?.(session);
      await this.#begin(session);
      if (isUnsure) {
        const done = await wasDone?.(session);
        if (done !== undefined) {
          await session.exec('COMMIT');
          return done.result;
        }
        isUnsure = false;
      }
      const result = await work(session);
      isUnsure = true;
      await committed(session);
      return result;
    });
  }

  async #begin(session: Session): Promise<void> {
    const requestedAt = performance.now();
    const [time] = await session.inOneMessage<{ ms: unknown }>(this.#clock === undefined ? [BEGIN] : [BEGIN, CLOCK]);
    if (time !== undefined) this.#clock?.observe(Number(time.ms), requestedAt, performance.now());
  }

  /** With the settings of `transaction`. */
  read<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.alone(async (session) => {
      // If BEGIN fails, the connection still has to answer the statements of `work`.
      const [begun, read] = await Promise.allSettled([session.exec(BEGIN), work(session)]);
      if (begun.status === 'rejected') throw begun.reason;
      if (read.status === 'rejected') throw read.reason;
      await session.exec('COMMIT');
      return read.value;
    });
  }

  /** Each statement is its own transaction. Runs again after a lost connection. */
  async alone<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let lost = 0;
    for (let again = 0; ; again += 1) {
      try {
        return await this.#once(work);
      } catch (failure) {
        if (!(failure instanceof DatabaseFailure) || failure.fault === 'refused') throw failure;
        if (failure.fault === 'lost') {
          lost += 1;
          this.#clock?.lost();
        }
        if (lost > MOST_LOST || again === MOST_AGAIN) throw failure;
        await delay(Math.random() * (failure.fault === 'lost' ? LOST_MS : AGAIN_MS * again));
      }
    }
  }

  async #once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#sessions.take(this.#answerMs, this.#signal);
    let isBroken = false;
    try {
      return await work(session);
    } catch (failure) {
      const { fault, code } = failure instanceof DatabaseFailure ? failure : { fault: 'refused', code: null };
      // Another user of the pool may have set another role on the connection.
      isBroken = fault === 'lost' || code === DENIED || !(await rolledBack(session));
      throw failure;
    } finally {
      this.#sessions.giveBack(session, isBroken);
    }
  }

  /**
   * The caller ends its own transaction.
   *
   * @param use - calls `spoil` to prevent further use of the connection
   * @param signal - ends the wait for the share
   */
  async lend<T>(use: (session: Session, spoil: () => void) => Promise<T>, signal: AbortSignal): Promise<T> {
    const leave = await this.#sessions.connections.share.take(signal);
    try {
      return await this.#lent(use);
    } finally {
      leave();
    }
  }

  async #lent<T>(use: (session: Session, spoil: () => void) => Promise<T>): Promise<T> {
    const session = await this.#sessions.take(this.#answerMs);
    let isSpoiled = false;
    const spoil = (): void => {
      isSpoiled = true;
    };
    try {
      return await use(session, spoil);
    } catch (failure) {
      spoil();
      this.#clock?.lost();
      throw failure;
    } finally {
      this.#sessions.giveBack(session, isSpoiled);
    }
  }

  get mostLent(): number {
    return this.#sessions.connections.share.size;
  }

  isWaitedFor(): boolean {
    return this.#sessions.connections.isWaitedFor();
  }

  close(): Promise<void> {
    return this.#sessions.connections.close();
  }
}

/** The code of a cancelled statement. */
const CANCELLED = '57014';

/**
 * Postgres answers ROLLBACK if a statement has failed, and COMMIT even outside a transaction. Without a transaction
 * status, `pg` is trusted, because a check would need a round trip.
 *
 * If the wait of COMMIT for a standby is cancelled, COMMIT succeeds with a warning, and a fail-over loses its writes.
 * So this counts as a lost response too: the repeated transaction waits for the standby.
 */
export async function committed(session: Session): Promise<void> {
  const { connection } = session;
  if (connection.getTransactionStatus?.() === 'I') throw new DatabaseFailure(new Error('no transaction'));
  let warning: PostgresNotice | undefined;
  const listener = (notice: PostgresNotice): void => {
    if (notice.code?.startsWith('00') === false) warning ??= notice;
  };
  connection.on('notice', listener);
  try {
    const command = await session.exec('COMMIT');
    if (command !== 'COMMIT') throw new DatabaseFailure(Object.assign(new Error('not committed'), { code: '40000' }));
  } finally {
    connection.removeListener('notice', listener);
  }
  if (warning === undefined) return;
  throw new DatabaseFailure(Object.assign(new Error(warning.message), { code: CANCELLED }));
}

async function rolledBack(session: Session): Promise<boolean> {
  try {
    await session.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

const UNSURE_MS = 10_000;
const LOOK_MS = 50;

/**
 * A transaction that must not run twice. Postgres can tell by its id whether it is committed.
 *
 * @param whileRunning - the result if Postgres is still running it after ten seconds; without it, this throws
 */
export function doneOnce<T>(
  database: Database,
  { before, work }: Omit<TransactionRequest<T>, 'wasDone'>,
  whileRunning?: { readonly result: T },
): Promise<T> {
  let tried: { readonly id: string; readonly result: T } | undefined;
  return database.transaction({
    ...(before !== undefined && { before }),
    async work(session) {
      tried = undefined;
      const result = await work(session);
      const row = await session.row<{ id: string | null }>('SELECT pg_current_xact_id_if_assigned()::text AS id');
      // A transaction without an id has written no rows, and may run again.
      const id = row?.id ?? null;
      if (id !== null) tried = { id, result };
      return result;
    },
    async wasDone(session) {
      if (tried === undefined) return undefined;
      const end = await endOf(session, tried.id);
      if (end === 'in progress' && whileRunning === undefined) {
        throw new DatabaseFailure(new Error('a transaction is still running'));
      }
      return end === 'committed' ? { result: tried.result } : end === 'in progress' ? whileRunning : undefined;
    },
  });
}

/**
 * Returns `committed`, `aborted`, or `null` if that was long ago. After a fail-over, the server may not know the id;
 * such an id is later than its own.
 */
export async function endOf(session: Session, id: string): Promise<string | null> {
  for (const until = performance.now() + UNSURE_MS; ; await delay(LOOK_MS)) {
    const row = await session.row<{ status: string | null }>(
      `SELECT CASE WHEN $1::xid8 < pg_current_xact_id() THEN pg_xact_status($1::xid8) ELSE 'aborted' END AS status`,
      [id],
    );
    const status = row?.status ?? null;
    if (status !== 'in progress' || performance.now() > until) return status;
  }
}
