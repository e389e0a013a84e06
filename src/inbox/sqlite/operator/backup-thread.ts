import { workerData } from 'node:worker_threads';
import { openConnection } from '../opening/better-sqlite.ts';
import type { WorkerStart } from '../threads/start-worker.ts';

/**
 * Copies and checks the file outside the event loop.
 *
 * @module
 */

export interface BackupTask {
  /** `null` if the copy exists: this thread must not open the file then */
  readonly source: string | null;
  readonly copy: string;
  readonly tables: readonly string[];
}

const OPTIONS = { fileMustExist: true, timeout: 5_000 };

const { source, copy, tables } = (workerData as WorkerStart).task as BackupTask; // given by backup.ts
if (source !== null) copyFrom(source);
// SQLite checks constraints only on a connection that can write.
const made = openConnection(copy, OPTIONS);
try {
  // Faults in the application's tables were copied unchanged.
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
