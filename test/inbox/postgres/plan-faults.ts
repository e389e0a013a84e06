import type { Pool } from 'pg';
import { BEGIN } from '../../../src/inbox/postgres/driver/database.ts';
import { tableNames, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';

/** Small tables may be read whole. The slots' plan uses their numbers. */
const SMALL = new Set<string>([
  'migrations',
  'handling',
  'processors',
  'pauses',
  'rates',
  'breakers',
  'acknowledged',
  'clock',
  'progress',
  'rejected',
]);
const LARGE = tableNames.filter((name) => !SMALL.has(name));

export async function plansOf(pool: Pool, texts: Iterable<string>): Promise<ReadonlyMap<string, readonly string[]>> {
  const client = await pool.connect();
  const plans = new Map<string, readonly string[]>();
  try {
    for (const text of texts) {
      await client.query(BEGIN);
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
      await client.query('ROLLBACK');
      plans.set(
        text,
        rows.map((row) => row['QUERY PLAN']),
      );
    }
  } finally {
    client.release();
  }
  return plans;
}

/** A plan reads a whole table, or has another fault. */
export async function planFaults(
  pool: Pool,
  t: Tables,
  texts: readonly string[],
  alsoIn: (plan: readonly string[]) => readonly string[] = () => [],
): Promise<readonly string[]> {
  // One message may have several statements.
  const asked = texts
    .flatMap((text) => text.split('; '))
    .filter(
      (text) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|\()/.test(text) && LARGE.some((name) => text.includes(t[name])),
    );
  const found: string[] = [];
  for (const [text, plan] of await plansOf(pool, asked)) {
    for (const line of [...readWhole(plan), ...alsoIn(plan)]) {
      found.push(`${line.trim()}: ${text.replaceAll(/\s+/g, ' ').slice(0, 200)}`);
    }
  }
  return found;
}

function readWhole(plan: readonly string[]): readonly string[] {
  return plan.filter((line, at) => {
    const isRead = LARGE.some((name) => new RegExp(String.raw`Seq Scan on ${name}\b`).test(line));
    // Reads only the first row of an index.
    const isFirstOnly = plan[at - 1]?.includes('Limit') === true;
    const isWalked =
      !isFirstOnly &&
      /Scan (Backward )?using (\w+_pkey|events_by_key|shelf_by_state)/.test(line) &&
      LARGE.some((name) => line.includes(` on ${name}`)) &&
      !plan[at + 1]?.includes('Index Cond');
    return isRead || isWalked;
  });
}

/** The sorted rows have no limit. */
export function sortsAll(plan: readonly string[]): readonly string[] {
  return plan.filter((line, at) => {
    if (!/^\s*(->\s+)?Sort\s+\(cost/.test(line)) return false;
    const below: { readonly depth: number; readonly limited: boolean }[] = [{ depth: depthOf(line), limited: false }];
    for (const next of plan.slice(at + 1)) {
      if (!/\(cost=/.test(next)) continue;
      const depth = depthOf(next);
      if (depth <= depthOf(line)) return false;
      while ((below.at(-1)?.depth ?? 0) >= depth) below.pop();
      const limited = below.at(-1)?.limited === true || /->\s+Limit\b/.test(next);
      below.push({ depth, limited });
      if (!limited && LARGE.some((name) => new RegExp(String.raw`Scan.* on ${name}\b`).test(next))) return true;
    }
    return false;
  });
}

function depthOf(line: string): number {
  return line.search(/\S/);
}
