import { isInstance } from '../../../errors.ts';
import { delay, performance } from '../../../host/real-timers.ts';
import { CLOCK, type ServerClock } from '../database-time.ts';
import type { PostgresNotice } from './client.ts';
import { DatabaseFailure, DENIED } from './faults.ts';
import type { Session, Sessions } from './session.ts';

/** A process that is stopped half way must not keep what it has locked: everybody would leave it alone for good. */
export const IDLE_TIMEOUT = `SET LOCAL idle_in_transaction_session_timeout = '15s'`;

/**
 * What is answered is on disk, whatever somebody has left set on a connection of the pool. Nothing is lowered: one may wait for
 * standbys as well. In this way it answers with no row.
 */
export const SYNCED = `SELECT WHERE CASE current_setting('synchronous_commit')
  WHEN 'off' THEN set_config('synchronous_commit', 'on', true) IS NULL ELSE false END`;

/** Lists of values would be planned for anew each time, which takes longer than what is planned. */
export const KNOWN_PLANS = 'SET LOCAL plan_cache_mode = force_generic_plan';

/**
 * Settings by which both sides read and write values: lists may hold NULL, and texts are in UTF-8. They override the settings
 * of a role, a database or an earlier user of the session.
 */
export const VALUES = "SET LOCAL array_nulls = on; SET LOCAL client_encoding = 'UTF8'";

/** Each statement has an index to go by, and rows are looked up one by one. */
const PLANS = {
  seqscan: 'off',
  bitmapscan: 'off',
  indexscan: 'on',
  indexonlyscan: 'on',
  nestloop: 'on',
} as const;

/**
 * Settings of one transaction, so that nothing depends on the session, which a pooler may change at any time. What a role has
 * set for itself must not matter, nor whether the statistics of a table that was empty a minute ago say so still. Names of ours
 * have their schema; those of functions, types and operators are Postgres' own. A COMMIT's warnings are sent to us.
 */
export const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  ...Object.entries(PLANS).map(([way, how]) => `SET LOCAL enable_${way} = ${how}`),
  KNOWN_PLANS,
  'SET LOCAL jit = off',
  'SET LOCAL search_path = pg_catalog, pg_temp',
  'SET LOCAL client_min_messages = warning',
  VALUES,
  IDLE_TIMEOUT,
  SYNCED,
].join('; ');

const OTHER_FAILURE = { fault: 'refused', code: null } as const;

/** So often a transaction is begun anew because of others. */
const MOST_AGAIN = 25;
const AGAIN_MS = 3;
/** And so often because a connection was lost: who has asked has deadlines of their own. */
const MOST_LOST = 2;
const LOST_MS = 100;

/** What is asked of one transaction. It may be asked again, of another one, after a rollback. */
export interface Asked<T> {
  /** on the same connection, before the transaction begins */
  readonly before?: (session: Session) => Promise<void>;
  readonly work: (session: Session) => Promise<T>;
  /**
   * The connection was lost before COMMIT was answered: whether it was done nevertheless. Asked in another transaction, which
   * waits for that one where it needs the same rows.
   */
  readonly wasDone?: (session: Session) => Promise<{ readonly result: T } | undefined>;
}

/** Transactions on connections that may end at any time. */
export class Database {
  readonly #sessions: Sessions;
  readonly #answerMs: number;
  readonly #clock: ServerClock | undefined;
  readonly #signal: AbortSignal | undefined;

  /**
   * @param answerMs - for so long each answer is waited for
   * @param signal - once aborted, no transaction begins any more
   */
  constructor(sessions: Sessions, answerMs: number, clock?: ServerClock, signal?: AbortSignal) {
    this.#sessions = sessions;
    this.#answerMs = answerMs;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** The same one, for what may take longer. */
  waiting(answerMs: number): Database {
    return new Database(this.#sessions, answerMs, this.#clock, this.#signal);
  }

  /** The same database for a caller that may go away: once aborted, it throws the signal's reason before the next transaction. */
  until(signal: AbortSignal | undefined): Database {
    return signal === undefined ? this : new Database(this.#sessions, this.#answerMs, this.#clock, signal);
  }

  /**
   * @throws InboxOpenError when there is no inbox to be had, whose message says what to change
   * @throws DatabaseFailure when it was not done
   */
  async transaction<T>({ before, work, wasDone }: Asked<T>): Promise<T> {
    let isUnsure = false;
    return this.#untilDone(async (session) => {
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

  /** What is written in a transaction has the database's time as of its beginning, which comes along with it. */
  async #begin(session: Session): Promise<void> {
    const askedAt = performance.now();
    const [told] = await session.inOneMessage<{ ms: unknown }>(this.#clock === undefined ? [BEGIN] : [BEGIN, CLOCK]);
    if (told !== undefined) this.#clock?.heard(Number(told.ms), askedAt, performance.now());
  }

  /** Statements that are transactions of their own. Each may be asked again after a connection was lost. */
  alone<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#untilDone(work);
  }

  /** Reads, by the plans of `transaction`; there is nothing to be unsure of. */
  read<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#untilDone(async (session) => {
      // Also where BEGIN fails nothing may be asked of a connection that somebody else has by then.
      const [begun, read] = await Promise.allSettled([session.exec(BEGIN), work(session)]);
      if (begun.status === 'rejected') throw begun.reason;
      if (read.status === 'rejected') throw read.reason;
      await session.exec('COMMIT');
      return read.value;
    });
  }

