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

/** What the parts of an inbox share. */
export interface Store {
  readonly database: Database;
  readonly t: Tables;
  readonly moves: Moves;
  readonly time: DatabaseTime;
  readonly latest: LatestTime;
  readonly claims: UnconfirmedClaims;
  readonly index: EventIndex;
  readonly horizon: Horizon;
  /** Call it before a transaction that writes leases or due times. It asks for the database's time, and notes it. */
  readonly writeAt: (session: Session, now: number, times?: Pick<DatabaseTime, 'toDatabase'>) => Promise<void>;
  /** Reads from one connection, while the database's time is known. It may be tried again. */
  readonly read: <T>(work: (reading: Reading) => Promise<T>) => Promise<T>;
  /** The transaction of this session, as the engine sees it. */
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
 * Remembers the time at which leases and due times are written (rules/claim.ts), before they are. It has its own transaction,
 * because all machines share the row. The transaction is READ WRITE, because the default of a role may be to read only.
 */
export class LatestTime {
  readonly #t: Tables;
  #noted = 0;

  constructor(t: Tables) {
    this.#t = t;
  }

  async note(session: Session, now: number): Promise<void> {
    const latest = latestTime(0, now);
    // If it is much earlier, the clock was set back, and another process has moved the noted time back.
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
 * The number up to which no event can appear any more. Events are numbered before they are committed, so a list that continues
 * behind the highest number would miss an event that is committed later.
 *
 * A transaction that has a number locks the table of events until its end, and Postgres shows the transactions that do. (A
 * horizon of transaction ids would wait for every transaction that writes anywhere on the server.)
 */
class Horizon {
  readonly #t: Tables;
  /** By connection: another one may lead to a server that has taken over without the last events, and gives out their numbers again. */
  readonly #reached = new WeakMap<PostgresConnection, number>();

  constructor(t: Tables) {
    this.#t = t;
  }

  reached({ connection }: Session): number {
    return this.#reached.get(connection) ?? 0;
  }

  /** Follows it to the newest event, and waits up to `waitMs` for deliveries that are being stored; then it stays where it was. */
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

  /** The transactions that are writing events; of some, those that still are. */
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
