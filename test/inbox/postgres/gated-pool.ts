import type { PoolClient } from 'pg';
import { proxiedPool } from './proxied-pool.ts';

/** A pool whose queries wait where `gate` says so, before they are sent. */
export function gatedPool(
  pool: { connect(): Promise<PoolClient> },
  gate: (text: string) => Promise<unknown> | null,
): { connect(): Promise<PoolClient> } {
  return proxiedPool(pool, (client) => ({
    async query(asked) {
      await gate(asked.text);
      return client.query(asked);
    },
  }));
}
