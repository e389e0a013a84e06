import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../access.ts';
import { appliesTo, rowOfSeq } from './act-on-event.ts';
import { breakdownOf, type BulkRow } from './bulk-record.ts';
import { Sums } from '../sums.ts';

/** Types are the sender's text: a breakdown names so many, and no longer ones. */
const MOST_TYPES = 100;
const TYPE_CHARACTERS = 200;

/** A bulk whose snapshot is being taken. */
export type FillingRow = Pick<BulkRow, 'id' | 'act' | 'force' | 'breakdown'>;

export function findFilling(database: SqliteDatabase, id: number): FillingRow | undefined {
  // One that was created at 0 is being cleared away (bulk-upkeep.ts).
  const sql =
    "SELECT id, act, force, breakdown FROM hookbox_bulks WHERE id = ? AND state = 'filling' AND created_ms > 0";
  return statement(database, sql).get(id) as FillingRow | undefined;
}

/** Adds events to a snapshot and to what is said of it: those that the act applies to, as they are now, and each once. */
export function fill(
  database: SqliteDatabase,
  { id, act, force, breakdown }: FillingRow,
  seqs: readonly number[],
): void {
  const add = statement(
    database,
    'INSERT INTO hookbox_bulk_events (bulk, seq) VALUES (?, ?) ON CONFLICT (bulk, seq) DO NOTHING',
  );
  const before = breakdownOf({ breakdown });
  const states = new Sums(before.states);
  const types = new Sums(before.types);
  const deadReasons = new Sums(before.deadReasons);
  let added = 0;
  for (const seq of seqs) {
    const row = rowOfSeq(database, seq);
    if (row === undefined || !appliesTo({ act, force: force === 1 }, row)) continue;
    if (add.run(id, seq).changes === 0) continue;
    added += 1;
    states.add(row.state);
    types.add(typeIn(types, row.type));
    if (row.dead_reason !== null) deadReasons.add(row.dead_reason);
  }
  const after = { states: states.toRecord(), types: types.toRecord(), deadReasons: deadReasons.toRecord() };
  statement(database, 'UPDATE hookbox_bulks SET total = total + ?, breakdown = ? WHERE id = ?').run(
    added,
    JSON.stringify(after),
    id,
  );
}

function typeIn(types: Sums, type: string | null): string {
  if (type === null) return 'invalid';
  const name = type.slice(0, TYPE_CHARACTERS).toWellFormed();
  return types.has(name) || types.size < MOST_TYPES ? name : 'other';
}
