/**
 * The thread that makes a backup: copying and checking take as long as the disk does, and would block the event loop.
 *
 * @module
 */
import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import { distrustSchema, type SqliteDatabase } from '../../opening/database.ts';
import { TABLES } from '../../opening/migrations.ts';

export interface BackupTask {
  readonly source: string;
  /** an empty file */
  readonly copy: string;
}

type DatabaseClass = new (
  path: string,
  options: { readonly: boolean; fileMustExist: true; timeout: number },
) => SqliteDatabase;

const WAIT_MS = 5_000;

function open(path: string, readonly: boolean): SqliteDatabase {
  // better-sqlite3 exports its class and nothing else.
  const Database = createRequire(import.meta.url)('better-sqlite3') as DatabaseClass;
  const database = new Database(path, { readonly, fileMustExist: true, timeout: WAIT_MS });
  distrustSchema(database);
  return database;
}

const { source, copy } = workerData as BackupTask; // given by backup.ts
const live = open(source, true);
const made = copied(live);
try {
  const tables = tablesOf(made);
  if (tables.length === 0 || tables.length < tablesOf(live).length) throw new Error('the copy lacks tables of hookbox');
  // Not the merchant's own tables: what is wrong with their rows was copied as it is.
  for (const table of tables) {
    const fault = made.pragma(`quick_check("${table}")`, { simple: true });
    if (fault !== 'ok') throw new Error(`the copy is faulty: ${String(fault)}`);
  }
} finally {
  made.close();
  live.close();
}

function copied(live: SqliteDatabase): SqliteDatabase {
  try {
    live.prepare('VACUUM INTO ?').run(copy);
    // For writing, although nothing is: SQLite checks no constraints on a connection that only reads.
    return open(copy, false);
  } catch (failure) {
    live.close();
    throw failure;
  }
}

/** By name, since a merchant's own table may be called `hookbox_my table`. */
function tablesOf(database: SqliteDatabase): readonly string[] {
  const rows = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const present = new Set(rows.map((row) => (row as { name: string }).name));
  return TABLES.filter((table) => present.has(table));
}
