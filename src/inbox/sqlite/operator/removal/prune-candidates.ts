import type { PruneCriteria, PrunePosition } from '../../../operator/removal.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
} from '../../../rules/pruning.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`, by one statement. */
export function pruneCandidates(
  database: SqliteDatabase,
  criteria: PruneCriteria,
  after: PrunePosition | null,
  limit: number,
): PruneCandidates {
  const { settledBefore, types, endpoint } = criteria;
  const [first = null] = statesToPrune(criteria);
  const from = after ?? beginningOf(first);
  if (from === null) return { found: [], next: null };
  const { state } = from;
  const allFit = types === undefined && endpoint === undefined;
  const looked = allFit ? Math.min(limit, EXAMINED) : EXAMINED;
  const rows = statement(
    database,
    // Each state has an index of its own; it is only used for a query that says the state as the index does.
    `SELECT seq, settled_ms AS settledMs, type, endpoint FROM hookbox_events
     WHERE state = '${state}' AND body IS NOT NULL
       AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq)
     ORDER BY settled_ms, seq LIMIT +:looked`,
  ).all({ before: settledBefore.getTime(), settledMs: from.settledMs, seq: from.seq, looked }) as LookedAt[];
  return candidatesAmong(criteria, state, rows, looked, limit);
}
