/**
 * The thread that makes a backup: copying and checking take as long as the disk does, and would block the event loop.
 *
 * @module
 */
import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { SqliteDatabase } from '../database.ts';
import { versionOf } from '../migrations.ts';

export interface BackupTask {
  readonly source: string;
  /** an empty file */
  readonly copy: string;
}

type ReadOnlyDatabase = new (
  path: string,
  options: { readonly: true; fileMustExist: true; timeout: number },
) => SqliteDatabase;

const WAIT_MS = 5_000;

function open(path: string): SqliteDatabase {
  // better-sqlite3 exports its class and nothing else.
  const Database = createRequire(import.meta.url)('better-sqlite3') as ReadOnlyDatabase;
  return new Database(path, { readonly: true, fileMustExist: true, timeout: WAIT_MS });
}

const { source, copy } = workerData as BackupTask; // given by backup.ts
const live = open(source);
try {
  live.prepare('VACUUM INTO ?').run(copy);
} finally {
  live.close();
}

const made = open(copy);
try {
  const fault = made.pragma('quick_check(1)', { simple: true });
  if (fault !== 'ok') throw new Error(`the copy is faulty: ${String(fault)}`);
  if (versionOf(made).version === 0) throw new Error('the copy has no tables of hookbox');
  made.prepare('SELECT seq FROM hookbox_events LIMIT 1').get();
} finally {
  made.close();
}
