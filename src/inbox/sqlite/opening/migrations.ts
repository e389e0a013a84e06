import { InboxOpenError } from '../../../errors.ts';
import type { SqliteDatabase } from './database.ts';
import { clock } from './schema/05-clock.ts';
import { endpoints } from './schema/04-endpoints.ts';
import { events } from './schema/01-events.ts';
import { handling } from './schema/02-handling.ts';
import { retryNow } from './schema/06-retry-now.ts';
import { leases } from './schema/13-leases.ts';
import { leftBehind } from './schema/11-left-behind.ts';
import { marks } from './schema/09-marks.ts';
import { marksByEndpoint } from './schema/12-marks-by-endpoint.ts';
import type { Migration } from './schema/migration.ts';
import { operations } from './schema/03-operations.ts';
import { optionsByType } from './schema/07-options-by-type.ts';
import { pauses } from './schema/10-pauses.ts';
import { processors } from './schema/08-processors.ts';

/** Numbered and named; within a major version they only add. */
const migrations: readonly Migration[] = [
  events,
  handling,
  operations,
  endpoints,
  clock,
  retryNow,
  optionsByType,
  processors,
  marks,
  pauses,
  leftBehind,
  marksByEndpoint,
  leases,
];

/** The tables of an inbox, as far as this hookbox knows them; any other is the merchant's, whatever its name. */
export const TABLES: readonly string[] = [
  'hookbox_migrations',
  ...migrations.flatMap(({ sql }) => Array.from(sql.matchAll(/CREATE TABLE (\w+)/g), ([, name = '']) => name)),
];

/** The newest version of the tables that this hookbox knows. */
export const KNOWN_VERSION = Math.max(...migrations.map(({ version }) => version));

/**
 * Brings the tables of a file up to date, in one transaction that also is the write after which the caller looks at
 * `synchronous`. Safe when several processes start at once: the second one finds the work done.
 *
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX`
 */
export function migrate(database: SqliteDatabase): void {
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
    if (present.needs > KNOWN_VERSION) {
      throw new InboxOpenError(
        'NEEDS_NEWER_HOOKBOX',
        `A newer hookbox wrote ${database.name}: it needs schema version ${present.needs}, and this hookbox ` +
          `knows up to ${KNOWN_VERSION}. Update hookbox in this process; the file is unchanged.`,
      );
    }
    for (const { version, name, needs, sql } of migrations) {
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
