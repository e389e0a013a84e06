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
import { seenSince } from '../../rules/processors.ts';
import { entityTerm } from '../../rules/entity-terms.ts';
import { hashOf } from '../../rules/accept.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import { withoutWaiting } from '../connection.ts';
import { holdingTypesOf, nextInQueue } from '../engine/entity-queue.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import { type SqliteDatabase, isBusy } from '../opening/database.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY, STATE_TO_ACT_ON } from '../sql/queue-statements.ts';
import { statement } from '../sql/statement.ts';
import { type Access, addToAuditLine, noteActed, rowsOf, sqlite } from './access.ts';
import { bodyText, forgetTerms, hasTerm } from './search-words.ts';

/** One transaction erases at most so many events: deliveries share its commit, and the event loop stands still. */
const BATCH_EVENTS = 50;

/** Removes what is kept about an entity. */
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
  const select = statement(
    database,
    `SELECT seq, endpoint, id, type, entity, ${STATE_TO_ACT_ON} FROM hookbox_events WHERE seq = ?`,
  );
  return seqs.flatMap((seq) => {
    const event = select.get(seq) as ErasableEvent | undefined;
    if (event === undefined) return [];
    const isFound = hasTerm(database, event, term);
    const beside = isFound ? null : namesIn(bodyText(database, 'hookbox_conflicts', seq));
    return [{ ...event, hasTerm: isFound, beside }];
  });
}

function saveErased(statements: Statements, plan: ErasePlan, entity: string, now: number): void {
  const { counts, database, moves, queue, store } = statements;
  const forgetTerm = statement(database, 'DELETE FROM hookbox_terms WHERE term = ? AND seq = ?');
  const bodyOf = statement(database, 'SELECT body FROM hookbox_events WHERE seq = ?');
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
    // Before the row changes: its terms follow from it. Only the index knows the terms of a pruned event.
    forgetTerms(database, event);
    forgetTerm.run(entityTerm(entity), seq);
    const { body } = bodyOf.get(seq) as { readonly body: Uint8Array | null };
    moves.erase.run({ seq, state, hash: body === null ? null : hashOf(body), now });
    eraseErrors.run(ERASED_ERROR, seq);
    queue.pruneConflict.run({ seq });
    if (event.entity !== null) forgetMark.run(event.entity, event.endpoint);
  }
  for (const seq of plan.emptied) emptyConflict.run(seq);
  for (const { type } of plan.discarded) counts.countType('discarded', type);
  const next = plan.left.map((each) =>
    nextInQueue(statements, each, holdingTypesOf(statements, each.endpoint, seenSince(now))),
  );
  store.apply([{ kind: 'unparked', seqs: eventsToUnpark(next) }]);
}

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

function pruneBodies({ moves, queue }: Statements, seqs: readonly number[]): void {
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

/** As `PRAGMA secure_delete` reads them. */
const SETTINGS = ['OFF', 'ON', 'FAST'] as const;

/** Has everything that `work` deletes overwritten with zeros; the connection's own setting is back afterwards. */
function securely<T>(database: SqliteDatabase, work: () => T): T {
  const before = Number(database.pragma('secure_delete', { simple: true }));
  database.pragma('secure_delete = ON');
  try {
    return work();
  } finally {
    database.pragma(`secure_delete = ${SETTINGS[before] ?? 'OFF'}`);
  }
}

/** What is written through it is written `securely`. */
export function secureAccess(access: Access): Access {
  return {
    ...access,
    write: (work) =>
      access.write((statements, waitedMs) => securely(statements.database, () => work(statements, waitedMs))),
  };
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 50;

/**
 * Moves everything from the write-ahead log into the file and cuts the log to nothing, so that older versions of pages are
 * gone too. `false` when somebody else was using it all the time.
 */
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
    // A connection of the application's may give bigints.
    return Number(busy) === 0;
  } catch (failure) {
    // The application is in its own transaction, or reads rows one by one.
    if (isBusy(failure) || failure instanceof TypeError) return false;
    throw failure;
  }
}
