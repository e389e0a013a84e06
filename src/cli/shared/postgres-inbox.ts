import { InboxOpenError, InboxUnavailableError } from '../../errors.ts';
import { USUAL_SCHEMA } from '../../host/postgres-url.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { migrations } from '../../inbox/postgres/opening/schema.ts';
import { migrationScript, NEWEST } from '../../inbox/postgres/opening/migrate.ts';
import { lookAtSchema, onServer, openSchema } from '../../inbox/postgres/opening/open.ts';
import { postgresInbox } from '../../inbox/postgres/postgres-inbox.ts';
import { assertSchema, tablesIn } from '../../inbox/postgres/sql/tables.ts';
import { plural } from '../../ops/words/format.ts';
import { isInPostgres, shownInbox, type DbOptions } from './options.ts';
import { CommandError, EXIT, print, printJson, tell, usageError, type ExitCode } from './output.ts';

/** Queries once, so that an unusable inbox fails now. */
export async function openOnPostgres(options: DbOptions, { migrate }: { readonly migrate: boolean }): Promise<Inbox> {
  const { db, schema = USUAL_SCHEMA } = options;
  // A command that does not create an inbox does not store deliveries.
  const inbox = postgresInbox(db, { schema, migrate, ephemeral: !migrate });
  try {
    await inbox.get({ endpoint: '', id: '' });
  } catch (failure) {
    await inbox.close();
    throw explained(failure, options);
  }
  // The type of its transactions concerns only handlers, and commands call none.
  return inbox as unknown as Inbox;
}

export async function isOnPostgres(options: DbOptions): Promise<boolean> {
  const { db, schema = USUAL_SCHEMA } = options;
  try {
    const missing = await onServer(db, (session) => lookAtSchema(session, { schema, tables: tablesIn(schema) }));
    return missing !== null;
  } catch (failure) {
    throw explained(failure, options);
  }
}

function explained(failure: unknown, options: DbOptions): unknown {
  const { schema = USUAL_SCHEMA } = options;
  const where = `the schema ${schema} of ${shownInbox(options)}`;
  if (failure instanceof InboxUnavailableError) {
    const why = failure.message.replace(`: ${shownInbox(options)}`, '');
    return new CommandError(`hookbox cannot use ${shownInbox(options)}: ${why}.`);
  }
  if (failure instanceof InboxOpenError && failure.code === 'SCHEMA_MISSING') {
    return new CommandError(
      `No hookbox inbox exists in ${where}. Check --db and --schema, or create one with hookbox migrate.`,
      EXIT.notFound,
    );
  }
  if (failure instanceof InboxOpenError && failure.code === 'SCHEMA_OLD') {
    return new CommandError(
      `The inbox in ${where} lacks migrations that this version of hookbox needs. Run hookbox migrate first.`,
    );
  }
  return failure;
}

interface MigrateOptions extends Partial<DbOptions> {
  readonly print?: boolean;
  readonly json?: boolean;
}

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
  // An error must not mention a schema that the arguments do not contain.
  if (!isInPostgres({ db })) throw usageError('hookbox migrate needs an inbox in Postgres, but --db names a file.');

  try {
    const missing = await onServer(db, (session) => lookAtSchema(session, place));
    if (how.print === true) {
      print(linesOf(migrationScript(place, missing)));
      if (missing?.length === 0) tell('-- No migrations to apply.');
      return EXIT.ok;
    }
    await onServer(db, (session) => openSchema(session, { ...place, migrates: true, ephemeral: true }));
    const done = missing ?? migrations;
    if (how.json === true) {
      printJson({ schema, version: NEWEST, applied: done.map(({ version, name }) => ({ version, name })) });
    }
    for (const { version, name } of done) tell(`${version}: ${name}`);
    const what = done.length === 0 ? 'No migrations to apply' : `${plural(done.length, 'migration')} applied`;
    tell(`${what}. The schema ${schema} of ${shownInbox(options)} has version ${NEWEST}.`);
    return EXIT.ok;
  } catch (failure) {
    throw explained(failure, options);
  }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.trimEnd().split('\n');
}
