import { workerData } from 'node:worker_threads';
import { openConnection } from '../opening/better-sqlite.ts';
import type { WorkerStart } from '../threads/start-worker.ts';

/**
 * The thread that makes a backup: copying and checking take as long as the disk does, and would block the event loop.
 *
 * @module
 */

export interface BackupTask {
  /** `null` where the copy is made already: this thread must not open the file then */
  readonly source: string | null;
  /** an empty file, or the copy */
  readonly copy: string;
  /** the tables of hookbox that the source has */
  readonly tables: readonly string[];
}

const OPTIONS = { fileMustExist: true, timeout: 5_000 };

const { source, copy, tables } = (workerData as WorkerStart).task as BackupTask; // given by backup.ts
if (source !== null) copyFrom(source);
// For writing, although nothing is: SQLite checks no constraints on a connection that only reads.
const made = openConnection(copy, OPTIONS);
try {
  // Not the application's own tables: faults in their rows were copied unchanged.
  for (const table of tables) {
    const isThere =
      made.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined;
    if (!isThere) throw new Error('the copy is missing tables of hookbox');
    const fault = made.pragma(`quick_check("${table}")`, { simple: true });
    if (fault !== 'ok') throw new Error(`the copy is faulty: ${String(fault)}`);
  }
} finally {
  made.close();
}

function copyFrom(path: string): void {
  const live = openConnection(path, { ...OPTIONS, readonly: true });
  try {
    live.prepare('VACUUM INTO ?').run(copy);
  } finally {
    live.close();
  }
}
