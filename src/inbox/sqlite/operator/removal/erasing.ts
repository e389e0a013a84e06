import { atCommit } from '../../../operator/acts.ts';
import type { ErasingEngine } from '../../../operator/erasing.ts';
import { sizesBySeq, sizesInOrder } from '../../../operator/export.ts';
import { namesIn } from '../../../operator/finding/bodies.ts';
import { withinBudget } from '../../../rules/budget.ts';
import { eventsToUnpark } from '../../../rules/entity-order.ts';
import {
  ERASED_ERROR,
  eventsAbout,
  planErase,
  type ErasableEvent,
  type ErasePlan,
  type FoundEvent,
} from '../../../rules/erasing.ts';
import { entityTerm } from '../../../rules/entity-terms.ts';
import { seenSince } from '../../../rules/processors.ts';
import { hashOf } from '../../../rules/accept.ts';
import { holdingTypesOf, nextInQueue } from '../../engine/entity-queue.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { STATE_TO_ACT_ON } from '../../sql/records.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addToAuditLine, noteActed } from '../audit-line.ts';
import { rowsOf, sqlite } from '../operator-tables.ts';
import { bodyText } from '../search/body-text.ts';
import { forgetTerms, hasTerm } from '../search/search-words.ts';
import { emptyLog, securely } from './secure-deletion.ts';

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
        securely(database, () => save(statements, plan, entity, now));
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

function save(statements: Statements, plan: ErasePlan, entity: string, now: number): void {
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
