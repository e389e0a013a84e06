import { actedEvents, auditLine, countsOfLine, moreCounts, type AuditLine } from '../../operator/audit.ts';
import type { Author } from '../../operator/acts.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { rowsOf, sqlite } from './operator-tables.ts';

const { t } = sqlite;

/** Adds a line in the transaction of its action, and returns its `seq`. */
export function addAuditLine(
  database: SqliteDatabase,
  act: string,
  author: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): number {
  const [row] = rowsOf(database, auditLine(sqlite, act, author, filter, counts));
  return (row as { seq: number }).seq; // its column
}

export function noteActed(database: SqliteDatabase, line: number, events: readonly number[], now: number): void {
  if (events.length > 0) rowsOf(database, actedEvents(sqlite, line, events, now));
}

export function addToAuditLine(database: SqliteDatabase, seq: number, more: AuditLine['counts']): void {
  const [row] = rowsOf(database, countsOfLine(sqlite, seq));
  for (const save of moreCounts(t, row as { seq: number; counts: string } | undefined, more)) rowsOf(database, save);
}
