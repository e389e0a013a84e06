import type { DatabaseFault } from '../../contract.ts';
import { fromJson, type Session } from '../driver/session.ts';
import { literal, quoted, tableNames } from '../sql/tables.ts';

/** A transaction counts as old after this many others, or after an hour. */
const OLD_TRANSACTIONS = 100_000;
const OLD_SECONDS = 3_600;
/** Autovacuum removes rows long before this number. */
const MANY_DEAD = 100_000;
const NEARLY_ALL = 0.9;
const NAMED = 3;

interface OldTransaction {
  readonly kind: keyof typeof ENDS;
  readonly name: string;
  readonly role: string | null;
  /** how many transactions have begun since then */
  readonly age: number;
  /** `null` if this role may not see it */
  readonly seconds: number | null;
}

export interface DatabaseState {
  readonly vacuums: boolean;
  readonly connected: number;
  readonly most: number;
  readonly old: readonly OldTransaction[];
  readonly tables: readonly {
    readonly name: string;
    readonly dead: number;
    readonly live: number;
    readonly vacuums: boolean;
  }[];
}

type StateRow = Omit<DatabaseState, 'old' | 'tables'> & Record<'old' | 'tables', string | null>;

/** A transaction that has written, but reads nothing now, has an id and no snapshot. */
const OLD = `
  SELECT CASE WHEN datid IS NULL THEN 'replica' ELSE 'session' END AS kind, pid::text AS name, usename::text AS role,
    greatest(age(backend_xid), age(backend_xmin)) AS age, extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
  FROM pg_stat_activity
  WHERE (datid IS NULL OR datname = current_database()) AND pid <> pg_backend_pid()
    AND backend_type IS DISTINCT FROM 'autovacuum worker'
  UNION ALL SELECT 'slot', slot_name::text, NULL, age(xmin), NULL FROM pg_replication_slots
  UNION ALL SELECT 'prepared', gid, owner::text, age(transaction), extract(epoch FROM clock_timestamp() - prepared)::int
  FROM pg_prepared_xacts WHERE database = current_database()`;

const TABLES = `
  SELECT relname::text AS name, pg_stat_get_dead_tuples(pg_class.oid) AS dead, pg_stat_get_live_tuples(pg_class.oid) AS live,
    NOT EXISTS (
      SELECT 1 FROM pg_options_to_table(reloptions)
      WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean
    ) AS vacuums
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = $1 AND relkind = 'r' AND relname::text = ANY($2::text[]) ORDER BY relname`;

const STATE = `
  SELECT current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS vacuums,
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL) AS connected,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
    (SELECT json_agg(old ORDER BY age DESC) FROM (${OLD}) AS old
     WHERE age >= ${OLD_TRANSACTIONS} OR age >= 0 AND seconds >= ${OLD_SECONDS})::text AS old,
    (SELECT json_agg(tables) FROM (${TABLES}) AS tables)::text AS tables`;

/** Causes that make Postgres slow or unreachable for the inbox, although each setting is valid. */
export async function databaseFaults(session: Session, schema: string): Promise<readonly DatabaseFault[]> {
  const row = await session.row<StateRow>(STATE, [schema, [...tableNames]]);
  if (row === undefined) return [];
  const lists = { old: fromJson(row.old ?? '[]'), tables: fromJson(row.tables ?? '[]') };
  return faultsIn({ ...row, ...(lists as Pick<DatabaseState, keyof typeof lists>) }, schema); // their columns
}

const ENDS = {
  session: (name: string) => `Find out what it does, then end it: SELECT pg_terminate_backend(${name})`,
  replica: () => 'End the long query on this replica, or set hot_standby_feedback to off there',
  slot: (name: string) =>
    `Start the replica of this slot, or give the slot up: SELECT pg_drop_replication_slot(${literal(name)})`,
  prepared: (name: string) => `Run: ROLLBACK PREPARED ${literal(name)}, or COMMIT PREPARED ${literal(name)}`,
};

/** The causes come first. */
export function faultsIn(
  { vacuums, connected, most, old, tables }: DatabaseState,
  schema: string,
): readonly DatabaseFault[] {
  const of = ({ name }: { readonly name: string }): string => `${quoted(schema)}.${quoted(name)}`;
  const stay = 'so dead rows stay, and claims become slower.';
  const faults: readonly (DatabaseFault & { readonly isThere: boolean })[] = [
    {
      isThere: connected >= most * NEARLY_ALL,
      what: `${connected} of the ${most} connections of this Postgres server are in use. Without a free one, deliveries get a 503.`,
      advice: 'Use smaller pools or a pooler such as PgBouncer, or raise max_connections',
    },
    {
      isThere: !vacuums,
      what: `Autovacuum is off on this Postgres server, ${stay}`,
      advice: 'Set autovacuum and track_counts to on',
    },
    ...tables.map((table) => ({
      isThere: !table.vacuums,
      what: `Autovacuum is off for the table ${of(table)}, ${stay}`,
      advice: `Run: ALTER TABLE ${of(table)} RESET (autovacuum_enabled)`,
    })),
    ...old.slice(0, NAMED).map((one) => ({
      isThere: true,
      what: `${nameOf(one)} has been open for ${timeOf(one)}, ${stay}`,
      advice: ENDS[one.kind](one.name),
    })),
    ...tables.map((table) => ({
      isThere: table.dead >= MANY_DEAD && table.dead > table.live / 2,
      what: `The table ${of(table)} has ${table.dead} dead rows and ${table.live} others, so claims may be slow.`,
      advice: `${old.length > 0 ? 'End the old transactions, then run' : 'Run'}: VACUUM ANALYZE ${of(table)}`,
    })),
  ];
  return faults.flatMap(({ isThere, ...fault }) => (isThere ? [fault] : []));
}

function nameOf({ kind, name, role }: OldTransaction): string {
  const names = {
    session: `A transaction of the role ${quoted(role ?? '')} (process ${name})`,
    replica: `A query on a replica (process ${name})`,
    slot: `A transaction behind the replication slot ${quoted(name)}`,
    prepared: `The prepared transaction ${literal(name)}`,
  };
  return names[kind];
}

function timeOf({ age, seconds }: OldTransaction): string {
  return seconds === null ? `${age} transactions` : `${Math.floor(seconds / 60)} min (${age} transactions)`;
}
