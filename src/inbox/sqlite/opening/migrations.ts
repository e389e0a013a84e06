import { InboxOpenError } from '../../../errors.ts';
import type { SqliteDatabase } from './database.ts';
import { schema, type Migration } from './schema.ts';

/** In their order. Within a minor version the schema stays. */
const migrations: readonly Migration[] = [schema];

/** The tables of an inbox, as far as this hookbox knows them; any other is the application's, whatever its name. */
export const TABLES: readonly string[] = [
  'hookbox_migrations',
  ...migrations.flatMap(({ sql }) => Array.from(sql.matchAll(/CREATE TABLE (\w+)/g), ([, name = '']) => name)),
];

/** The newest version of the tables that this hookbox knows. */
export const KNOWN_VERSION = newestOf(migrations);

/**
 * Makes the tables of a file, or brings them up to date, in one transaction. The caller checks `synchronous` after this
 * write. Of several processes that start at once the first does the work.
 *
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX`
 */
export function migrate(database: SqliteDatabase, steps: readonly Migration[] = migrations): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec(`
      CREATE TABLE IF NOT EXISTS hookbox_migrations (
        version    INTEGER PRIMARY KEY,
        name       TEXT    NOT NULL,
        needs      INTEGER NOT NULL,
        applied_ms INTEGER NOT NULL
      ) STRICT
    `);
    const present = versionOf(database);
    const known = newestOf(steps);
    if (present.needs > known) {
      throw new InboxOpenError(
        'NEEDS_NEWER_HOOKBOX',
        `A newer hookbox wrote ${database.name}: the file needs schema version ${present.needs}, but this ` +
          `hookbox supports only versions up to ${known}. Update hookbox in this process; the file is unchanged.`,
      );
    }
    for (const { version, name, needs, sql } of steps) {
      if (version <= present.version) continue;
      database.exec(sql);
      database
        .prepare('INSERT INTO hookbox_migrations (version, name, needs, applied_ms) VALUES (?, ?, ?, ?)')
        .run(version, name, needs, Date.now());
    }
    // The write that FULL is asserted after, also when there was nothing to migrate.
    database.exec('UPDATE hookbox_migrations SET name = name WHERE version = 1');
    database.exec('COMMIT');
  } catch (failure) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw failure;
  }
}

/** Which version the tables of a file have, and which one a process must know to work on them. */
export function versionOf(database: Pick<SqliteDatabase, 'prepare'>): { version: number; needs: number } {
  const row = database
    .prepare('SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM hookbox_migrations')
    .safeIntegers(false)
    .get();
  return row as { version: number; needs: number }; // the columns of the statement above
}

function newestOf(steps: readonly Migration[]): number {
  return Math.max(...steps.map(({ version }) => version));
}
