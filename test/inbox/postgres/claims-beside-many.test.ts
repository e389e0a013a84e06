/** What a claim reads, counted in pages, does not depend on how many events there are, or wait for one that fails. */
import { Pool, type PoolClient } from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tableNames, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { dropSchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { times } from '../../helpers/times.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { claimAfresh, manyBehind } from './many-behind.ts';
import { plantProcessed } from './planted.ts';

const PROCESSED = times(1_000_000, 20_000);
const WAITING = times(10_000, 1_000);
const CLAIMS = 40;

let url: string;

beforeAll(async () => {
  url = await postgresUrl();
});

/** The pages that each claim of ten events has asked for, in tables and indexes. */
async function pagesOfClaims(processed: number, waiting: number): Promise<readonly number[]> {
  const schema = schemaName();
  const t = tablesIn(schema);
  // One connection, which tells what it has read before it looks.
  const pool = new Pool({ connectionString: url, max: 1 });
  onTestFinished(async () => {
    await dropSchema(pool, schema);
    await pool.end();
  });
  await using inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.announce(EVERYTHING, START, null);
  // Vacuum reads whole tables when it likes, and what it reads would count as the claim's: it comes once, before, for what waits
  // has left where it was due, and there the queue's own settings have it come every few thousand.
  for (const name of tableNames) await pool.query(`ALTER TABLE ${t[name]} SET (autovacuum_enabled = false)`);
  if (processed > 0) await plantProcessed(pool, t, processed, START);
  if (waiting > 0) await manyBehind(inbox, waiting, START);
  for (const name of tableNames) await pool.query(`VACUUM ${t[name]}`);

  async function pages(): Promise<number> {
    await pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ pages: string }>(
      `SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)
         + coalesce(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0)) AS pages
       FROM pg_statio_all_tables WHERE schemaname = $1`,
      [schema],
    );
    return Number(rows[0]?.pages);
  }

  const found: number[] = [];
  for (let claim = 0; claim < CLAIMS; claim += 1) {
    const names = Array.from({ length: 10 }, (_, n) => `fresh_${claim}_${n}`);
    await claimAfresh(inbox, names, START + 1_000 + claim, async (claim) => {
      const before = await pages();
      const claimed = await claim();
      found.push((await pages()) - before);
      return claimed;
    });
  }
  return found.toSorted((a, b) => a - b);
}

const NAME = `a claim beside ${PROCESSED} processed events, and ${WAITING} behind one that fails, reads at most twice what it reads beside none`;

it(NAME, { timeout: 600_000 }, async () => {
  const [empty, full] = [await pagesOfClaims(0, 0), await pagesOfClaims(PROCESSED, WAITING)];
  const at = (share: number) => [empty, full].map((pages) => pages[Math.floor((pages.length - 1) * share)] ?? 0);
  const [median, most] = [at(0.5), at(1)];
  console.info(`pages of a claim of ten: median ${median.join(' and ')}, most ${most.join(' and ')}`);
  for (const [none = 0, many = 0] of [median, most]) {
    expect(none).toBeGreaterThan(10); // otherwise nothing was counted
    expect(many).toBeLessThanOrEqual(2 * none);
  }
});
