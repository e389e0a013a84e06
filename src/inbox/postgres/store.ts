import { delay, performance } from '../../host/real-timers.ts';
import { latestTime, setBackBy } from '../rules/claim.ts';
import type { UnconfirmedClaims } from '../unconfirmed-claims.ts';
import type { DatabaseTime } from './database-time.ts';
import type { PostgresConnection } from './driver/connections.ts';
import type { Database } from './driver/database.ts';
import type { Session } from './driver/session.ts';
import { transactionOn, type EventIndex, type Reading, type Transaction } from './engine/transaction.ts';
import type { Moves } from './moves.ts';
import type { Tables } from './sql/tables.ts';

export interface Store {
  readonly database: Database;
  readonly t: Tables;
  readonly moves: Moves;
  readonly time: DatabaseTime;
  readonly latest: LatestTime;
  readonly claims: UnconfirmedClaims;
  readonly index: EventIndex;
  readonly horizon: Horizon;
  /** Call it before a transaction that writes leases or due times. */
  readonly writeAt: (session: Session, now: number, times?: Pick<DatabaseTime, 'toDatabase'>) => Promise<void>;
  /** The database's time is known. The work may run again. */
  readonly read: <T>(work: (reading: Reading) => Promise<T>) => Promise<T>;
  readonly within: (session: Session) => Transaction;
}

export function storeOf(parts: Omit<Store, 'horizon' | 'read' | 'within' | 'writeAt'>): Store {
  const { database, t, time, latest } = parts;
  return {
    ...parts,
    horizon: new Horizon(t),
    async writeAt(session, now, times = time) {
      await time.follow(session);
      await latest.note(session, times.toDatabase(now));
    },
    read: (work) =>
      database.read(async (session) => {
        await time.follow(session);
        return work({ session, t });
      }),
    within: (session) => transactionOn(parts, session),
  };
}

/**
 * Notes times before they are written (rules/claim.ts), in its own transaction, because all machines share the row.
 * READ WRITE, because a role may read only by default.
 */
export class LatestTime {
  readonly #t: Tables;
  #noted = 0;

  constructor(t: Tables) {
    this.#t = t;
  }

  async note(session: Session, now: number): Promise<void> {
    const latest = latestTime(0, now);
    // If it is much earlier, the clock was set back, and another process has set the noted time back.
    if (latest <= this.#noted && setBackBy(this.#noted, now) === 0) return;
    await session.inOneMessage([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      `UPDATE ${this.#t.clock} SET latest_ms = ${latest} WHERE latest_ms < ${latest}`,
      'COMMIT',
    ]);
    this.#noted = latest;
  }
}

const LOOK_MS = 2;

/**
 * The number up to which no more events can appear. Events are numbered before they are committed, so a list could
 * miss an event that is committed later.
 *
 * A transaction that has a number locks the table of events until its end, and `pg_locks` shows it. A horizon of
 * transaction ids would wait for every transaction on the server.
 */
class Horizon {
  readonly #t: Tables;
  /** Per connection: after a fail-over, another server may lack the last events, and repeat their numbers. */
  readonly #reached = new WeakMap<PostgresConnection, number>();

  constructor(t: Tables) {
    this.#t = t;
  }

  reached({ connection }: Session): number {
    return this.#reached.get(connection) ?? 0;
  }

  /** Waits up to `waitMs` for deliveries that are being stored; then it does not move. */
  async follow(session: Session, waitMs: number): Promise<number> {
    const highest = await session.row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${this.#t.events}`);
    const end = highest?.seq ?? 0;
    const reached = this.reached(session);
    if (end <= reached) return reached;
    const writers = await this.#writers(session, null);
    for (const until = performance.now() + waitMs; ; await delay(LOOK_MS)) {
      if (writers.length === 0 || (await this.#writers(session, writers)).length === 0) break;
      if (performance.now() > until) return reached;
    }
    this.#reached.set(session.connection, end);
    return end;
  }

  async #writers(session: Session, some: readonly string[] | null): Promise<readonly string[]> {
    const rows = await session.rows<{ writer: string }>(
      `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
       WHERE locktype = 'relation' AND relation = $1::regclass AND mode = 'RowExclusiveLock' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND ($2::text[] IS NULL OR virtualtransaction = ANY($2::text[]))`,
      [this.#t.events, some],
    );
    return rows.map(({ writer }) => writer);
  }
}
