import type { StoredPause } from '../../operator/pauses.ts';
import type { Takers } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import { PAUSE_COLUMNS, pauseOf, type PauseRow } from '../sql/pause-row.ts';
import type { Scene } from './scene.ts';

/** Who handles what. */
export function takers({ session, t }: Pick<Scene, 'session' | 't'>): Takers {
  const isThere = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    (await session.row(text, values)) !== undefined;
  async function takenTypes(endpoint: string, since: number): Promise<Scope['types']> {
    const text = `SELECT DISTINCT type FROM ${t.takers} WHERE endpoint IN ($1, '*') AND seen_ms > $2`;
    const types = (await session.rows<{ type: string }>(text, [toText(endpoint), since])).map(({ type }) =>
      fromKey(type),
    );
    return types.includes('*') ? '*' : types;
  }
  async function pauses(): Promise<readonly StoredPause[]> {
    return (await session.rows<PauseRow>(`SELECT ${PAUSE_COLUMNS} FROM ${t.pauses}`)).map(pauseOf);
  }
  return {
    pauses: () => asked(pauses()),
    noteTaker({ endpoints, types, named = [] }, now) {
      // In one order, so that two who announce the same do not wait for each other.
      const text = `
        INSERT INTO ${t.takers} AS known (endpoint, type, seen_ms)
        SELECT DISTINCT named.endpoint, wanted.type, $3::bigint
        FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN unnest($2::text[]) AS wanted (type) ORDER BY 1, 2
        ON CONFLICT (endpoint, type) DO UPDATE SET seen_ms = excluded.seen_ms WHERE excluded.seen_ms > known.seen_ms`;
      const at = endpoints === '*' ? ['*'] : endpoints.map(toText);
      const wanted = types === '*' ? ['*', ...named.map(toKey)] : types.map(toKey);
      return asked(session.run(text, [at, wanted, now]).then(() => {}));
    },
    takenTypes: (endpoint, since) => asked(takenTypes(endpoint, since)),
    lastSeen(endpoint, type) {
      const text = `SELECT max(seen_ms) AS at FROM ${t.takers} WHERE endpoint IN ($1, '*') AND type IN ($2, '*')`;
      const found = session.row<{ at: number | null }>(text, [toText(endpoint), toKey(type)]);
      return asked(found.then((row) => row?.at ?? null));
    },
    isAnybodyThere: (since) => asked(isThere(`SELECT 1 FROM ${t.takers} WHERE seen_ms > $1 LIMIT 1`, [since])),
    wasEverHandled: (endpoint) =>
      asked(isThere(`SELECT 1 FROM ${t.takers} WHERE endpoint IN ($1, '*') LIMIT 1`, [toText(endpoint)])),
  };
}

/** The endpoints of a scope at which something may be claimed; one step through an index for each. */
export async function readyEndpoints(
  { session, t }: Pick<Scene, 'session' | 't'>,
  endpoints: Scope['endpoints'],
): Promise<readonly string[]> {
  if (endpoints !== '*') return endpoints;
  const rows = await session.rows<{ endpoint: string }>(
    distinctEndpoints(t.queue, 'lease_until_ms IS NULL AND NOT parked', 'endpoint, type'),
  );
  return rows.map(({ endpoint }) => fromText(endpoint));
}

/** @param order - of an index for this condition that begins with the endpoint */
export function distinctEndpoints(table: string, where: string, order: string): string {
  return `
    WITH RECURSIVE found AS (
      (SELECT endpoint FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT 1)
      UNION ALL
      SELECT next.endpoint FROM found CROSS JOIN LATERAL (
        SELECT endpoint FROM ${table} WHERE ${where} AND endpoint > found.endpoint ORDER BY ${order} LIMIT 1
      ) AS next
    ) SELECT endpoint FROM found`;
}
