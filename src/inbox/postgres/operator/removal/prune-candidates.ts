import type { PrunableState, PruneCriteria, PrunePosition } from '../../../operator/removal.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
} from '../../../rules/pruning.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import { distinctEndpoints } from '../../engine/takers.ts';
import { prunableEndpoints, prunableIn } from '../../engine/settled-events.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

interface LookedAtRow extends Pick<LookedAt, 'seq' | 'type' | 'endpoint'> {
  readonly settled_ms: number;
}

/** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`. */
export async function pruneCandidates(
  at: { readonly session: Session; readonly t: Tables },
  criteria: PruneCriteria,
  after: PrunePosition | null,
  limit: number,
): Promise<PruneCandidates> {
  const [first = null] = statesToPrune(criteria);
  const from = after ?? beginningOf(first);
  if (from === null) return { found: [], next: null };
  const { state } = from;
  const looked = criteria.types === undefined ? Math.min(limit, EXAMINED) : EXAMINED;
  const { session, t } = at;
  const endpoints = criteria.endpoint === undefined ? await endpointsOf(at, state) : [criteria.endpoint];
  // What is settled is in the order of its time at each endpoint, and there are few of these.
  const lanes = tablesOf(t, state).map(
    ([table, time, where]) =>
      `SELECT next.* FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
         SELECT seq, ${time} AS settled_ms FROM ${table} AS settled
         WHERE ${where} AND endpoint = named.endpoint AND ${time} < $2::bigint AND (${time}, seq) > ($3::bigint, $4::bigint)
         ORDER BY ${time}, seq LIMIT $5
       ) AS next`,
  );
  const rows = await session.rows<LookedAtRow>(
    `SELECT next.seq, next.settled_ms, events.type, events.endpoint
     FROM (SELECT * FROM (${lanes.join(' UNION ALL ')}) AS lanes ORDER BY settled_ms, seq LIMIT $5) AS next
       CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = next.seq')}
     ORDER BY next.settled_ms, next.seq`,
    [endpoints.map(toText), criteria.settledBefore.getTime(), from.settledMs, from.seq, looked],
  );
  const lookedAt = rows.map(({ seq, settled_ms: settledMs, type, endpoint }) => ({
    seq,
    settledMs,
    type: type === null ? null : fromText(type),
    endpoint: fromText(endpoint),
  }));
  return candidatesAmong(criteria, state, lookedAt, looked, limit);
}

type Lane = readonly [table: string, time: string, where: string];

function tablesOf(t: Tables, state: PrunableState): readonly Lane[] {
  if (state !== 'processed') return [[t.shelf, 'settled_ms', onShelf(state)]];
  return prunableIn(t).map(([table, time]) => [table, time, 'prunable']);
}

function onShelf(state: PrunableState): string {
  return `state = '${state}' AND NOT pruned`;
}

async function endpointsOf(
  at: { readonly session: Session; readonly t: Tables },
  state: PrunableState,
): Promise<readonly string[]> {
  if (state === 'processed') return prunableEndpoints(at);
  const text = distinctEndpoints(at.t.shelf, onShelf(state), 'state, endpoint, settled_ms');
  return (await at.session.rows<{ endpoint: string }>(text)).map(({ endpoint }) => fromText(endpoint));
}
