import { migrationScript, NEWEST, migrations } from '../../inbox/postgres/opening/migrate.ts';
import { onServer, lookAtSchema, openSchema } from '../../inbox/postgres/opening/open.ts';
import { assertSchema, tablesIn } from '../../inbox/postgres/sql/tables.ts';
import { plural } from '../../ops/words/format.ts';
import { USUAL_SCHEMA } from '../../host/postgres-url.ts';
import { isInPostgres, shownInbox, type DbOptions } from '../shared/db-option.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { print, printJson, tell } from '../shared/output.ts';
import { toldOf } from '../shared/postgres-inbox.ts';

/** What the arguments of `migrate` say. */
export interface MigrateOptions extends Partial<DbOptions> {
  readonly print?: boolean;
  readonly json?: boolean;
}

/** Makes the tables that are missing, or prints how, and resolves with how to exit. */
export async function migrate({ db, schema = USUAL_SCHEMA, ...how }: MigrateOptions): Promise<ExitCode> {
  assertSchema(schema);
  const place = { schema, tables: tablesIn(schema) };
  if (how.print === true && how.json === true) throw usageError('--print prints SQL. Remove --json.');
  if (db === undefined) {
    if (how.print !== true) throw usageError('Pass the Postgres URL with --db or HOOKBOX_DB: postgres://…');
    print(linesOf(migrationScript(place, null)));
    return EXIT.ok;
  }
  const options = { db, schema };
  // Without the schema, which would be spoken of though nobody has given it.
  if (!isInPostgres({ db })) throw usageError('hookbox migrate needs an inbox in Postgres, but --db names a file.');

  try {
    const missing = await onServer(db, (session) => lookAtSchema(session, place));
    if (how.print === true) {
      print(linesOf(migrationScript(place, missing)));
      if (missing?.length === 0) tell('-- No migrations to apply.');
      return EXIT.ok;
    }
    await onServer(db, (session) => openSchema(session, { ...place, migrates: true }));
    const done = missing ?? migrations;
    if (how.json === true) {
      printJson({ schema, version: NEWEST, applied: done.map(({ version, name }) => ({ version, name })) });
    }
    for (const { version, name } of done) tell(`${version}: ${name}`);
    const what = done.length === 0 ? 'No migrations to apply' : `${plural(done.length, 'migration')} applied`;
    tell(`${what}. The schema ${schema} of ${shownInbox(options)} has version ${NEWEST}.`);
    return EXIT.ok;
  } catch (failure) {
    throw toldOf(failure, options);
  }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.trimEnd().split('\n');
}
