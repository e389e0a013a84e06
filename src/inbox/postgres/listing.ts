import type { StoredEvent } from '../event.ts';
import { selectStored, storedEvent } from './sql/records.ts';
import type { Store } from './store.ts';

/** For so long a list waits for deliveries that are being stored; then it ends before them. */
const WAIT_MS = 5_000;

/** Events in the order of arrival, up to where nothing more can appear (horizon.ts). */
export async function listAfter(
  { database, t, time, horizon }: Store,
  after: number,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const text = `${selectStored(t, 'events.seq > $1 AND events.seq <= $2')} ORDER BY events.seq LIMIT $3`;
  const rows = await database.read(async (session) => {
    await time.follow(session);
    const reached = horizon.reached(session);
    if (reached > after) {
      const ready = await session.rows(text, [after, reached, limit]);
      if (ready.length >= limit) return ready;
    }
    return session.rows(text, [after, await horizon.follow(session, WAIT_MS), limit]);
  });
  return rows.map((row) => storedEvent(row, time));
}
