import { InboxOpenError } from '../../../errors.ts';
import { isMisread, shownDatabase, TO_BE_ESCAPED } from '../../../host/postgres-url.ts';
import { inboxOptions } from '../../../host/shell-words.ts';
import { type PostgresSource, connectionsOf } from '../driver/connections.ts';
import { Database } from '../driver/database.ts';
import { DatabaseFailure, DENIED, asUnavailable } from '../driver/faults.ts';
import { type Session, ANSWER_MS, Sessions } from '../driver/session.ts';
import { quoted } from '../sql/tables.ts';
import { migrate, missingMigrations, NEWEST, type Place } from './migrate.ts';
import {
  readRights,
  missingRight,
  readServer,
  faultsOf,
  missingRows,
  refuseFaults,
  tableFaults,
} from './server-faults.ts';
import type { Migration } from './schema.ts';

/**
 * Creates missing tables if it may.
 *
 * @throws InboxOpenError
 */
export function openSchema(
  session: Session,
  { migrates, ephemeral = false, ...place }: Place & { readonly migrates: boolean; readonly ephemeral?: boolean },
): Promise<void> {
  return refusing(session, { ...place, ephemeral }, async (missing) => {
    if (missing === null || missing.length > 0) {
      if (!migrates) throw notMigrated(place.schema, missing !== null);
      await migrate(session, place);
    }
    refuseFaults(await missingRows(session, place), ephemeral);
  });
}

/** Only processes that store deliveries need to know whether the server keeps commits. */
export function lookAtSchema(session: Session, place: Place): Promise<readonly Migration[] | null> {
  return refusing(session, { ...place, ephemeral: true }, async (missing) => missing);
}

/** A schema may have objects with names of Postgres. */
const BEGIN_LOOK = 'BEGIN; SET LOCAL search_path = pg_catalog, pg_temp';

async function refusing<T>(
  session: Session,
  { ephemeral, ...place }: Place & { readonly ephemeral: boolean },
  work: (missing: readonly Migration[] | null) => Promise<T>,
): Promise<T> {
  const { schema } = place;
  let role = 'the role';
  try {
    await session.exec(BEGIN_LOOK);
    const server = await readServer(session);
    role = quoted(server.role);
    refuseFaults(faultsOf(server), ephemeral);
    refuseFaults(await tableFaults(session, schema), ephemeral);
    const missing = await missingMigrations(session, place);
    await session.exec('ROLLBACK');
    return await work(missing);
  } catch (failure) {
    throw failure instanceof DatabaseFailure ? await refusalOf(failure, session, { schema, role }) : failure;
  }
}

function notMigrated(schema: string, isThere: boolean): InboxOpenError {
  const what = isThere
    ? `The inbox in the schema ${schema} has an older version, and \`migrate: false\` prevents its migration.`
    : `The schema ${schema} has no hookbox inbox, and \`migrate: false\` prevents its creation.`;
  const migrate = ['hookbox migrate', ...inboxOptions({ schema })].join(' ');
  const advice = `Run ${migrate} when you deploy (it migrates to version ${NEWEST}), or remove the option.`;
  return new InboxOpenError(isThere ? 'SCHEMA_OLD' : 'SCHEMA_MISSING', `${what} ${advice}`);
}

async function refusalOf(
  failure: DatabaseFailure,
  session: Session,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<unknown> {
  switch (failure.code) {
    case DENIED:
      return new InboxOpenError('ACCESS_DENIED', `${failure.message}. ${await toBeGranted(session, schema, role)}.`);
    case '42P07':
    case '42703':
      return new InboxOpenError(
        'CANNOT_OPEN',
        `${failure.message}: the schema ${schema} contains tables of another program. Set \`schema\` to another name.`,
      );
    default:
      return failure;
  }
}

/** The catalogue shows the missing right, but the message of Postgres does not. */
async function toBeGranted(session: Session, schema: string, role: string): Promise<string> {
  await session.exec('ROLLBACK');
  const missing = missingRight(await readRights(session, schema), schema);
  return (
    missing?.advice ?? `Run hookbox migrate with the role that owns the tables, or make ${role} a member of that role`
  );
}

/** @param place - `null` if the caller names it */
export function connectionRefusal(failure: DatabaseFailure, place: string | null): InboxOpenError | DatabaseFailure {
  switch (failure.code) {
    case '28P01':
    case '28000':
      return new InboxOpenError('ACCESS_DENIED', `${failure.message}. Check the role and password of the connection.`);
    case '3D000':
      return new InboxOpenError('CANNOT_OPEN', `${failure.message}. Create the database, or change the URL.`);
    default:
      // Shows a wrong port, name or variable.
      if (place !== null && failure.fault === 'lost') failure.message += `: ${place}`;
      return failure;
  }
}

/** Without user and password; `null` if unknown. */
export function placeOf(source: PostgresSource): string | null {
  if (typeof source === 'string') return placeOfUrl(source);
  if (!('pool' in source)) return null;
  const options: unknown = Reflect.get(source.pool, 'options');
  if (typeof options !== 'object' || options === null) return null;
  const url: unknown = Reflect.get(options, 'connectionString');
  if (typeof url === 'string') return placeOfUrl(url);
  const { host = process.env['PGHOST'], port = 5432, database }: Readonly<Record<string, unknown>> = { ...options };
  if (typeof host !== 'string')
    return 'localhost, because the pool has neither a connectionString nor a host. Is DATABASE_URL set?';
  return `${shownDatabase(host)}, port ${String(port)}${typeof database === 'string' ? `, database ${shownDatabase(database)}` : ''}`;
}

function placeOfUrl(url: string): string {
  return isMisread(url) ? `${shownDatabase(url)}. ${TO_BE_ESCAPED}` : shownDatabase(url);
}

/**
 * The server may have no inbox.
 *
 * @throws InboxOpenError if the connection is rejected, InboxUnavailableError without an answer
 */
export async function onServer<T>(url: string, work: (session: Session) => Promise<T>): Promise<T> {
  const nothing = async (): Promise<void> => {};
  const opening = {
    open: nothing,
    // The caller does not know that the URL leads elsewhere.
    refusalOf: (failure: DatabaseFailure) => connectionRefusal(failure, isMisread(url) ? placeOf(url) : null),
  };
  const sessions = new Sessions(connectionsOf(url), { named: false }, opening, ANSWER_MS);
  const database = new Database(sessions, ANSWER_MS);
  try {
    return await database.alone(work);
  } catch (failure) {
    throw asUnavailable(failure);
  } finally {
    await database.close();
  }
}
