import type { Pool, PoolClient } from 'pg';

/** A mutant: it reads the slots of entities that the others lock. */
export function unlockedPool(pool: { connect(): Promise<PoolClient> }): Pick<Pool, 'connect'> {
  const source = {
    async connect(): Promise<PoolClient> {
      const client = await pool.connect();
      const query = (asked: string | { readonly text: string }) => {
        const text = typeof asked === 'string' ? asked : asked.text;
        const unlocked = text.replace(/(ORDER BY slot)\s+FOR UPDATE( SKIP LOCKED)?/, '$1');
        return client.query(typeof asked === 'string' ? unlocked : { ...asked, text: unlocked });
      };
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
