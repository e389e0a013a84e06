import { performance, delay } from '../../../host/real-timers.ts';
import { atCommit } from '../../operator/acts.ts';
import type { ErasingEngine } from '../../operator/erasing.ts';
import { sizesBySeq, sizesInOrder } from '../../operator/export.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import type { PrunableState } from '../../event.ts';
import {
  type PruneCriteria,
  type PrunePosition,
  planPrune,
  type LookedAt,
  type SettledEvent,
} from '../../rules/pruning.ts';
import { withinBudget } from '../../rules/budget.ts';
import {
  ERASED_ERROR,
  eventsAbout,
  planErase,
  type ErasableEvent,
  type ErasePlan,
  type FoundEvent,
} from '../../rules/erasing.ts';
import { entityTerm } from '../../rules/entity-terms.ts';
import { hashOf } from '../../rules/accept.ts';
import { withoutWaiting } from '../connection.ts';
import { pruneBodies } from '../engine/deliveries.ts';
import { unparkNext } from '../engine/entity-queue.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import { type SqliteDatabase, isBusy } from '../opening/database.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY, STATE_TO_ACT_ON } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import { type Access, addToAuditLine, noteActed, rowsOf, sqlite } from './access.ts';
import { bodyText, forgetTerms, hasTerm } from './search-words.ts';

/** One transaction erases at most so many events: deliveries share its commit, and the event loop waits. */
const BATCH_EVENTS = 50;

export function erasingEngine(access: Access): ErasingEngine {
  return {
    notesInOrder: true,
    about: async (found, entity) => eventsAbout(foundEvents(access.database(), found, entity), entity),
    eraseSome(events, { entity, audit, author }) {
      return access.write((statements, waitedMs) => {
        const { database } = statements;
        const { now } = atCommit(author, waitedMs);
        const given = events.slice(0, BATCH_EVENTS).map(({ seq }) => seq);
        const sizes = sizesInOrder(given, rowsOf(database, sizesBySeq(sqlite, given)));
        // SQLite overwrites erased bytes, so it writes them twice.
        const batch = withinBudget(sizes.map(({ seq, bytes }) => ({ seq, bytes: 2 * bytes }))).map(({ seq }) => seq);
        const plan = planErase(eventsAbout(foundEvents(database, batch, entity), entity));
        securely(database, () => saveErased(statements, plan, entity, now));
        const { acted, erased, inProcessing } = plan;
        addToAuditLine(database, audit, { erased, inProcessing });
        noteActed(database, audit, acted, now);
        return { erased, inProcessing, worked: batch.length };
      });
    },
    emptyLog: () => emptyLog(access),
  };
}

function foundEvents(database: SqliteDatabase, seqs: readonly number[], entity: string): readonly FoundEvent[] {
  const term = entityTerm(entity);
  const select = statement<ErasableEvent>(
    database,
    `SELECT seq, endpoint, id, type, entity, ${STATE_TO_ACT_ON} FROM hookbox_events WHERE seq = ?`,
  );
  return seqs.flatMap((seq) => {
    const event = select.get(seq);
    if (event === undefined) return [];
    const isFound = hasTerm(database, event, term);
    const beside = isFound ? null : namesIn(bodyText(database, 'hookbox_conflicts', seq));
    return [{ ...event, hasTerm: isFound, beside }];
  });
}

function saveErased(statements: Statements, plan: ErasePlan, entity: string, now: number): void {
  const { counts, database, moves, queue, store } = statements;
  const forgetTerm = statement(database, 'DELETE FROM hookbox_terms WHERE term = ? AND seq = ?');
  const eraseErrors = statement(
    database,
    `UPDATE hookbox_attempts
     SET error_name = iif(error_name IS NULL, NULL, ?), error_message = NULL, error_stack = NULL, skipped = NULL
     WHERE seq = ? AND (error_name IS NOT NULL OR skipped IS NOT NULL)`,
  );
  const forgetMark = statement(database, 'DELETE FROM hookbox_entities WHERE entity = ? AND endpoint = ?');
  const emptyConflict = statement(database, "UPDATE hookbox_conflicts SET body = x'' WHERE seq = ?");
  for (const { event, state } of plan.tombstones) {
    const { seq } = event;
    // Before the row changes, because its terms follow from it. Only the index knows the terms of a pruned event.
    forgetTerms(database, event);
    forgetTerm.run(entityTerm(entity), seq);
    const { body } = queue.bodyOf.one({ seq });
    moves.erase.run({ seq, state, hash: body && hashOf(body), now });
    eraseErrors.run(ERASED_ERROR, seq);
    queue.pruneConflict.run({ seq });
    if (event.entity !== null) forgetMark.run(event.entity, event.endpoint);
  }
  for (const seq of plan.emptied) emptyConflict.run(seq);
  for (const { type } of plan.discarded) counts.countType('discarded', type);
  unparkNext(store, plan.left, now);
}

