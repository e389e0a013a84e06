import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';
import { recountAuditLine } from './audit-line.ts';

/** Adds to the counts of a line in the transaction that they are about, so that they are right however a run ends. */
export function addToAuditLine(database: SqliteDatabase, seq: number, more: Readonly<Record<string, number>>): void {
  const row = statement(database, 'SELECT counts FROM hookbox_audit WHERE seq = ?').get(seq);
  if (row === undefined) return;
  const counts = JSON.parse((row as { counts: string }).counts) as Record<string, number>; // written by addAuditLine
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
  recountAuditLine(database, seq, counts);
}
