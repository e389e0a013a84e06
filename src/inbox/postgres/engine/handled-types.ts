import { PAUSE_COLUMNS, pauseOf, type PauseRow, type StoredPause } from '../../rules/pauses.ts';
import type { Scope } from '../../work.ts';
import type { Scene } from './scene.ts';

/** The types of an endpoint that a processor has announced since then. */
export async function handledTypesOf(
  { session, t }: Pick<Scene, 'session' | 't'>,
  endpoint: string,
  since: number,
): Promise<Scope['types']> {
  const text = `SELECT DISTINCT type FROM ${t.handling} WHERE endpoint IN ($1, '*') AND seen_ms > $2`;
  const rows = await session.rows<{ type: string }>(text, [endpoint, since]);
  const types = rows.map(({ type }) => type);
  return types.includes('*') ? '*' : types;
}

/** What is paused: a few types at most, because people pause them. */
export async function pausesOf({ session, t }: Pick<Scene, 'session' | 't'>): Promise<readonly StoredPause[]> {
  return (await session.rows<PauseRow>(`SELECT ${PAUSE_COLUMNS} FROM ${t.pauses}`)).map(pauseOf);
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
  return rows.map(({ endpoint }) => endpoint);
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
