import type { PoolClient, QueryResult } from 'pg';

interface AskedQuery {
  readonly text: string;
  readonly name?: string;
  readonly values?: unknown[];
}

interface Instead {
  readonly query?: (asked: AskedQuery) => unknown;
  readonly release?: (destroy?: boolean) => void;
}

/** Replaces some methods. A text query becomes an object. */
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

/**
 * `lost`: the connection ends before the query; `unanswered`: after Postgres has done it; `silent`: no answer ever; or
 * Postgres rejects it with a SQLSTATE.
 */
export type Interference = 'lost' | 'unanswered' | 'silent' | { readonly code: string } | null;

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

/** Interferes only after `arm`. */
export function armedPool(pool: { connect(): Promise<PoolClient> }, interfere: (text: string) => Interference) {
  let isArmed = false;
  return {
    source: interferedPool(pool, (text) => (isArmed ? interfere(text) : null)),
    arm: () => void (isArmed = true),
  };
}

/** Interferes with the first `times` queries that fit, and counts them all. */
export function once(fits: (text: string) => boolean, interference: Exclude<Interference, null>, times = 1) {
  const seen = { count: 0 };
  const interfere = (text: string): Interference => {
    if (!fits(text)) return null;
    seen.count += 1;
    return seen.count <= times ? interference : null;
  };
  return { seen, interfere };
}

export function rewrittenPool(
  pool: { connect(): Promise<PoolClient> },
  rewrite: (text: string) => string,
): { connect(): Promise<PoolClient> } {
  return proxiedPool(pool, (client) => ({
    query: (asked) => client.query({ ...asked, text: rewrite(asked.text) }),
  }));
}

/** A mutant: it reads slots without their locks. */
export function unlockedPool(pool: { connect(): Promise<PoolClient> }): { connect(): Promise<PoolClient> } {
  return rewrittenPool(pool, (text) => text.replace(/(ORDER BY slot)\s+FOR UPDATE( SKIP LOCKED)?/, '$1'));
}

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
