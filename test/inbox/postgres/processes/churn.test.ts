// @module-tag longest
// A day's churn in minutes, because Postgres looks for work of vacuum each second. For a large shop, set
// HOOKBOX_TEST_CHURN=1000000.
import { Pool, type PoolClient } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { inboxOnPostgres } from '../../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tablesIn } from '../../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../../src/inbox/work.ts';
import { SETTINGS } from '../../../helpers/postgres.ts';
import { PostgresServer } from '../../../helpers/postgres-server.ts';
import { Churn, sizesOf, WAITING, type Sizes } from './churn.ts';

const SHARE = 10_000;
const EVENTS = Number(process.env['HOOKBOX_TEST_CHURN'] ?? SHARE);
const PARTS = 5;
/** Pages are whole, and a table has at least two indexes. */
const LEAST_BYTES = 256;

const t = tablesIn(SETTINGS.schema);

async function sizesOfChurn(events: number, vacuum: 'as it comes' | 'never'): Promise<readonly Sizes[]> {
  await using server = await PostgresServer.start({ settings: ['autovacuum_naptime=1s'] });
  const pool = new Pool({ connectionString: server.url(), max: 8 });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  await using inbox = inboxOnPostgres<PoolClient>({ pool }, SETTINGS);
  await inbox.announce(EVERYTHING, Date.now(), null);
  if (vacuum === 'never') await pool.query(`ALTER TABLE ${t.queue} SET (autovacuum_enabled = false)`);
  const churn = new Churn(inbox);
  const sizes: Sizes[] = [];
  for (let part = 1; part <= PARTS; part += 1) {
    const before = await vacuums(pool);
    await churn.until((events * part) / PARTS);
    // Vacuum comes before the end of a real day.
    if (vacuum !== 'never') await expect.poll(() => vacuums(pool), { timeout: 60_000 }).toBeGreaterThan(before);
    const now = await sizesOf(pool, t);
    sizes.push(now);
    const said = [...now].map(([name, bytes]) => `${name} ${Math.round(bytes / 1024)}`);
    console.info(`vacuum ${vacuum}, ${churn.done} events through, ${WAITING} waiting; KiB: ${said.join(', ')}`);
  }
  return sizes;
}

async function vacuums(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    'SELECT autovacuum_count AS count FROM pg_stat_user_tables WHERE relid = $1::regclass',
    [t.queue],
  );
  return Number(rows[0]?.count);
}

/** These tables are larger than their waiting events explain. */
function grown(sizes: readonly Sizes[]): readonly string[] {
  const [first, last] = [sizes[0], sizes.at(-1)];
  if (first === undefined || last === undefined) throw new Error('there are several parts');
  return [...last].flatMap(([name, bytes]) =>
    bytes > Math.max(2 * (first.get(name) ?? 0), WAITING * LEAST_BYTES) ? [name] : [],
  );
}

it(
  'what waits bounds the tables that events go through, and not how many have gone',
  { timeout: 20_000_000 },
  async () => {
    expect(grown(await sizesOfChurn(EVENTS, 'as it comes'))).toEqual([]);
  },
);

it('without vacuum the queue grows with each event', { timeout: 600_000 }, async () => {
  expect(grown(await sizesOfChurn(SHARE, 'never'))).toEqual(['queue']);
});
