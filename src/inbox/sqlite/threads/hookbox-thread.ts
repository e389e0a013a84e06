/**
 * What each thread of hookbox begins with. A bundle has it beside itself, under this name: `startWorker` looks for it there.
 *
 * @module
 */
import { workerData } from 'node:worker_threads';
import type { WorkerStart } from './start-worker.ts';

// Elsewhere than in a thread it does nothing: bundlers and tests import it.
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