export function pruningEngine(access: Access): PruningEngine {
  return {
    hasIndex: (state) => state === 'processed',
    lookAt: async (criteria, from, looked) => lookAt(access.database(), criteria, from, looked),
    async prune(found, settledBefore, audit) {
      let heldSince = 0;
      const done = await access.write((statements) => {
        heldSince = performance.now();
        const plan = planPrune(found, settledEvents(statements.database, found), settledBefore.getTime());
        pruneBodies(statements, plan.prune);
        const pruned = plan.prune.length;
        if (audit !== undefined) addToAuditLine(statements.database, audit, { pruned });
        return { pruned, worked: plan.worked, workMs: performance.now() - heldSince };
      });
      return { ...done, heldMs: performance.now() - heldSince };
    },
  };
}

function settledEvents(database: SqliteDatabase, found: readonly PrunePosition[]): ReadonlyMap<number, SettledEvent> {
  const sql = 'SELECT state, settled_ms AS settledAt, length(body) AS bytes FROM hookbox_events WHERE seq = ?';
  const select = statement<SettledEvent>(database, sql);
  const rows = found.flatMap(({ seq }) => {
    const event = select.get(seq);
    return event === undefined ? [] : [[seq, event] as const];
  });
  return new Map(rows);
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
  for (const named of endpoint === undefined ? prunableEndpoints(database) : [endpoint]) {
    // Once there are enough, only earlier ones count.
    const until = rows.length < looked ? before : (rows.at(-1)?.settledMs ?? 0) + 1;
    const more = statement<LookedAt>(database, PROCESSED).all({ ...behind, endpoint: named, before: until });
    rows = [...rows, ...more].toSorted((a, b) => a.settledMs - b.settledMs || a.seq - b.seq).slice(0, looked);
  }
  return rows;
}

function prunableEndpoints(database: SqliteDatabase): readonly string[] {
  const sql = `WITH RECURSIVE ${PRUNABLE_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`;
  return statement<{ value: string }>(database, sql)
    .all()
    .map(({ value }) => value);
}

const BEHIND = `
  AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq) ORDER BY settled_ms, seq LIMIT +:looked`;
const LOOK = 'SELECT seq, settled_ms AS settledMs, type, endpoint FROM hookbox_events';
const PROCESSED = `${LOOK} WHERE ${PRUNABLE} AND endpoint = +:endpoint ${BEHIND}`;

function ofState(state: PrunableState): string {
  return `${LOOK} INDEXED BY hookbox_events_put_away_at WHERE ${PUT_AWAY} AND state = '${state}' AND body IS NOT NULL ${BEHIND}`;
}

/** SQLite overwrites with zeros everything that `work` deletes. */
function securely<T>(database: SqliteDatabase, work: () => T): T {
  const before = Number(database.pragma('secure_delete', { simple: true }));
  database.pragma('secure_delete = ON');
  try {
    return work();
  } finally {
    database.pragma(`secure_delete = ${before === 2 ? 'FAST' : before}`);
  }
}

export function secureAccess(access: Access): Access {
  return {
    ...access,
    write: (work) =>
      access.write((statements, waitedMs) => securely(statements.database, () => work(statements, waitedMs))),
  };
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 50;

/** Empties the write-ahead log, which has older versions of pages. Returns `false` if others used the log all the time. */
async function emptyLog(access: Access): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    if (await access.alone(checkpointed)) return true;
    if (tried === TRIES) return false;
    await delay(BETWEEN_TRIES_MS);
  }
}

function checkpointed(database: SqliteDatabase): boolean {
  try {
    const busy = withoutWaiting(database, () => database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }));
    return Number(busy) === 0; // the application's connection may return a bigint
  } catch (failure) {
    // The application is in its own transaction, or reads rows one by one.
    if (isBusy(failure) || failure instanceof TypeError) return false;
    throw failure;
  }
}
