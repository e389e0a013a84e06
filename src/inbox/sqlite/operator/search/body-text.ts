import { jsonText } from '../../../../events/json.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Where bodies are kept. */
export type BodyTable = 'hookbox_events' | 'hookbox_conflicts';

/**
 * The text of a body; `null` where it is not JSON, or gone. SQLite is not asked to read it: it would take the
 * bytes for text of the encoding that its database has, which an application may have set to UTF-16.
 */
export function bodyText(database: SqliteDatabase, table: BodyTable, seq: number): string | null {
  const row = statement(database, `SELECT body FROM ${table} WHERE seq = ?`).get(seq);
  const body = (row as { body: Uint8Array | null } | undefined)?.body ?? null;
  return body === null ? null : jsonText(body);
}
