import type { PrunableState } from '../../event.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import type { Reader } from '../../operator/sql.ts';
import type { PruneCriteria, PrunePosition, LookedAt } from '../../rules/pruning.ts';
import { distinctEndpoints } from '../engine/due-events.ts';
import { prunableIn } from '../engine/settled-events.ts';
import { rowOf, type Tables } from '../sql/tables.ts';

export function pruningEngine(t: Tables): PruningEngine {
  return {
    hasIndex: () => true,
    lookAt: (reader, ...given) => lookAt(reader, t, ...given),
    // Deliveries wait only for the slots of these events.
    worksLighter: 50,
    holdsLighter: 4,
  };
}

async function lookAt(
  { rows, toDatabase }: Reader,
  t: Tables,
  { endpoint, settledBefore }: PruneCriteria,
  from: PrunePosition,
  looked: number,
): Promise<readonly LookedAt[]> {
  const { state } = from;
  const lanesOf = tablesOf(t, state);
  const endpoints = new Set(endpoint === undefined ? [] : [endpoint]);
  if (endpoint === undefined) {
    for (const [table, time, where] of lanesOf) {
      const text = distinctEndpoints(
        table,
        where,
        state === 'processed' ? `endpoint, ${time}` : 'state, endpoint, settled_ms',
      );
      for (const row of await rows<{ endpoint: string }>({ text })) endpoints.add(row.endpoint);
    }
  }
  // Indexes order events by time at each endpoint.
  const lanes = lanesOf.map(
    ([table, time, where]) =>
      `SELECT next.* FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
         SELECT seq, ${time} AS settled_ms FROM ${table} AS settled
         WHERE ${where} AND endpoint = named.endpoint AND ${time} < $2::bigint AND (${time}, seq) > ($3::bigint, $4::bigint)
         ORDER BY ${time}, seq LIMIT $5
       ) AS next`,
  );
  return rows<LookedAt>({
    text: `
      SELECT next.seq, next.settled_ms AS "settledMs", events.type, events.endpoint
     FROM (SELECT * FROM (${lanes.join(' UNION ALL ')}) AS lanes ORDER BY settled_ms, seq LIMIT $5) AS next
       CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = next.seq')}
     ORDER BY next.settled_ms, next.seq`,
    values: [[...endpoints], toDatabase(settledBefore.getTime()), from.settledMs, from.seq, looked],
  });
}

type PrunableTable = readonly [table: string, time: string, where: string];

function tablesOf(t: Tables, state: PrunableState): readonly PrunableTable[] {
  if (state !== 'processed') return [[t.shelf, 'settled_ms', `state = '${state}' AND NOT pruned`]];
  return prunableIn(t).map(([table, time]) => [table, time, 'prunable']);
}
