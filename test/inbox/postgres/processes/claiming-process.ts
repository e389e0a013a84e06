// node claiming-process.ts <url> <schema> <number> all|unlocked
// Stores events and claims under short leases until it
// reads `no more`; then it only claims, until its input ends. `unlocked` is a mutant without locks of slots. Its
// leases do not run out, because a suspect would make others wait, and hide the fault.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { EVERYTHING, type ClaimedEvent, type Settlement } from '../../../../src/inbox/work.ts';
import { incoming } from '../../../helpers/incoming-event.ts';
import { unlockedPool } from '../pools.ts';

const ENTITIES = 12;
const ERROR = { name: 'Error', message: 'again', stack: null };

const [url = '', schema = '', number = '', locks] = process.argv.slice(2);
const LEASE_MS = locks === 'all' ? 1_000 : 10_000;
const pool = new Pool({ connectionString: url, max: 6 });
pool.on('error', () => {});

const inbox = postgresInbox<PoolClient>(
  { pool: locks === 'unlocked' ? unlockedPool(pool) : pool },
  { schema, listen: false },
);
let isStoring = true;
const over = new AbortController();
process.stdin.on('data', () => (isStoring = false)).on('end', () => over.abort());

let stored = 0;

async function store(): Promise<void> {
  const entity = `e${Math.floor(Math.random() * ENTITIES)}`;
  const now = Date.now();
  const event = incoming({ id: `${number}-${(stored += 1)}`, entity, created: { ms: now, ns: 0 }, receivedAt: now });
  await inbox.accept(event, performance.now() + 30_000).catch(() => {});
}

async function run({ lease }: ClaimedEvent): Promise<void> {
  const isLate = locks === 'all' && Math.random() < 0.01;
  await sleep(isLate ? LEASE_MS * 2 : Math.random() * 6);
  const now = Date.now();
  const settlement: Settlement =
    Math.random() < 0.2 ? { outcome: 'retry', error: ERROR, dueAt: now } : { outcome: 'processed' };
  await inbox.settle(lease, settlement, now).catch(() => {}); // its lease runs out
  if (isStoring && settlement.outcome === 'processed') await store();
}

async function claim(): Promise<void> {
  while (!over.signal.aborted) {
    const request = { ...EVERYTHING, now: Date.now(), leaseMs: LEASE_MS, ordered: true };
    const claimed = await inbox.claim(request, 4).catch(() => []);
    if (claimed.length === 0) await sleep(Math.random() * 10);
    await Promise.all(claimed.map(run));
  }
}

await Promise.all(Array.from({ length: 6 }, store));
await Promise.all([claim(), claim()]);
await inbox.close();
await pool.end();
