import { InboxOpenError, isInstance } from '../../../errors.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import type { Session } from '../driver/session.ts';
import { quoted, type Tables } from '../sql/tables.ts';
import { migrate, isMigrated, NEWEST } from './migrate.ts';

interface ServerRow {
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly standby: boolean;
  readonly role: string;
}

const SERVER = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
    pg_is_in_recovery() AS standby, current_user::text AS role`;

const OLDEST = 140_000;

/**
 * Looks at the server, and makes the tables unless somebody else is to.
 *
 * @throws InboxOpenError whose message says what to change
 */
export async function openSchema(
  session: Session,
  { schema, tables, migrates }: { readonly schema: string; readonly tables: Tables; readonly migrates: boolean },
): Promise<void> {
  let role = 'the role';
  try {
    const server = await session.row<ServerRow>(SERVER);
    if (server === undefined) throw new InboxOpenError('CANNOT_OPEN', 'Postgres did not say what it is.');
    role = quoted(server.role);
    refuseServer(server);
    if (await isMigrated(session, schema, tables)) return;
    if (!migrates) throw new InboxOpenError('SCHEMA_MISSING', missing(schema));
    await migrate(session, schema, tables);
  } catch (failure) {
    throw isInstance(failure, DatabaseFailure) ? refusalOf(failure, schema, role) : failure;
  }
}

function refuseServer({ version, encoding, fsync, synchronous_commit: commits, standby }: ServerRow): void {
  if (version < OLDEST) {
    const is = `${Math.floor(version / 10_000)}.${version % 10_000}`;
    throw new InboxOpenError(
      'SERVER_TOO_OLD',
      `hookbox needs Postgres 14 or newer, and this server is ${is}. Upgrade it.`,
    );
  }
  if (standby) {
    throw new InboxOpenError('READ_ONLY', 'This Postgres is a standby, which takes no writes. Connect to its primary.');
  }
  if (encoding !== 'UTF8') {
    throw new InboxOpenError(
      'CANNOT_OPEN',
      `The encoding of this database is ${encoding}, which cannot hold every event. Create one with ENCODING 'UTF8'.`,
    );
  }
  if (fsync !== 'on') {
    throw new InboxOpenError(
      'NOT_DURABLE',
      'This Postgres runs with fsync = off, and would lose events. Set it to on.',
    );
  }
  if (commits === 'off') {
    throw new InboxOpenError(
      'NOT_DURABLE',
      'synchronous_commit is off for this role or database, which would lose events that were acknowledged. ' +
        'Run: ALTER ROLE … SET synchronous_commit = on',
    );
  }
}

function missing(schema: string): string {
  return (
    `There is no hookbox inbox of version ${NEWEST} in the schema ${schema}, and \`migrate: false\` keeps it from being ` +
    'made. Migrate where you deploy, or leave the option out.'
  );
}

/** What Postgres says of rights and names, with what to do about it. */
function refusalOf(failure: DatabaseFailure, schema: string, role: string): unknown {
  switch (failure.code) {
    case '42501':
      return new InboxOpenError(
        'ACCESS_DENIED',
        `${failure.message}. To have hookbox make its tables: GRANT CREATE ON DATABASE … TO ${role}. To work on those that ` +
          `another role has made: GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ` +
          `ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${role}.`,
      );
    case '42P07':
      return new InboxOpenError(
        'CANNOT_OPEN',
        `${failure.message}: the schema ${schema} holds tables that are not hookbox's. Name another one with \`schema\`.`,
      );
    default:
      return failure;
  }
}

/** What is said to who may not even connect. */
export function connectionRefusal(failure: DatabaseFailure): InboxOpenError | DatabaseFailure {
  switch (failure.code) {
    case '28P01':
    case '28000':
      return new InboxOpenError(
        'ACCESS_DENIED',
        `${failure.message}. Look at the role and the password of the connection.`,
      );
    case '3D000':
      return new InboxOpenError('CANNOT_OPEN', `${failure.message}. Create it, or name another one in the URL.`);
    default:
      return failure;
  }
}
