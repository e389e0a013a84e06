import { delay, performance } from '../../host/real-timers.ts';
import { latestTime, setBackBy } from '../rules/claim.ts';
import type { UnconfirmedClaims } from '../unconfirmed-claims.ts';
import type { DatabaseTime } from './database-time.ts';
import type { PostgresConnection } from './driver/client.ts';
import type { Database } from './driver/database.ts';
import type { Session } from './driver/session.ts';
import { type EventIndex, locksOf, type Scene, writesOf } from './engine/transaction.ts';
import type { movesOf } from './moves.ts';
import type { Tables } from './sql/tables.ts';

/** What the parts of an inbox share. */
export interface Store {
  readonly database: Database;
  readonly t: Tables;
  readonly moves: ReturnType<typeof movesOf>;
  readonly time: DatabaseTime;
  readonly latest: LatestTime;
  readonly claims: UnconfirmedClaims;
  readonly index: EventIndex;
  readonly horizon: Horizon;
  /** Before a transaction that writes leases or due times: the database's time is known, and this one remembered. */
  readonly writeAt: (session: Session, now: number, times?: Pick<DatabaseTime, 'toDatabase'>) => Promise<void>;
  /** A transaction of this session, as the engine sees it. */
  readonly scene: (session: Session) => Scene;
}

export function storeOf(parts: Omit<Store, 'horizon' | 'scene' | 'writeAt'>): Store {
  const { t, moves, time, latest, index } = parts;
  return {
    ...parts,
    horizon: new Horizon(t),
    async writeAt(session, now, times = time) {
      await time.follow(session);
      await latest.note(session, times.toDatabase(now));
    },
    scene: (session) => ({
      session,
      t,
      moves,
      locks: locksOf(session, t),
      writes: writesOf(session, t, moves, time),
      index,
    }),
  };
}

/**
 * Remembers the time at which leases and due times are written (rules/claim.ts), before they are. In a transaction of its
 * own: all machines share the row, and who held it until the end of another one would hold up all others. It says that it
 * writes, as a role may be set to only read unless told otherwise.
 */
export class LatestTime {
  readonly #t: Tables;
  #noted = 0;

  constructor(t: Tables) {
    this.#t = t;
  }

  async note(session: Session, now: number): Promise<void> {
    const latest = latestTime(0, now);
    // Much earlier, the clock was set back, and whoever has followed it has forgotten what was noted.
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
 * Up to where nothing more can appear among the events. They are numbered before they are committed, so one with a lower number
 * may appear after one with a higher: whoever goes through them in their order and on behind that would miss it.
 *
 * Whoever has drawn a number locks the table of events before that and until the end of the transaction, and Postgres shows who
 * does. (A horizon of transaction ids says the same, but waits for every transaction that writes anywhere on the server.)
 */
class Horizon {
  readonly #t: Tables;
  /** On another connection there may be another server, which has taken over without the last events, and gives out their numbers again. */
  readonly #reached = new WeakMap<PostgresConnection, number>();

  constructor(t: Tables) {
    this.#t = t;
  }

  /** as far as it has been followed on this connection */
  reached({ connection }: Session): number {
    return this.#reached.get(connection) ?? 0;
  }

  /**
   * Follows it to the newest event of now, and waits for deliveries that are being stored.
   *
   * @param waitMs - for so long; then it stays where it was
   */
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

  /** Who writes events just now; of some, who still does. */
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
