import type { PrunableState, PruneCriteria, PrunePosition } from '../../../operator/removal.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
} from '../../../rules/pruning.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY } from '../../sql/queue-statements.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`. */
export function pruneCandidates(
  database: SqliteDatabase,
  criteria: PruneCriteria,
  after: PrunePosition | null,
  limit: number,
): PruneCandidates {
  const [first = null] = statesToPrune(criteria);
  const from = after ?? beginningOf(first);
  if (from === null) return { found: [], next: null };
  const { state } = from;
  const looked = criteria.types === undefined && isIndexed(criteria, state) ? Math.min(limit, EXAMINED) : EXAMINED;
  return candidatesAmong(criteria, state, lookAt(database, criteria, from, looked), looked, limit);
}

/** Whether an index names the endpoint: of other states there are few. */
function isIndexed({ endpoint }: PruneCriteria, state: PrunableState): boolean {
  return endpoint === undefined || state === 'processed';
}

/** The first behind a position. */
function lookAt(
  database: SqliteDatabase,
  { settledBefore, endpoint }: PruneCriteria,
  from: PrunePosition,
  looked: number,
): readonly LookedAt[] {
  const before = settledBefore.getTime();
  const { state, settledMs, seq } = from;
  if (state !== 'processed') {
    const rows = statement(database, ofState(state)).all({ before, settledMs, seq, looked });
    return rows as LookedAt[];
  }
  let rows: readonly LookedAt[] = [];
  for (const named of endpoint === undefined ? prunableEndpoints(database) : [endpoint]) {
    // No later than what others have had when there are enough.
    const until = rows.length < looked ? before : (rows.at(-1)?.settledMs ?? 0) + 1;
    const more = statement(database, PROCESSED).all({ endpoint: named, before: until, settledMs, seq, looked });
    rows = [...rows, ...(more as LookedAt[])].toSorted(inOrder).slice(0, looked);
  }
  return rows;
}

function inOrder(one: LookedAt, other: LookedAt): number {
  return one.settledMs - other.settledMs || one.seq - other.seq;
}

function prunableEndpoints(database: SqliteDatabase): readonly string[] {
  const rows = statement(database, ENDPOINTS).all() as readonly { value: string }[];
  return rows.map(({ value }) => value);
}

const ENDPOINTS = `WITH RECURSIVE ${PRUNABLE_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`;
const BEHIND = `
  AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq) ORDER BY settled_ms, seq LIMIT +:looked`;
const LOOK = 'SELECT seq, settled_ms AS settledMs, type, endpoint FROM hookbox_events';
/** What is settled is in the order of its time at each endpoint, and there are few of these. */
const PROCESSED = `${LOOK} WHERE ${PRUNABLE} AND endpoint = +:endpoint ${BEHIND}`;

function ofState(state: PrunableState): string {
  return `${LOOK} INDEXED BY hookbox_events_put_away_at WHERE ${PUT_AWAY} AND state = '${state}' AND body IS NOT NULL ${BEHIND}`;
}
