import Database from 'better-sqlite3';
import { distrustSchema } from '../../inbox/sqlite/database.ts';
import { TAKEN_TYPES } from '../../inbox/sqlite/queue-statements.ts';
import { TAKER_MS } from '../../inbox/work.ts';

/** The types that some processor of an endpoint has handled lately, as the inbox says in its file; `*` for all of them. */
export function typesHandledLately(file: string, endpoint: string): ReadonlySet<string> {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    distrustSchema(database);
    const types = database.prepare(TAKEN_TYPES).pluck();
    return new Set(types.all({ endpoint, since: Date.now() - TAKER_MS }) as readonly string[]); // a column of text
  } finally {
    database.close();
  }
}
