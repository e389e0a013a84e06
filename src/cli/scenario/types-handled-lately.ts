import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { seenSince } from '../../inbox/rules/processors.ts';
import { HANDLED_TYPES } from '../../inbox/sqlite/sql/queue-statements.ts';
import { isInPostgres, type DbOptions } from '../shared/db-option.ts';

/** The types that some processor of an endpoint has handled lately, as the inbox has them; `*` for all of them. */
export async function typesHandledLately(options: DbOptions, endpoint: string): Promise<ReadonlySet<string>> {
  if (!isInPostgres(options)) return typesInFile(options.db, endpoint);
  const { typesOnPostgres } = await import('../shared/postgres-inbox.ts');
  return typesOnPostgres(options, endpoint);
}

function typesInFile(file: string, endpoint: string): ReadonlySet<string> {
  const database = openConnection(file, { readonly: true, fileMustExist: true });
  try {
    const rows = database.prepare(HANDLED_TYPES).all({ endpoint, since: seenSince(Date.now()) });
    return new Set(rows.map((row) => (row as { readonly type: string }).type)); // the column of the statement
  } finally {
    database.close();
  }
}
