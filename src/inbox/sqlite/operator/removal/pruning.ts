import { performance, turn } from '../../../../host/real-timers.ts';
import type { PrunableState, PruneCriteria, PrunePosition, Removal } from '../../../operator/removal.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  planPrune,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
  type SettledEvent,
} from '../../../rules/pruning.ts';
import { hashOf } from '../../../rules/tombstone.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY } from '../../sql/queue-statements.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addToAuditLine } from '../audit-line.ts';

/** How many events are counted between two turns of the event loop. */
const COUNTED = 1_000;

/** Makes tombstones of events that are settled. */
export function pruning(access: Access): Pick<Removal, 'prunable' | 'pruneSome'> {
  return {
    async prunable(criteria, limit, { signal, onProgress } = {}) {
      let count = 0;
      let after: PrunePosition | null = null;
      do {
        const { found, next } = pruneCandidates(access.database(), criteria, after, Math.min(COUNTED, limit - count));
        count += found.length;
        after = next;
        onProgress?.(count);
        await turn();
        if (signal?.aborted === true) break;
      } while (after !== null && count < limit);
      return count;
    },

    async pruneSome(criteria, limit, { after = null, audit } = {}) {
      // Found outside the transaction, where it costs deliveries nothing; what has changed since is passed over in it.
      const { found, next } = pruneCandidates(access.database(), criteria, after, limit);
      if (found.length === 0) return { pruned: 0, next, workMs: 0, heldMs: 0 };
      const before = criteria.settledBefore.getTime();
      let heldSince = 0;
      const done = await access.write((statements) => {
        heldSince = performance.now();
        const plan = planPrune(found, settledEvents(statements.database, found), before);
        save(statements, plan.prune);
        const pruned = plan.prune.length;
        if (audit !== undefined) addToAuditLine(statements.database, audit, { pruned });
        return { pruned, worked: plan.worked, workMs: performance.now() - heldSince };
      });
      const heldMs = performance.now() - heldSince;
      const { pruned, worked, workMs } = done;
      return { pruned, next: worked === found.length ? next : (found[worked - 1] ?? next), workMs, heldMs };
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

/** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`. */
function pruneCandidates(
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
