import type { PoolClient, QueryResult } from 'pg';
import { proxiedPool } from './proxied-pool.ts';

/**
 * What happens to a query: `lost` before it is sent, as when a connection ends; `unanswered` when that happens after Postgres
 * has done it; `silent` when nothing more is heard of it; or a SQLSTATE, with which Postgres refuses it.
 */
export type Interference = 'lost' | 'unanswered' | 'silent' | { readonly code: string } | null;

/** A pool between an inbox and Postgres. */
export function interferedPool(
  pool: { connect(): Promise<PoolClient> },
  interfere: (text: string, values: readonly unknown[]) => Interference,
): { connect(): Promise<PoolClient> } {
  return proxiedPool(pool, (client) => ({
    query: (query) => asked(() => client.query(query), interfere(query.text, query.values ?? [])),
  }));
}

async function asked(query: () => Promise<QueryResult>, interference: Interference): Promise<QueryResult> {
  if (interference === null) return query();
  if (interference === 'unanswered') await query();
  if (interference === 'silent') return new Promise(() => {});
  if (typeof interference === 'string') throw new Error('Connection terminated unexpectedly');
  throw Object.assign(new Error('refused by the test'), interference);
}

/** Interferes once, with the first query that fits, and counts how often there was one. */
export function once(fits: (text: string) => boolean, interference: Exclude<Interference, null>, times = 1) {
  const seen = { count: 0 };
  const interfere = (text: string): Interference => {
    if (!fits(text)) return null;
    seen.count += 1;
    return seen.count <= times ? interference : null;
  };
  return { seen, interfere };
}
