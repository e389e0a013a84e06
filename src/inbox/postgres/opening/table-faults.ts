import { InboxOpenError } from '../../../errors.ts';
import type { Session } from '../driver/session.ts';
import { SLOTS } from '../sql/slots.ts';
import { goOnBehind, lastNumber, mayLook, sequencesOf } from '../sql/sequences.ts';
import { literal, quoted, tableNames, type Tables } from '../sql/tables.ts';
import type { Place } from './migrate.ts';

/** A setting that makes a table lose or hide rows, and the change that repairs it. */
export interface TableFault {
  readonly code: InboxOpenError['code'];
  readonly what: string;
  readonly advice: string;
}

interface TableRow {
  readonly role: string;
  readonly name: string;
  readonly unlogged: boolean;
  readonly hidden: boolean;
  /** one that may keep a row from being written, or write another one */
  readonly trigger: string | null;
  readonly rule: string | null;
}

/**
 * Whether policies leave every row to this role, for each kind of statement. A test row would not show this,
 * because a policy may depend on the row's values.
 */
const OPEN = `(
  SELECT bool_and(EXISTS (
    SELECT 1 FROM applied WHERE polpermissive AND polcmd IN (kind, '*') AND (kind = 'a' OR read = 'true')
      AND (kind NOT IN ('a', 'w') OR coalesce(written, read) = 'true')
  )) AND NOT EXISTS (
    SELECT 1 FROM applied WHERE NOT polpermissive AND (coalesce(read, 'true') <> 'true' OR coalesce(written, 'true') <> 'true')
  ) FROM (VALUES ('r'::"char"), ('a'), ('w'), ('d')) AS kinds (kind)
)`;

const TABLES = `
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

/** The faults of tables that the catalogue shows. It leaves out missing tables. */
export async function tableFaults(session: Session, schema: string): Promise<readonly TableFault[]> {
  const rows = await session.rows<TableRow>(TABLES, [schema, [...tableNames]]);
  return rows.flatMap((row) => faultsOfTable(row, schema));
}

function faultsOfTable({ role, name, unlogged, hidden, trigger, rule }: TableRow, schema: string): TableFault[] {
  const table = `${quoted(schema)}.${quoted(name)}`;
  const faults: TableFault[] = [];
  if (unlogged) {
    const what = `The table ${table} is UNLOGGED: a crash of Postgres empties the table, and standbys do not have its rows.`;
    faults.push({ code: 'NOT_DURABLE', what, advice: `Run: ALTER TABLE ${table} SET LOGGED` });
  }
  if (hidden) {
    const what =
      `Row-level security may hide rows of ${table} from the role ${quoted(role)}, so some events might not be ` +
      'handled.';
    const each = `For each table of the schema ${schema}, run: ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY;`;
    faults.push({ code: 'ACCESS_DENIED', what, advice: `${each} or once: ALTER ROLE ${quoted(role)} BYPASSRLS` });
  }
  if (trigger !== null) {
    const what = `The trigger ${quoted(trigger)} runs before rows of ${table} are written, and may block the write.`;
    faults.push({ code: 'CANNOT_OPEN', what, advice: `Run: DROP TRIGGER ${quoted(trigger)} ON ${table}` });
  }
  if (rule !== null) {
    const what = `The rule ${quoted(rule)} on ${table} may change the statements of hookbox.`;
    faults.push({ code: 'CANNOT_OPEN', what, advice: `Run: DROP RULE ${quoted(rule)} ON ${table}` });
  }
  return faults;
}

/** Reports missing rows that exist from the start: without them locks and notifications do not work. */
export async function missingRows(session: Session, { schema, tables: t }: Place): Promise<readonly TableFault[]> {
  const row = await session.row<Record<'slots' | 'clock' | 'progress', boolean>>(`
    SELECT (SELECT count(*) FROM ${t.slots} WHERE slot >= 0 AND slot < ${SLOTS}) < ${SLOTS} AS slots, NOT EXISTS (SELECT 1 FROM ${t.clock}) AS clock,
      NOT EXISTS (SELECT 1 FROM ${t.progress} WHERE what = 'terms') AS progress`);
  const fault = (name: 'slots' | 'clock' | 'progress', values: string): TableFault => ({
    code: 'CANNOT_OPEN',
    what: `The table ${quoted(schema)}.${name} is missing rows that hookbox created.`,
    advice: `Run: INSERT INTO ${t[name]} ${values} ON CONFLICT DO NOTHING`,
  });
  return [
    ...(row?.slots === true ? [fault('slots', `SELECT generate_series(0, ${SLOTS - 1})`)] : []),
    ...(row?.clock === true ? [fault('clock', '(latest_ms) VALUES (0)')] : []),
    ...(row?.progress === true ? [fault('progress', `VALUES (${literal('terms')}, 0)`)] : []),
  ];
}

/**
 * Sequences that are behind the stored numbers, as after a restore or a replication that leaves them out. The next
 * stored event fails, or gets a number between others.
 *
 * @returns `null` for a role that may not look at them
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

/** @throws InboxOpenError for the first of them */
export function refuseFaults([worst]: readonly TableFault[]): void {
  if (worst !== undefined) throw new InboxOpenError(worst.code, `${worst.what} ${worst.advice}.`);
}
