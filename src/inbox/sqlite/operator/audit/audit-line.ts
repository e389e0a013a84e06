import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';
import type { Author } from './author.ts';

type LineCounts = Readonly<Record<string, number>>;

/** Writes a line of the audit in the transaction of the act itself; returns its `seq`. */
export function addAuditLine(
  database: SqliteDatabase,
  act: string,
  { actor, via, reason, now }: Author,
  filter: unknown,
  counts: LineCounts,
): number {
  const { lastInsertRowid } = statement(
    database,
    'INSERT INTO hookbox_audit (at_ms, actor, via, act, reason, filter, counts) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ).run(now, actor, via, act, reason, JSON.stringify(filter ?? null), JSON.stringify(counts));
  return Number(lastInsertRowid);
}

/** Replaces the counts of a line, as an act that takes several transactions goes on. */
export function recountAuditLine(database: SqliteDatabase, seq: number, counts: LineCounts): void {
  statement(database, 'UPDATE hookbox_audit SET counts = ? WHERE seq = ?').run(JSON.stringify(counts), seq);
}

/** Adds to the counts of a line in the transaction that they are about, so that they are right however a run ends. */
export function addToAuditLine(database: SqliteDatabase, seq: number, more: LineCounts): void {
  const row = statement(database, 'SELECT counts FROM hookbox_audit WHERE seq = ?').get(seq);
  if (row === undefined) return;
  const counts = JSON.parse((row as { counts: string }).counts) as Record<string, number>; // written by addAuditLine
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
  recountAuditLine(database, seq, counts);
}
