import type { AuditLine } from '../../../operator/audit.ts';
import { addCounts, type Author } from '../../../rules/audit-line.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Adds a line in the transaction of its action, and returns its `seq`. */
export function addAuditLine(
  database: SqliteDatabase,
  act: string,
  { actor, via, reason, now }: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): number {
  const { lastInsertRowid } = statement(
    database,
    'INSERT INTO hookbox_audit (at_ms, actor, via, act, reason, filter, counts) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ).run(now, actor, via, act, reason, JSON.stringify(filter ?? null), JSON.stringify(counts));
  return Number(lastInsertRowid);
}

/** Replaces the counts of a line, as an action that takes several transactions goes on. */
export function recountAuditLine(database: SqliteDatabase, seq: number, counts: AuditLine['counts']): void {
  statement(database, 'UPDATE hookbox_audit SET counts = ? WHERE seq = ?').run(JSON.stringify(counts), seq);
}

/** Notes the events that the action of a line changed, so that each event can say who acted on it. */
export function noteActed(database: SqliteDatabase, line: number, events: readonly number[], now: number): void {
  if (events.length === 0) return;
  statement(
    database,
    `INSERT INTO hookbox_event_acts (seq, audit, at_ms) SELECT value, ?, ? FROM json_each(?) WHERE true
     ON CONFLICT DO NOTHING`,
  ).run(line, now, JSON.stringify(events));
}

/** Adds to the counts of a line. */
export function addToAuditLine(database: SqliteDatabase, seq: number, more: AuditLine['counts']): void {
  const row = statement(database, 'SELECT counts FROM hookbox_audit WHERE seq = ?').get(seq);
  if (row === undefined) return;
  const before = JSON.parse((row as { counts: string }).counts) as AuditLine['counts']; // written here
  recountAuditLine(database, seq, addCounts(before, more));
}
