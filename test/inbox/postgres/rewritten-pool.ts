import type { Pool, PoolClient } from 'pg';

/** A pool whose queries are sent with another text. */
export function rewrittenPool(
  pool: { connect(): Promise<PoolClient> },
  rewrite: (text: string) => string,
): Pick<Pool, 'connect'> {
  const source = {
    async connect(): Promise<PoolClient> {
      const client = await pool.connect();
      const query = (asked: string | { readonly text: string }) =>
        client.query(typeof asked === 'string' ? rewrite(asked) : { ...asked, text: rewrite(asked.text) });
      return new Proxy(client, {
        get(target, name) {
          if (name === 'query') return query;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
  return source;
}

/** A mutant: it reads the slots of entities that the others lock. */
export function unlockedPool(pool: { connect(): Promise<PoolClient> }): Pick<Pool, 'connect'> {
  return rewrittenPool(pool, (text) => text.replace(/(ORDER BY slot)\s+FOR UPDATE( SKIP LOCKED)?/, '$1'));
}
