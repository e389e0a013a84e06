import { InboxOpenError } from '../../../errors.ts';
import { delay } from '../../../host/real-timers.ts';
import { committed, IDLE_TIMEOUT } from '../driver/database.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import { MIGRATION_MS, type Session } from '../driver/session.ts';
import { literal, quoted, type Tables } from '../sql/tables.ts';
import { type Migration, schema } from './schema.ts';

/** In their order. Within a minor version the schema stays. */
export const migrations: readonly Migration[] = [schema];

export const NEWEST = newestOf(migrations);

/** Whoever migrates holds it, so that of several processes that start one does and the others find it done. */
const LOCK = 5_417_090_261;
const LOCK_TIMEOUT_MS = 10_000;
/** Whoever waits for a table that a long transaction has in use holds up all who come after: not for long, and not at once again. */
const TABLE_TIMEOUT_MS = 1_500;
const AGAIN_MS = 2_000;

const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
  // Types are Postgres' own, and tables of the kind that it updates in place, whatever a role has set.
  'SET LOCAL search_path = pg_catalog',
  'SET LOCAL default_table_access_method = heap',
  IDLE_TIMEOUT,
].join('; ');
const TAKE_LOCK = `SELECT pg_advisory_xact_lock(${LOCK}); SET LOCAL lock_timeout = ${TABLE_TIMEOUT_MS}`;

/** The schema of an inbox, by its name and by its tables. */
export interface Place {
  readonly schema: string;
  readonly tables: Tables;
}

/**
 * What is to be done yet until the schema is that of this hookbox, in its order; `null` where there is no inbox.
 *
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX` when a newer major version has written the schema
 */
export async function missingMigrations(
  session: Session,
  { schema, tables }: Place,
  steps: readonly Migration[] = migrations,
): Promise<readonly Migration[] | null> {
  // Asked of the catalogue: what it keeps of it in memory may be of before somebody else has migrated.
  const there = await session.row(
    `SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relname = 'migrations'`,
    [schema],
  );
  if (there === undefined) return null;
  const applied = await session.rows<{ version: number; needs: number }>(
    `SELECT version, needs FROM ${tables.migrations}`,
  );
  if (applied.some(({ needs }) => needs > newestOf(steps))) {
    throw new InboxOpenError(
      'NEEDS_NEWER_HOOKBOX',
      `The inbox in the schema ${schema} was written by a newer version of hookbox. Upgrade hookbox here.`,
    );
  }
  return steps.filter(({ version }) => applied.every((row) => row.version !== version));
}

/**
 * Takes all missing steps, each in its own transaction: while one waits for a table in use, it holds no table that the other
 * process may want next.
 */
export async function migrate(
  session: Session,
  { schema, tables }: Place,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  for (let isDone = false; !isDone;) {
    // Postgres gives up first.
    await session.exec(`${BEGIN}; ${TAKE_LOCK}`, 2 * LOCK_TIMEOUT_MS);
    const missing = await missingMigrations(session, { schema, tables }, steps);
    if (missing === null) {
      // A role that may not create schemas may own this one.
      const there = await session.row('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
      if (there === undefined) await session.exec(`CREATE SCHEMA ${quoted(schema)}`);
      await session.exec(createMigrations(tables));
    }
    const [next] = missing ?? steps;
    if (next === undefined) isDone = true;
    else await made(session, statementsOf(next, tables));
    await committed(session);
  }
}

/** Where somebody has a table in use it lets go of everything and pauses, before whoever has asked does so again. */
async function made(session: Session, statements: string): Promise<void> {
  try {
    await session.exec(statements, MIGRATION_MS);
  } catch (failure) {
    if (failure instanceof DatabaseFailure && failure.code === '55P03') {
      await session.exec('ROLLBACK');
      await delay(AGAIN_MS * (0.5 + Math.random()));
    }
    throw failure;
  }
}

/**
 * What `migrate` runs, for people and for what they deploy with.
 *
 * @param missing - of a server that was asked; `null` where it has no inbox, or none was asked
 */
export function migrationScript({ schema, tables }: Place, missing: readonly Migration[] | null): string {
  return (missing ?? migrations)
    .map((migration, at) => {
      const prepare =
        missing === null && at === 0 ? [`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`, createMigrations(tables)] : [];
      const statements = [BEGIN, TAKE_LOCK, ...prepare].map((statement) => `${statement};\n`).join('');
      return `-- ${migration.version}: ${migration.name}\n${statements}${statementsOf(migration, tables)}\nCOMMIT;\n`;
    })
    .join('\n');
}

function createMigrations(tables: Tables): string {
  return `CREATE TABLE IF NOT EXISTS ${tables.migrations} (
  version integer PRIMARY KEY, name text NOT NULL, needs integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
)`;
}

/** With the line that says that it was done. */
function statementsOf({ version, name, needs, sql }: Migration, tables: Tables): string {
  const line = `INSERT INTO ${tables.migrations} (version, name, needs) VALUES (${version}, ${literal(name)}, ${needs});`;
  // As deep as it stands among the code.
  return `${sql(tables).replaceAll(/^ {4}/gm, '').trim()}\n${line}`;
}

function newestOf(steps: readonly Migration[]): number {
  return steps.at(-1)?.version ?? 0;
}
