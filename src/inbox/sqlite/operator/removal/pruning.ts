import { performance } from '../../../../host/real-timers.ts';
import type { PruningEngine } from '../../../operator/pruning.ts';
import type { PruneCriteria, PrunePosition } from '../../../rules/pruning.ts';
import type { PrunableState } from '../../../event.ts';
import { planPrune, type LookedAt, type SettledEvent } from '../../../rules/pruning.ts';
import { hashOf } from '../../../rules/accept.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY } from '../../sql/queue-statements.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addToAuditLine } from '../audit-line.ts';

export function pruningEngine(access: Access): PruningEngine {
  return {
    // Of other states there are few.
    hasIndex: (state) => state === 'processed',
    lookAt: async (criteria, from, looked) => lookAt(access.database(), criteria, from, looked),
    async prune(found, settledBefore, audit) {
      let heldSince = 0;
      const done = await access.write((statements) => {
        heldSince = performance.now();
        const plan = planPrune(found, settledEvents(statements.database, found), settledBefore.getTime());
        save(statements, plan.prune);
        const pruned = plan.prune.length;
        if (audit !== undefined) addToAuditLine(statements.database, audit, { pruned });
        return { pruned, worked: plan.worked, workMs: performance.now() - heldSince };
      });
      return { ...done, heldMs: performance.now() - heldSince };
    },
  };
}

function settledEvents(database: SqliteDatabase, found: readonly PrunePosition[]): ReadonlyMap<number, SettledEvent> {
  const select = statement(
    database,
    'SELECT state, settled_ms AS settledAt, length(body) AS bytes FROM hookbox_events WHERE seq = ?',
  );
  const rows = found.flatMap(({ seq }) => {
    const event = select.get(seq) as SettledEvent | undefined;
    return event === undefined ? [] : [[seq, event] as const];
  });
  return new Map(rows);
}

function save({ moves, queue }: Statements, seqs: readonly number[]): void {
  for (const seq of seqs) {
    const { body } = queue.bodyOf.get({ seq }) as { readonly body: Uint8Array };
    moves.prune.run({ seq, hash: hashOf(body) });
    queue.pruneAttempts.run({ seq });
    queue.pruneConflict.run({ seq });
  }
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
