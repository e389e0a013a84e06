import Database from 'better-sqlite3';
import { distrustSchema } from '../../inbox/sqlite/database.ts';
import { TAKER_MS } from '../../inbox/work.ts';

/** The types that some processor of an inbox has handled lately, as it says in its file; `*` for all of them. */
export function takenTypes(file: string): ReadonlySet<string> {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    distrustSchema(database);
    const types = database.prepare('SELECT type FROM hookbox_takers WHERE seen_ms > ?').pluck();
    return new Set(types.all(Date.now() - TAKER_MS) as readonly string[]); // a column of text
  } finally {
    database.close();
  }
}
