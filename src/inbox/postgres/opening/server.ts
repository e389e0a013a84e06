import { InboxOpenError } from '../../../errors.ts';
import type { Session } from '../driver/session.ts';
import { quoted } from '../sql/tables.ts';

/** What a server says of itself, as far as an inbox depends on it. */
export interface Server {
  /** `180004` is 18.4 */
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly standby: boolean;
  readonly role: string;
}

/** What keeps a server from holding an inbox, and what to change. */
export interface ServerFault {
  readonly setting: Exclude<keyof Server, 'role'>;
  readonly code: InboxOpenError['code'];
  readonly what: string;
  readonly advice: string;
}

const SERVER = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
    pg_is_in_recovery() AS standby, current_user::text AS role`;

const OLDEST = 140_000;

export async function askedServer(session: Session): Promise<Server> {
  const server = await session.row<Server>(SERVER);
  if (server === undefined) throw new InboxOpenError('CANNOT_OPEN', 'The server did not report its Postgres version.');
  return server;
}

/** `18.4` */
export function versionText(version: number): string {
  return `${Math.floor(version / 10_000)}.${version % 10_000}`;
}

/** Everything that is wrong with a server, the worst first. */
export function faultsOf({
  version,
  encoding,
  fsync,
  synchronous_commit,
  standby,
  role,
}: Server): readonly ServerFault[] {
  const faults: ServerFault[] = [];
  if (version < OLDEST) {
    const what = `hookbox needs Postgres 14 or newer; this server has ${versionText(version)}.`;
    faults.push({ setting: 'version', code: 'SERVER_TOO_OLD', what, advice: 'Upgrade the server.' });
  }
  if (standby) {
    const what = 'This Postgres server is a read-only standby.';
    faults.push({ setting: 'standby', code: 'READ_ONLY', what, advice: 'Connect to the primary server.' });
  }
  if (encoding !== 'UTF8') {
    const what = `The encoding of this database is ${encoding}, which cannot represent every character of an event.`;
    faults.push({ setting: 'encoding', code: 'CANNOT_OPEN', what, advice: "Create a database with ENCODING 'UTF8'." });
  }
  if (fsync !== 'on') {
    const what = 'This Postgres server has fsync = off, so a crash can lose events.';
    faults.push({ setting: 'fsync', code: 'NOT_DURABLE', what, advice: 'Set fsync to on.' });
  }
  if (synchronous_commit === 'off') {
    faults.push({
      setting: 'synchronous_commit',
      code: 'NOT_DURABLE',
      what: 'synchronous_commit is off for this role or database, so a crash can lose acknowledged events.',
      advice: `Run: ALTER ROLE ${quoted(role)} SET synchronous_commit = on`,
    });
  }
  return faults;
}
