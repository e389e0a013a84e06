/** Two machines see different fronts, because an older event arrives before the first lease is committed. */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { SLOT_IS_HELD } from '../../../src/inbox/postgres/engine/due-events.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { gatedPool, rewrittenPool, unlockedPool } from './pools.ts';

const schema = schemaName();
const { queue } = tablesIn(schema);
const request = { ...EVERYTHING, now: 2_000, leaseMs: 60_000, ordered: true };
let pool: Pool;

const machine = (source: { connect(): Promise<PoolClient> }) =>
  inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  pool.on('error', () => {});
  await using inbox = machine(pool);
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});
beforeEach(() => emptySchema(pool, schema));

/** The leases after both machines have claimed their fronts. */
async function leases(locked: boolean): Promise<number> {
  const source = locked ? pool : unlockedPool(pool);
  const atCommit = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isClaiming = false;
  const held = gatedPool(source, (text) => {
    if (text !== 'COMMIT' || !isClaiming) return null;
    atCommit.resolve();
    return goOn.promise;
  });
  await using slow = machine(held);
  await using quick = machine(source);
  // The older event is due first, or its claim would try to park the leased one.
  const event = (id: string, ms: number) => incoming({ id, entity: 'order_1', created: { ms, ns: 0 }, receivedAt: ms });
  await slow.accept(event('younger', 1_000), later());
  isClaiming = true;
  const claims = [slow.claim(request, 1)];
  await atCommit.promise;
  await quick.accept(event('older', 500), later());
  claims.push(quick.claim(request, 1));
  // The lock leaves nothing to claim, the index makes the claim wait, and without both it succeeds.
  await Promise.race([claims[1], delay(1_000)]);
  goOn.resolve();
  const claimed = (await Promise.all(claims)).flat();
  const { rowCount } = await pool.query(`SELECT 1 FROM ${queue} WHERE lease_until_ms IS NOT NULL`);
  expect(rowCount).toBe(claimed.length);
  return claimed.length;
}

async function without<T>(index: string, run: () => Promise<T>): Promise<T> {
  const { rows } = await pool.query<{ indexdef: string }>(
    'SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND indexname = $2',
    [schema, index],
  );
  await pool.query(`DROP INDEX ${queue.replace(/[^.]+$/, index)}`);
  try {
    return await run();
  } finally {
    await emptySchema(pool, schema);
    await pool.query(rows[0]?.indexdef ?? '');
  }
}

it.each([
  ['locks of slots and the unique index', true, true],
  ['the unique index alone', false, true],
  ['locks of slots alone', true, false],
])('holds one lease of an entity with %s', async (_, locked, indexed) => {
  expect(await (indexed ? leases(locked) : without('queue_one_lease', () => leases(locked)))).toBe(1);
});

it('would hold two without either', async () => {
  expect(await without('queue_one_lease', () => leases(false))).toBe(2);
});

/**
 * Between the claim's search and its lock, another body moves the event to another entity, and another claim finds an
 * older event of that entity. The lock is then of the wrong slot.
 */
async function leasesOfMoved(rewrite: (text: string) => string): Promise<number> {
  const event = (id: string, entity: string, ms: number, verified: boolean) =>
    incoming({ id, entity, created: { ms, ns: 0 }, receivedAt: ms, verified, body: JSON.stringify({ entity }) });
  const atCommit = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isClaiming = false;
  const held = gatedPool(
    rewrittenPool(pool, (text) => rewrite(heldUp(text))),
    (text) => {
      if (text !== 'COMMIT' || !isClaiming) return null;
      atCommit.resolve();
      return goOn.promise;
    },
  );
  await using slow = machine(held);
  await using quick = machine(pool);
  await quick.accept(event('moved', 'order_1', 1_000, false), later());
  const gate = await pool.connect();
  await gate.query('SELECT pg_advisory_lock($1)', [GATE]);
  isClaiming = true;
  const claims = [slow.claim(request, 1)];
  const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted";
  while ((await pool.query(waiting, [GATE])).rowCount === 0) await delay(10);
  expect(await quick.accept(event('moved', 'order_2', 1_000, true), later())).toMatchObject({ replaced: true });
  await gate.query('SELECT pg_advisory_unlock($1)', [GATE]);
  gate.release();
  await atCommit.promise;
  await quick.accept(event('older', 'order_2', 500, true), later());
  claims.push(quick.claim(request, 1));
  await Promise.race([claims[1], delay(1_000)]);
  goOn.resolve();
  return (await Promise.all(claims)).flat().length;
}

const GATE = 4_711;

/** The claim waits between its search and its locks. */
function heldUp(text: string): string {
  return text
    .replace('), free AS (', `), gate AS MATERIALIZED (SELECT pg_advisory_xact_lock(${GATE}) FROM due), free AS (`)
    .replace('SELECT slot FROM due)', 'SELECT slot FROM due CROSS JOIN gate)');
}

it.each([true, false])(
  'holds one lease of an entity to which an event has moved while it was claimed (with the index: %s)',
  async (indexed) => {
    const run = () => leasesOfMoved((text) => text);
    expect(await (indexed ? run() : without('queue_one_lease', run))).toBe(1);
  },
);

it('would hold two there if a claim did not look at the slot again', async () => {
  const blind = (text: string): string => text.replace(SLOT_IS_HELD, '$7::smallint[] IS NOT NULL');
  expect(await without('queue_one_lease', () => leasesOfMoved(blind))).toBe(2);
  expect(await leasesOfMoved(blind)).toBe(1);
});
