import { InboxOpenError } from '../../../errors.ts';
import type { Session } from '../driver/session.ts';
import {
  goOnBehind,
  lastNumber,
  mayLook,
  sequencesOf,
  quoted,
  tableNames,
  SLOTS,
  literal,
  type Tables,
} from '../sql/tables.ts';
import type { Place } from './migrate.ts';

export interface Server {
  /** `180004` is 18.4 */
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly standby: boolean;
  readonly role: string;
}

interface ServerFault {
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

export async function readServer(session: Session): Promise<Server> {
  const server = await session.row<Server>(SERVER);
  if (server === undefined) throw new InboxOpenError('CANNOT_OPEN', 'The server did not report its Postgres version.');
  return server;
}

/** `18.4` */
export function versionText(version: number): string {
  return `${Math.floor(version / 10_000)}.${version % 10_000}`;
}

/** All faults of a server, the worst first. */
export function faultsOf(server: Server): readonly ServerFault[] {
  const { version, encoding } = server;
  const faults: readonly (ServerFault & { readonly isThere: boolean })[] = [
    {
      isThere: version < OLDEST,
      setting: 'version',
      code: 'SERVER_TOO_OLD',
      what: `hookbox needs Postgres 14 or newer; this server has ${versionText(version)}.`,
      advice: 'Upgrade the server',
    },
    {
      isThere: server.standby,
      setting: 'standby',
      code: 'READ_ONLY',
      what: 'This Postgres server is a read-only standby.',
      advice: 'Connect to the primary server',
    },
    {
      isThere: encoding !== 'UTF8',
      setting: 'encoding',
      code: 'CANNOT_OPEN',
      what: `The encoding of this database is ${encoding}, which cannot represent every character of an event.`,
      advice: "Create a database with ENCODING 'UTF8'",
    },
    {
      isThere: server.fsync !== 'on',
      setting: 'fsync',
      code: 'NOT_DURABLE',
      what: 'This Postgres server has fsync = off, so a crash can lose events.',
      advice: 'Set fsync to on',
    },
    {
      isThere: server.synchronous_commit === 'off',
      setting: 'synchronous_commit',
      code: 'NOT_DURABLE',
      what: 'synchronous_commit is off for this role or database, so a crash can lose acknowledged events.',
      advice: `Run: ALTER ROLE ${quoted(server.role)} SET synchronous_commit = on`,
    },
  ];
  return faults.flatMap(({ isThere, ...fault }) => (isThere ? [fault] : []));
}

export interface Rights {
  readonly role: string;
  readonly database: string;
  readonly there: boolean;
  readonly makesSchemas: boolean;
  readonly uses: boolean;
  readonly makesTables: boolean;
  readonly tables: number;
  /** without the right to read and write */
  readonly closed: readonly string[];
  /** whether names without a schema mean this one */
  readonly isFirst: boolean;
}

const RIGHTS = `
  SELECT current_user::text AS role, current_database()::text AS database, schema.oid IS NOT NULL AS there,
    has_database_privilege(current_database(), 'CREATE') AS "makesSchemas",
    coalesce(has_schema_privilege(schema.oid, 'USAGE'), false) AS uses,
    coalesce(has_schema_privilege(schema.oid, 'CREATE'), false) AS "makesTables",
    coalesce(current_schema() = $1, false) OR current_user = $1 AND current_setting('search_path') LIKE '"$user"%'
      AS "isFirst"
  FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS schema ON nspname = $1`;

const TABLES = `
  SELECT relname::text AS name, bool_and(has_table_privilege(pg_class.oid, needed)) AS open
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
  WHERE nspname = $1 AND relkind = 'r' AND relname::text = ANY($2::text[])
  GROUP BY relname ORDER BY relname`;

export async function readRights(session: Session, schema: string): Promise<Rights> {
  const [row] = await session.rows<Omit<Rights, 'tables' | 'closed'>>(RIGHTS, [schema]);
  if (row === undefined) throw new InboxOpenError('CANNOT_OPEN', 'The server did not report the rights of the role.');
  const tables = await session.rows<{ name: string; open: boolean }>(TABLES, [schema, [...tableNames]]);
  const closed = tables.filter(({ open }) => !open).map(({ name }) => name);
  return { ...row, tables: tables.length, closed };
}

/** `null` if it has all rights. */
export function missingRight(
  { role, database, there, makesSchemas, uses, makesTables, tables, closed }: Rights,
  schema: string,
): { readonly what: string; readonly advice: string } | null {
  const [who, named] = [quoted(role), quoted(schema)];
  const makeThem = 'Run hookbox migrate with a role that can create tables, or allow this role to create them:';
  if (!there) {
    if (makesSchemas) return null;
    const advice = `${makeThem} GRANT CREATE ON DATABASE ${quoted(database)} TO ${who}`;
    return { what: `the role ${who} cannot create the schema ${schema}`, advice };
  }
  const work = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${named} TO ${who}`;
  if (!uses) {
    const advice = `GRANT USAGE ON SCHEMA ${named} TO ${who}; ${work}`;
    return { what: `the role ${who} cannot use the schema ${schema}`, advice };
  }
  if (closed.length > 0) {
    return { what: `the role ${who} cannot read and write ${closed.join(', ')}`, advice: work };
  }
  if (tables < tableNames.length && !makesTables) {
    const advice = `${makeThem} GRANT CREATE ON SCHEMA ${named} TO ${who}`;
    return { what: `the role ${who} cannot create the missing tables`, advice };
  }
  return null;
}

interface TableFault {
  readonly code: InboxOpenError['code'];
  readonly what: string;
  readonly advice: string;
}

interface TableFaultsRow {
  readonly role: string;
  readonly name: string;
  readonly unlogged: boolean;
  readonly hidden: boolean;
  /** may block or add rows */
  readonly trigger: string | null;
  readonly rule: string | null;
}

/** Whether policies show every row to this role. A test row would not prove it, because a policy may depend on values. */
const OPEN = `(
  SELECT bool_and(EXISTS (
    SELECT 1 FROM applied WHERE polpermissive AND polcmd IN (kind, '*') AND (kind = 'a' OR read = 'true')
      AND (kind NOT IN ('a', 'w') OR coalesce(written, read) = 'true')
  )) AND NOT EXISTS (
    SELECT 1 FROM applied WHERE NOT polpermissive AND (coalesce(read, 'true') <> 'true' OR coalesce(written, 'true') <> 'true')
  ) FROM (VALUES ('r'::"char"), ('a'), ('w'), ('d')) AS kinds (kind)
)`;

const TABLE_FAULTS = `
  SELECT current_user::text AS role, relname::text AS name, relpersistence = 'u' AS unlogged,
    row_security_active(tables.oid) AND NOT (
      WITH applied AS (
        SELECT polpermissive, polcmd, pg_get_expr(polqual, polrelid) AS read, pg_get_expr(polwithcheck, polrelid) AS written
        FROM pg_policy WHERE polrelid = tables.oid AND (
          0::oid = ANY(polroles) OR EXISTS (SELECT 1 FROM pg_roles WHERE oid = ANY(polroles) AND pg_has_role(oid, 'USAGE'))
        )
      ) SELECT ${OPEN}
    ) AS hidden,
    (SELECT tgname::text FROM pg_trigger
     WHERE tgrelid = tables.oid AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 3 = 3 ORDER BY tgname LIMIT 1) AS trigger,
    (SELECT rulename::text FROM pg_rewrite WHERE ev_class = tables.oid ORDER BY rulename LIMIT 1) AS rule
  FROM pg_class AS tables JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = $1 AND relkind IN ('r', 'p') AND relname::text = ANY($2::text[])
  ORDER BY relname`;

/** Excludes missing tables. */
export async function tableFaults(session: Session, schema: string): Promise<readonly TableFault[]> {
  const rows = await session.rows<TableFaultsRow>(TABLE_FAULTS, [schema, [...tableNames]]);
  return rows.flatMap((row) => faultsOfTable(row, schema));
}

function faultsOfTable(
  { role, name, unlogged, hidden, trigger, rule }: TableFaultsRow,
  schema: string,
): readonly TableFault[] {
  const table = `${quoted(schema)}.${quoted(name)}`;
  const faults: readonly (TableFault & { readonly isThere: boolean })[] = [
    {
      isThere: unlogged,
      code: 'NOT_DURABLE',
      what: `The table ${table} is UNLOGGED: a crash of Postgres empties the table, and standbys do not have its rows.`,
      advice: `Run: ALTER TABLE ${table} SET LOGGED`,
    },
    {
      isThere: hidden,
      code: 'ACCESS_DENIED',
      what:
        `Row-level security may hide rows of ${table} from the role ${quoted(role)}, so some events might not be ` +
        'handled.',
      advice:
        `For each table of the schema ${schema}, run: ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY; ` +
        `or once: ALTER ROLE ${quoted(role)} BYPASSRLS`,
    },
    {
      isThere: trigger !== null,
      code: 'CANNOT_OPEN',
      what: `The trigger ${quoted(trigger ?? '')} runs before rows of ${table} are written, and may block the write.`,
      advice: `Run: DROP TRIGGER ${quoted(trigger ?? '')} ON ${table}`,
    },
    {
      isThere: rule !== null,
      code: 'CANNOT_OPEN',
      what: `The rule ${quoted(rule ?? '')} on ${table} may change the statements of hookbox.`,
      advice: `Run: DROP RULE ${quoted(rule ?? '')} ON ${table}`,
    },
  ];
  return faults.flatMap(({ isThere, ...fault }) => (isThere ? [fault] : []));
}

/** Locks and notifications need these rows. */
export async function missingRows(session: Session, { schema, tables: t }: Place): Promise<readonly TableFault[]> {
  const needed = {
    slots: `SELECT generate_series(0, ${SLOTS - 1})`,
    clock: '(latest_ms) VALUES (0)',
    progress: `VALUES (${literal('terms')}, 0)`,
  };
  const row = await session.row<Record<keyof typeof needed, boolean>>(`
    SELECT (SELECT count(*) FROM ${t.slots} WHERE slot >= 0 AND slot < ${SLOTS}) < ${SLOTS} AS slots, NOT EXISTS (SELECT 1 FROM ${t.clock}) AS clock,
      NOT EXISTS (SELECT 1 FROM ${t.progress} WHERE what = 'terms') AS progress`);
  const missing = (Object.keys(needed) as (keyof typeof needed)[]).filter((name) => row?.[name] === true);
  return missing.map((name) => ({
    code: 'CANNOT_OPEN',
    what: `The table ${quoted(schema)}.${name} is missing rows that hookbox created.`,
    advice: `Run: INSERT INTO ${t[name]} ${needed[name]} ON CONFLICT DO NOTHING`,
  }));
}

/**
 * After a restore or replication without sequences, the next event fails, or gets a number between others.
 *
 * @returns `null` for a role without the right to look
 */
export async function sequenceFaults(
  session: Session,
  t: Tables,
): Promise<readonly Pick<TableFault, 'what' | 'advice'>[] | null> {
  const faults: Pick<TableFault, 'what' | 'advice'>[] = [];
  for (const sequence of sequencesOf(t)) {
    const row = await session.row<{ readable: boolean | null; last: number | null; stored: number }>(
      `SELECT ${mayLook(sequence)} AS readable, ${lastNumber(sequence)} AS last, ${sequence.stored} AS stored`,
    );
    if (row?.readable !== true) return null;
    const { last, stored } = row;
    if (stored <= (last ?? 0)) continue;
    faults.push({
      what:
        `The sequence of ${t[sequence.table]} continues at ${(last ?? 0) + 1}, but the table already contains the ` +
        `number ${stored}.`,
      advice: `Run: ${goOnBehind(sequence)}`,
    });
  }
  return faults;
}

/**
 * @param ephemeral - events may be lost
 * @throws InboxOpenError for the first fault
 */
export function refuseFaults(faults: readonly TableFault[], ephemeral: boolean): void {
  const worst = faults.find(({ code }) => !ephemeral || code !== 'NOT_DURABLE');
  if (worst === undefined) return;
  const { code, what, advice } = worst;
  const option =
    code === 'NOT_DURABLE'
      ? ' If loss is acceptable, as in a test, set the option ephemeral: true of postgresInbox.'
      : '';
  throw new InboxOpenError(code, `${what} ${advice}.${option}`);
}
