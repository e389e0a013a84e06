import type { EntityOf } from '../../../../events/entity.ts';
import { actedInOrder, selectActed } from '../../../operator/summaries.ts';
import { type ActResult, atCommit, type Author } from '../../../operator/acts.ts';
import { batchWrites, bulkIn, heldBulk, startLine, type BulkEngine } from '../../../operator/bulks.ts';
import { nextBatch, type EventMove } from '../../../rules/acts.ts';
import { actingOf, hasEnded, type BulkStep } from '../../../rules/bulks.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { rowsOf, sqlite } from '../operator-tables.ts';
import { actOn, advanceQueues } from './act-on-events.ts';

/** So many events are read before they are moved. */
const BATCH = 10;

export function bulkEngine(access: Access): BulkEngine {
  return {
    advance: (id, limit, author, entity) =>
      access.write((statements, waitedMs) => advance(statements, id, limit, atCommit(author, waitedMs), entity)),
    clear: (old, limit) => `
      DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
        SELECT events.bulk, events.seq FROM hookbox_bulks AS bulks
          CROSS JOIN hookbox_bulk_events AS events ON events.bulk = bulks.id
        WHERE ${old} LIMIT ${limit}
      ) RETURNING seq`,
  };
}

/** The first events of a snapshot without a result. */
const OPEN = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = +$1 AND result IS NULL ORDER BY seq LIMIT +$2';

function advance(
  statements: Statements,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): BulkStep {
  const slice = timeSlice(0);
  const { database } = statements;
  const bulk = bulkIn(rowsOf(database, heldBulk(sqlite, id)));
  if (bulk === null || hasEnded(bulk)) return { bulk, moved: false };
  const audit = bulk.audit ?? seqOf(rowsOf(database, startLine(sqlite, bulk, author))[0]);
  const acting = actingOf(bulk, author, entity);
  const open = rowsOf(database, { text: OPEN, values: [id, limit + 1] }).map(seqOf);
  const seqs = open.slice(0, limit);
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < seqs.length) {
    const next = seqs.slice(results.length, results.length + BATCH);
    const rows = actedInOrder(next, rowsOf(database, selectActed(sqlite, next)));
    const plan = actOn(statements, nextBatch(rows, BATCH), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  advanceQueues(statements, moves, author.now);
  const { save, notes } = batchWrites(sqlite, { bulk, audit, author, open, results, moves });
  for (const note of notes) rowsOf(database, note);
  return { bulk: bulkIn(rowsOf(database, save)), moved: results.includes('done') };
}

function seqOf(row: unknown): number {
  return (row as { seq: number }).seq; // a column of these statements
}
