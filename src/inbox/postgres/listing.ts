import { setTimeout as delay } from 'node:timers/promises';
import type { StoredEvent } from '../event.ts';
import type { Session } from './driver/session.ts';
import { selectStored, storedEvent } from './sql/records.ts';
import type { Store } from './store.ts';

/** For so long a list waits for deliveries that are being stored; then it ends before them. */
const WAIT_MS = 5_000;
const LOOK_MS = 2;

/**
 * Events in the order of arrival. They are numbered before they are committed, so one with a lower number may appear after one
 * with a higher: whoever goes on behind that would miss it. So a list ends at a number up to which nothing more can appear.
 *
 * Whoever has drawn a number locks the table of events before that and until the end of the transaction, and Postgres shows who
 * does. (A horizon of transaction ids says the same, but waits for every transaction that writes anywhere on the server.)
 */
export class Listing {
  readonly #store: Store;
  /** up to here nothing more can appear */
  #end = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async after(after: number, limit: number): Promise<readonly StoredEvent[]> {
    const { database, t, time } = this.#store;
    const text = `${selectStored(t, 'events.seq > $1 AND events.seq <= $2')} ORDER BY events.seq LIMIT $3`;
    const rows = await database.read(async (session) => {
      await time.follow(session);
      if (this.#end > after) {
        const ready = await session.rows(text, [after, this.#end, limit]);
        if (ready.length >= limit) return ready;
      }
      await this.#follow(session);
      return session.rows(text, [after, this.#end, limit]);
    });
    return rows.map((row) => storedEvent(row, time));
  }

  async #follow(session: Session): Promise<void> {
    const { t } = this.#store;
    const highest = await session.row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${t.events}`);
    const end = highest?.seq ?? 0;
    if (end <= this.#end) return;
    const writers = await this.#writers(session, null);
    for (const until = performance.now() + WAIT_MS; ; await delay(LOOK_MS)) {
      if (writers.length === 0 || (await this.#writers(session, writers)).length === 0) break;
      if (performance.now() > until) return;
    }
    this.#end = end;
  }

  /** Who writes events just now; of some, who still does. */
  async #writers(session: Session, some: readonly string[] | null): Promise<readonly string[]> {
    const rows = await session.rows<{ writer: string }>(
      `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
       WHERE locktype = 'relation' AND relation = $1::regclass AND mode = 'RowExclusiveLock' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND ($2::text[] IS NULL OR virtualtransaction = ANY($2::text[]))`,
      [this.#store.t.events, some],
    );
    return rows.map(({ writer }) => writer);
  }
}
