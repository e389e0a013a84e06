// Stores events as fast as it can: node store.ts <url> together|each|by-hand <callers> <seconds to warm up> <seconds>
// together: the inbox, whose events share a statement. each: the inbox's own transaction, for one event. by-hand: a row in one
// table, as a merchant would write it.
import { randomUUID } from 'node:crypto';
import { postgresInbox } from 'hookbox/postgres';
import { Pool } from 'pg';
import type { IncomingEvent } from '../../../src/inbox/event.ts';
import { acceptGroup } from '../../../src/inbox/postgres/accept-group.ts';
import { databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { arriving, callers } from './callers.ts';
import { atOnce } from './start-together.ts';

type Store = (event: IncomingEvent) => Promise<unknown>;

const [url = '', how, ...numbers] = process.argv.slice(2);
const [count = 1, warmUp = 1, seconds = 1] = numbers.map(Number);
const pool = new Pool({ connectionString: url, max: 10 });
const inbox = postgresInbox(url, { listen: false }); // with a pool of ten of its own

const DEADLINE_MS = 30_000;

async function storing(): Promise<Store> {
  if (how === 'together') return (event) => inbox.accept(event, performance.now() + DEADLINE_MS);
  if (how === 'each') {
    const store = storeOn(url, { schema: 'hookbox', migrates: true, prepares: true, time: databaseTime() });
    return async (event) => {
      const times = store.time.requested();
      const arrival = { event, start: undefined, times, receivedAt: null, started: undefined, isUnsure: false };
      const [outcome] = await acceptGroup(store, [arrival], () => {});
      if (typeof outcome !== 'object' || 'failure' in outcome) throw new Error('An event was not stored.');
    };
  }
  const text = `INSERT INTO by_hand (endpoint, id, type, created_ms, created_ns, entity, verified, received_ms, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id, endpoint) DO NOTHING`;
  return ({ endpoint, id, type, created, entity, verified, receivedAt, body }) =>
    pool.query({
      name: 'by_hand',
      text,
      values: [endpoint, id, type, created?.ms, created?.ns, entity, verified, receivedAt, body],
    });
}

await inbox.list(); // the tables are there
const store = await storing();
await atOnce(async () => {
  let stored = 0;
  let all = 0;
  const from = performance.now() + warmUp * 1000;
  const until = from + seconds * 1000;
  await callers(count, async () => {
    await store(arriving(randomUUID(), Date.now()));
    const now = performance.now();
    all += 1;
    if (now >= from && now < until) stored += 1;
    return now < until;
  });
  await inbox.close();
  await pool.end();
  return { stored, all };
});
