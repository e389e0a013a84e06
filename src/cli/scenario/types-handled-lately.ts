import Database from 'better-sqlite3';
import { distrustSchema } from '../../inbox/sqlite/opening/database.ts';
import { thereSince } from '../../inbox/rules/takers.ts';
import { TAKEN_TYPES } from '../../inbox/sqlite/sql/queue-statements.ts';

/** The types that some processor of an endpoint has handled lately, as the inbox says in its file; `*` for all of them. */
export function typesHandledLately(file: string, endpoint: string): ReadonlySet<string> {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    distrustSchema(database);
    const types = database.prepare(TAKEN_TYPES).pluck();
    return new Set(types.all({ endpoint, since: thereSince(Date.now()) }) as readonly string[]); // a column of text
  } finally {
    database.close();
  }
}
