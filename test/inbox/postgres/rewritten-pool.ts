import type { PoolClient } from 'pg';
import { proxiedPool } from './proxied-pool.ts';

/** A pool whose queries are sent with another text. */
export function rewrittenPool(
  pool: { connect(): Promise<PoolClient> },
  rewrite: (text: string) => string,
): { connect(): Promise<PoolClient> } {
  return proxiedPool(pool, (client) => ({
    query: (asked) => client.query({ ...asked, text: rewrite(asked.text) }),
  }));
}

/** A mutant: it reads the slots of entities that the others lock. */
export function unlockedPool(pool: { connect(): Promise<PoolClient> }): { connect(): Promise<PoolClient> } {
  return rewrittenPool(pool, (text) => text.replace(/(ORDER BY slot)\s+FOR UPDATE( SKIP LOCKED)?/, '$1'));
}
