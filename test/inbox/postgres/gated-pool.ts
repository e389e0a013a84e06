import type { Pool, PoolClient } from 'pg';

/** A pool whose queries wait where `gate` says so, before they are sent. */
export function gatedPool(
  pool: Pick<Pool, 'connect'>,
  gate: (text: string) => Promise<unknown> | null,
): { connect(): Promise<PoolClient> } {
  return {
    async connect() {
      const client = await pool.connect();
      return new Proxy(client, {
        get(target, name) {
          if (name === 'query') {
            return async (query: string | { readonly text: string }, values?: unknown[]) => {
              await gate(typeof query === 'string' ? query : query.text);
              return target.query(query as string, values);
            };
          }
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
}
