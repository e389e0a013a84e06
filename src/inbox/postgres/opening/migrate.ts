import { InboxOpenError } from '../../../errors.ts';
import { delay } from '../../../host/real-timers.ts';
import { committed, IDLE_TIMEOUT } from '../driver/database.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import { MIGRATION_MS, type Session } from '../driver/session.ts';
import { literal, quoted, type Tables } from '../sql/tables.ts';
import { migrations, type Migration } from './schema.ts';

export const NEWEST = newestOf(migrations);

/** One of several processes migrates, and the others find it done. */
const LOCK = 5_417_090_261;
const LOCK_TIMEOUT_MS = 10_000;
/** A migration that waits for a table delays all later statements on this table. */
const TABLE_TIMEOUT_MS = 1_500;
const AGAIN_MS = 2_000;

const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
  // Roles may have other defaults.
  'SET LOCAL search_path = pg_catalog',
  'SET LOCAL default_table_access_method = heap',
  IDLE_TIMEOUT,
].join('; ');
const TAKE_LOCK = `SELECT pg_advisory_xact_lock(${LOCK}); SET LOCAL lock_timeout = ${TABLE_TIMEOUT_MS}`;

export interface Place {
  readonly schema: string;
  readonly tables: Tables;
}

export async function missingMigrations(
  session: Session,
  { schema, tables }: Place,
  steps: readonly Migration[] = migrations,
): Promise<readonly Migration[] | null> {
  // Cached plans may be older than another process's migration.
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

/** Each migration has its own transaction, so it holds no table while it waits for another one. */
export async function migrate(
  session: Session,
  { schema, tables }: Place,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  for (let isDone = false; !isDone;) {
    // Postgres cancels first.
    await session.exec(`${BEGIN}; ${TAKE_LOCK}`, 2 * LOCK_TIMEOUT_MS);
    const missing = await missingMigrations(session, { schema, tables }, steps);
    if (missing === null) {
      // The role may own the schema without the right to create one.
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

/** Pauses if a table is in use. */
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
 * The SQL of `migrate`, for a reader.
 *
 * @param missing - `null` without an inbox or a server
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

function statementsOf({ version, name, needs, sql }: Migration, tables: Tables): string {
  const line = `INSERT INTO ${tables.migrations} (version, name, needs) VALUES (${version}, ${literal(name)}, ${needs});`;
  // The code indents it to this depth.
  return `${sql(tables).replaceAll(/^ {4}/gm, '').trim()}\n${line}`;
}

function newestOf(steps: readonly Migration[]): number {
  return steps.at(-1)?.version ?? 0;
}
