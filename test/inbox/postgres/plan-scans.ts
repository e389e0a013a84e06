import type { Pool } from 'pg';
import { BEGIN } from '../../../src/inbox/postgres/driver/database.ts';
import { tableNames, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';

/**
 * Read whole, as they are few: who handles what, the one row of the clock, and rejections, which are put together as they are
 * noted. The slots' plan is by their numbers.
 */
const SMALL = new Set<string>(['migrations', 'takers', 'clock', 'rejected']);

/** The statements whose plan reads a table from one end to the other, by the settings that all of ours have. */
export async function scansIn(pool: Pool, t: Tables, texts: readonly string[]): Promise<readonly string[]> {
  const client = await pool.connect();
  const found: string[] = [];
  try {
    const large = tableNames.filter((name) => !SMALL.has(name));
    for (const text of texts.flatMap((text) => text.split('; '))) {
      if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(text) || !large.some((name) => text.includes(t[name])))
        continue;
      await client.query(BEGIN);
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
      await client.query('ROLLBACK');
      const plan = rows.map((row) => row['QUERY PLAN']);
      for (const [at, line] of plan.entries()) {
        const isRead = large.some((name) => new RegExp(String.raw`Seq Scan on ${name}\b`).test(line));
        // An index of all rows, by which nothing is looked for.
        const isFirstOnly = plan[at - 1]?.includes('Limit') === true;
        const isWalked =
          !isFirstOnly &&
          /Scan (Backward )?using (\w+_pkey|events_by_key)/.test(line) &&
          large.some((name) => line.includes(` on ${name}`)) &&
          !plan[at + 1]?.includes('Index Cond');
        if (isRead || isWalked) found.push(`${line.trim()}: ${text.replaceAll(/\s+/g, ' ').slice(0, 200)}`);
      }
    }
  } finally {
    client.release();
  }
  return found;
}
