/**
 * The entry of each thread. A bundle needs it as a separate file, under this name (`startWorker`).
 *
 * @module
 */
import { workerData } from 'node:worker_threads';
import type { WorkerStart } from './start-worker.ts';

const start = workerData as Partial<WorkerStart> | null; // given by startWorker
switch (start?.thread) {
  case 'writer-thread':
    void import('./writer-thread.ts');
    break;
  case 'operators-thread':
    void import('./operators-thread.ts');
    break;
  case 'checkpoint-thread':
    void import('./checkpoint-thread.ts');
    break;
  case 'backup-thread':
    void import('../operator/backup-thread.ts');
    break;
  case undefined:
}