  /**
   * Lends a connection from the handlers' share to a caller that ends its own transaction.
   *
   * @param use - calls `spoil` so that the connection is not used again; the same holds when `use` fails
   * @param signal - ends the wait for the share
   */
  async lend<T>(use: (session: Session, spoil: () => void) => Promise<T>, signal: AbortSignal): Promise<T> {
    const leave = await this.#sessions.share.take(signal);
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

  /** How many connections handlers may hold at once. */
  get mostLent(): number {
    return this.#sessions.share.size;
  }

  /** Whether a caller waits for a connection because the pool has no free one. */
  isWaitedFor(): boolean {
    return this.#sessions.isWaitedFor();
  }

  async #untilDone<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let lost = 0;
    for (let again = 0; ; again += 1) {
      try {
        return await this.#once(work);
      } catch (failure) {
        if (!isInstance(failure, DatabaseFailure) || failure.fault === 'refused') throw failure;
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
      const { fault, code } = isInstance(failure, DatabaseFailure) ? failure : OTHER_FAILURE;
      // Somebody may have left another role on it.
      isBroken = fault === 'lost' || code === DENIED || !(await rolledBack(session));
      throw failure;
    } finally {
      this.#sessions.giveBack(session, isBroken);
    }
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }
}

/**
 * Postgres answers COMMIT with ROLLBACK where a statement before it has failed, and with COMMIT also where there is no
 * transaction: whatever has ended ours, it is as if the answer were lost. A `pg` that does not say is trusted; to ask Postgres
 * for the transaction's number would take one more round trip, or a number for who only reads.
 */
export async function committed(session: Session): Promise<void> {
  if (session.connection.getTransactionStatus?.() === 'I') throw new DatabaseFailure(new Error('no transaction'));
  const warnings: PostgresNotice[] = [];
  const { connection } = session;
  const listener = (notice: PostgresNotice): void => void (isWarning(notice) && warnings.push(notice));
  connection.on('notice', listener);
  try {
    const command = await session.exec('COMMIT');
    if (command !== 'COMMIT') throw new DatabaseFailure(Object.assign(new Error('not committed'), { code: '40000' }));
  } finally {
    connection.removeListener('notice', listener);
  }
  const [warning] = warnings;
  if (warning !== undefined) throw new DatabaseFailure(Object.assign(new Error(warning.message), { code: CANCELLED }));
}

/** Of a statement that was cancelled. */
const CANCELLED = '57014';

/**
 * A COMMIT whose wait for a standby was cancelled, as by `pg_cancel_backend`, succeeds with a warning. Its writes are gone after
 * a fail-over. hookbox treats it as a lost answer: the repeated request also waits for the standby.
 */
function isWarning({ code }: PostgresNotice): boolean {
  return code !== undefined && !code.startsWith('00');
}

async function rolledBack(session: Session): Promise<boolean> {
  try {
    await session.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** For so long a transaction whose COMMIT was not answered is waited for; then it counts as done. */
const UNSURE_MS = 10_000;
const LOOK_MS = 50;

/** Appends rows by which nobody could tell whether they are there already: should COMMIT not be answered, its id tells. */
export function appendOnce(
  database: Database,
  before: (session: Session) => Promise<void>,
  append: (session: Session) => Promise<unknown>,
): Promise<void> {
  let id: string | undefined;
  return database.transaction({
    before,
    async work(session) {
      await append(session);
      id = (await session.row<{ id: string }>('SELECT pg_current_xact_id()::text AS id'))?.id;
    },
    async wasDone(session) {
      return (await wasCommitted(session, id)) ? { result: undefined } : undefined;
    },
  });
}

async function wasCommitted(session: Session, id: string | undefined): Promise<boolean> {
  for (const until = performance.now() + UNSURE_MS; ; await delay(LOOK_MS)) {
    const status = await transactionStatus(session, id);
    if (status !== 'in progress') return status === 'committed';
    if (performance.now() > until) return true;
  }
}

/**
 * What has become of a transaction: `in progress`, `committed`, `aborted`, or `null` where that was long ago. A server that has
 * taken over may never have heard of it, and would fail if it were asked: then what it gives out itself is not later.
 */
export async function transactionStatus(session: Session, id: string | undefined): Promise<string | null> {
  const row = await session.row<{ status: string | null }>(
    `SELECT CASE WHEN $1::xid8 < pg_current_xact_id() THEN pg_xact_status($1::xid8) ELSE 'aborted' END AS status`,
    [id],
  );
  return row?.status ?? null;
}

const LOOK_AGAIN_MS = 20;
const MOST_LOOKS = 100;

/**
 * A transaction whose work is done once: where the connection is lost before COMMIT is answered, Postgres knows what
 * has become of it by its number.
 */
export async function doneOnce<T>(database: Database, { before, work }: Omit<Asked<T>, 'wasDone'>): Promise<T> {
  let tried: { readonly id: string; readonly result: T } | undefined;
  return database.transaction({
    ...(before !== undefined && { before }),
    async work(session) {
      tried = undefined;
      const result = await work(session);
      const row = await session.row<{ id: string | null }>('SELECT pg_current_xact_id_if_assigned()::text AS id');
      // What has written nothing has no number, and may be done again.
      const id = row?.id ?? null;
      if (id !== null) tried = { id, result };
      return result;
    },
    async wasDone(session) {
      return tried !== undefined && (await wasCommittedSoon(session, tried.id)) ? { result: tried.result } : undefined;
    },
  });
}

/** @throws DatabaseFailure when it is still under way: a server may go on with what nobody waits for */
async function wasCommittedSoon(session: Session, id: string): Promise<boolean> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const status = await transactionStatus(session, id);
    if (status !== 'in progress') return status === 'committed';
    await delay(LOOK_AGAIN_MS);
  }
  throw new DatabaseFailure(new Error('a transaction is still running'));
}
