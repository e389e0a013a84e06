import { setTimeout as delay } from 'node:timers/promises';
import type { StoredEvent } from '../event.ts';
import type { Session } from './driver/session.ts';
import { selectStored, storedEvent } from './sql/records.ts';
import type { Store } from './store.ts';

/** For so long a list waits for transactions that began before it; then it ends earlier. */
const WAIT_MS = 500;
const LOOK_MS = 4;

/**
 * Events in the order of arrival. They are numbered before they are committed, so one with a lower number may appear after one
 * with a higher: whoever goes on behind that would miss it. So a list ends at a number up to which nothing more can appear.
 */
export async function listEvents(
  { database, t }: Store,
  after: number,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const page = (session: Session, end: number) =>
    session.rows(`${selectStored(t, 'events.seq > $1 AND events.seq <= $2')} ORDER BY events.seq LIMIT $3`, [
      after,
      end,
      limit,
    ]);
  return database.alone(async (session) => {
    const published = await session.row<{ seq: number }>(`SELECT seq FROM ${t.published}`);
    const ready = await page(session, published?.seq ?? 0);
    const rows = ready.length >= limit ? ready : await page(session, await publish(session, t, published?.seq ?? 0));
    return rows.map(storedEvent);
  });
}

/** @returns up to where all events are there */
async function publish(session: Session, t: Store['t'], published: number): Promise<number> {
  // In this order: whoever has drawn a number up to the highest has drawn the id of their transaction before that one.
  const highest = await session.row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${t.events}`);
  const end = highest?.seq ?? 0;
  if (end <= published) return published;
  const own = await session.row<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  for (const until = performance.now() + WAIT_MS; ;) {
    const row = await session.row<{ over: boolean }>(
      'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS over',
      [own?.id],
    );
    if (row?.over === true) break;
    if (performance.now() > until) return published;
    await delay(LOOK_MS);
  }
  await session.run(`UPDATE ${t.published} SET seq = $1::bigint WHERE seq < $1::bigint`, [end]);
  return end;
}
