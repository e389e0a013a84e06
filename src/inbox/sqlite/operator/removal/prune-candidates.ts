import type { PrunableState, PruneCriteria, PrunePosition } from '../../../operator/removal.ts';
import { isMeant, statesToPrune } from '../../../rules/pruning.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** An event that the criteria fit, and how far the search for it has come. */
type Candidate = PrunePosition;

export interface Candidates {
  readonly found: readonly Candidate[];
  /** where to go on; `null` when everything was looked at */
  readonly next: PrunePosition | null;
}

interface CandidateRow {
  readonly seq: number;
  readonly settled_ms: number;
  readonly type: string | null;
  readonly endpoint: string;
}

/** How many events one look goes through where not all of them fit. */
const EXAMINED = 1_000;

/** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`, by one statement. */
export function pruneCandidates(
  database: SqliteDatabase,
  criteria: PruneCriteria,
  after: PrunePosition | null,
  limit: number,
): Candidates {
  const { settledBefore, types, endpoint } = criteria;
  const states = statesToPrune(criteria);
  const [first = null] = states;
  const from = after ?? beginningOf(first);
  if (from === null) return { found: [], next: null };
  const { state } = from;
  const allFit = types === undefined && endpoint === undefined;
  const looked = allFit ? Math.min(limit, EXAMINED) : EXAMINED;
  const rows = statement(
    database,
    // Each state has an index of its own; it is only used for a query that says the state as the index does.
    `SELECT seq, settled_ms, type, endpoint FROM hookbox_events
     WHERE state = '${state}' AND body IS NOT NULL
       AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq)
     ORDER BY settled_ms, seq LIMIT +:looked`,
  ).all({ before: settledBefore.getTime(), settledMs: from.settledMs, seq: from.seq, looked }) as CandidateRow[];

  const found: Candidate[] = [];
  for (const row of rows) {
    if (!isMeant(criteria, row)) continue;
    const candidate = positionOf(state, row);
    found.push(candidate);
    if (found.length === limit) return { found, next: candidate };
  }
  const last = rows.at(-1);
  if (last !== undefined && rows.length === looked) return { found, next: positionOf(state, last) };
  return { found, next: beginningOf(states[states.indexOf(state) + 1] ?? null) };
}

function positionOf(state: PrunableState, { settled_ms, seq }: CandidateRow): PrunePosition {
  return { state, settledMs: settled_ms, seq };
}

function beginningOf(state: PrunableState | null): PrunePosition | null {
  return state === null ? null : { state, settledMs: Number.MIN_SAFE_INTEGER, seq: 0 };
}
