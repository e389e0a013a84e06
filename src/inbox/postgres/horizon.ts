import { delay, performance } from '../../host/real-timers.ts';
import type { PostgresConnection } from './driver/client.ts';
import type { Session } from './driver/session.ts';
import type { Tables } from './sql/tables.ts';

const LOOK_MS = 2;

/**
 * Up to where nothing more can appear among the events. They are numbered before they are committed, so one with a lower number
 * may appear after one with a higher: whoever goes through them in their order and on behind that would miss it.
 *
 * Whoever has drawn a number locks the table of events before that and until the end of the transaction, and Postgres shows who
 * does. (A horizon of transaction ids says the same, but waits for every transaction that writes anywhere on the server.)
 */
export class Horizon {
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
