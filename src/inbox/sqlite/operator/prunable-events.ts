import type { PrunableState } from '../../event.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import type { LookedAt, PruneCriteria, PrunePosition } from '../../rules/pruning.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { prepareNamedStatements, PRUNABLE, PUT_AWAY } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import type { Access } from './access.ts';

export function pruningEngine({ database }: Access): PruningEngine {
  return {
    hasIndex: (state) => state === 'processed',
    lookAt: async (_, ...given) => lookAt(database(), ...given),
    worksLighter: 1,
    holdsLighter: 1,
  };
}

function lookAt(
  database: SqliteDatabase,
  { settledBefore, endpoint }: PruneCriteria,
  { state, settledMs, seq }: PrunePosition,
  looked: number,
): readonly LookedAt[] {
  const before = settledBefore.getTime();
  const behind = { settledMs, seq, looked };
  if (state !== 'processed') return statement<LookedAt>(database, ofState(state)).all({ ...behind, before });
  let rows: LookedAt[] = [];
  const all = () =>
    prepareNamedStatements(database)
      .queue.prunableEndpoints.all()
      .map(({ value }) => value);
  for (const named of endpoint === undefined ? all() : [endpoint]) {
    // Only earlier rows count now.
    const until = rows.length < looked ? before : (rows.at(-1)?.settledMs ?? 0) + 1;
    const more = statement<LookedAt>(database, PROCESSED).all({ ...behind, endpoint: named, before: until });
    rows = [...rows, ...more].toSorted((a, b) => a.settledMs - b.settledMs || a.seq - b.seq).slice(0, looked);
  }
  return rows;
}

const BEHIND = `
  AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq) ORDER BY settled_ms, seq LIMIT +:looked`;
const LOOK = 'SELECT seq, settled_ms AS settledMs, type, endpoint FROM hookbox_events';
const PROCESSED = `${LOOK} WHERE ${PRUNABLE} AND endpoint = +:endpoint ${BEHIND}`;

function ofState(state: PrunableState): string {
  return `${LOOK} INDEXED BY hookbox_events_put_away_at WHERE ${PUT_AWAY} AND state = '${state}' AND body IS NOT NULL ${BEHIND}`;
}
