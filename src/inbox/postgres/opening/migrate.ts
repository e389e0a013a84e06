import { InboxOpenError } from '../../../errors.ts';
import type { Session } from '../driver/session.ts';
import { quoted, type Tables } from '../sql/tables.ts';
import { migrations } from './migrations.ts';

export const NEWEST = migrations.at(-1)?.version ?? 0;

/** Whoever migrates holds it, so that of several processes that start one does and the others find it done. */
const LOCK = 5_417_090_261;
const LOCK_TIMEOUT_MS = 10_000;

/**
 * @returns whether nothing is left to migrate
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX` when a newer major version has written the schema
 */
export async function isMigrated(session: Session, schema: string, tables: Tables): Promise<boolean> {
  // Of a schema that is not there nothing else may be asked.
  const there = await session.row<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    tables.migrations,
  ]);
  if (there?.there !== true) return false;
  const row = await session.row<{ version: number | null; needs: number | null }>(
    `SELECT max(version) AS version, max(needs) AS needs FROM ${tables.migrations}`,
  );
  if ((row?.needs ?? 0) > NEWEST) {
    throw new InboxOpenError(
      'NEEDS_NEWER_HOOKBOX',
      `The inbox in the schema ${schema} was written by a newer version of hookbox. Upgrade hookbox here.`,
    );
  }
  return (row?.version ?? 0) >= NEWEST;
}

/** All that is missing, in one transaction. */
export async function migrate(session: Session, schema: string, tables: Tables): Promise<void> {
  await session.exec(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await session.rows('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  // A role that may not create schemas may own this one.
  const there = await session.row('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (there === undefined) await session.exec(`CREATE SCHEMA ${quoted(schema)}`);
  await session.exec(`
    CREATE TABLE IF NOT EXISTS ${tables.migrations} (
      version integer PRIMARY KEY, name text NOT NULL, needs integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  const applied = await session.rows<{ version: number }>(`SELECT version FROM ${tables.migrations}`);
  for (const { version, name, needs, sql } of migrations) {
    if (applied.some((row) => row.version === version)) continue;
    await session.exec(sql(tables));
    await session.run(`INSERT INTO ${tables.migrations} (version, name, needs) VALUES ($1, $2, $3)`, [
      version,
      name,
      needs,
    ]);
  }
  await session.exec('COMMIT');
}
