import { distrustSchema } from '../../inbox/sqlite/opening/database.ts';
import { thereSince } from '../../inbox/rules/takers.ts';
import { TAKEN_TYPES } from '../../inbox/sqlite/sql/queue-statements.ts';
import { isInPostgres, type DbOptions } from '../shared/db-option.ts';

/** The types that some processor of an endpoint has handled lately, as the inbox has them; `*` for all of them. */
export async function typesHandledLately(options: DbOptions, endpoint: string): Promise<ReadonlySet<string>> {
  if (!isInPostgres(options)) return typesInFile(options.db, endpoint);
  const { typesOnPostgres } = await import('../shared/postgres-inbox.ts');
  return typesOnPostgres(options, endpoint);
}

async function typesInFile(file: string, endpoint: string): Promise<ReadonlySet<string>> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    distrustSchema(database);
    const types = database.prepare(TAKEN_TYPES).pluck();
    return new Set(types.all({ endpoint, since: thereSince(Date.now()) }) as readonly string[]); // a column of text
  } finally {
    database.close();
  }
}
