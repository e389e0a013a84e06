import type { PoolClient } from 'pg';

/** What `pg` is asked with an object. */
export interface AskedQuery {
  readonly text: string;
  readonly name?: string;
  readonly values?: unknown[];
}

/** What a client does in the place of its own. */
export interface Instead {
  readonly query?: (asked: AskedQuery) => unknown;
  readonly release?: (destroy?: boolean) => void;
}

/** A client that does some of it another way. A query that is a text is asked as an object. */
export function proxiedClient(client: PoolClient, { query, release }: Instead): PoolClient {
  const asked = query && ((given: string | AskedQuery, values?: unknown[]) => query(asObject(given, values)));
  const instead: Readonly<Record<PropertyKey, unknown>> = { query: asked, release };
  return new Proxy(client, {
    get(target, name) {
      if (instead[name] !== undefined) return instead[name];
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A pool whose clients do some of it another way. */
export function proxiedPool(
  pool: { connect(): Promise<PoolClient> },
  insteadOf: (client: PoolClient) => Instead,
): { connect(): Promise<PoolClient> } {
  return {
    async connect() {
      const client = await pool.connect();
      return proxiedClient(client, insteadOf(client));
    },
  };
}

function asObject(given: string | AskedQuery, values: unknown[] | undefined): AskedQuery {
  if (typeof given === 'string') return values === undefined ? { text: given } : { text: given, values };
  return given;
}
