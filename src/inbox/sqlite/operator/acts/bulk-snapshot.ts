import { askedByFilter, mayBeDone } from '../../../rules/operator-acts.ts';
import { BreakdownSums } from '../../../operator/breakdown.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';
import { rowOfSeq } from './act-on-events.ts';
import { breakdownOf, filterOf, type BulkRow } from './bulk-record.ts';

/** A bulk whose snapshot is being taken. */
export type FillingRow = Pick<BulkRow, 'id' | 'act' | 'force' | 'filter' | 'breakdown'>;

export function findFilling(database: SqliteDatabase, id: number): FillingRow | undefined {
  // One that was created at 0 is being cleared away (clear-old-bulks.ts).
  const sql =
    "SELECT id, act, force, filter, breakdown FROM hookbox_bulks WHERE id = ? AND state = 'filling' AND created_ms > 0";
  return statement(database, sql).get(id) as FillingRow | undefined;
}

/** Adds events to a snapshot and to what is said of it: those that the act applies to, as they are now, and each once. */
export function fill(
  database: SqliteDatabase,
  { id, act, force, filter, breakdown }: FillingRow,
  seqs: readonly number[],
): void {
  const add = statement(
    database,
    'INSERT INTO hookbox_bulk_events (bulk, seq) VALUES (?, ?) ON CONFLICT (bulk, seq) DO NOTHING',
  );
  const asked = askedByFilter(act, force === 1, filterOf(filter));
  const sums = new BreakdownSums(breakdownOf({ breakdown }));
  let added = 0;
  for (const seq of seqs) {
    const row = rowOfSeq(database, seq);
    if (row === null || !mayBeDone(asked, row) || add.run(id, row.seq).changes === 0) continue;
    added += 1;
    sums.add(row.state, row.type, row.deadReason);
  }
  statement(database, 'UPDATE hookbox_bulks SET total = total + ?, breakdown = ? WHERE id = ?').run(
    added,
    JSON.stringify(sums.toBreakdown()),
    id,
  );
}
