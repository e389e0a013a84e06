import { createRequire } from 'node:module';
import type { Worker, WorkerOptions } from 'node:worker_threads';

interface WorkerThreads {
  readonly Worker: new (entry: URL, options: WorkerOptions) => Worker;
}

/**
 * Starts a thread of hookbox's own.
 *
 * @param beside - the URL of a module in the same folder
 * @param entry - the name of its file, without the ending
 */
export function startWorker(beside: string, entry: string, workerData: unknown): Worker {
  // By require: where there are no threads, as on Workers, an inbox must still be able to say why it refuses to open.
  const { Worker } = createRequire(import.meta.url)('node:worker_threads') as WorkerThreads;
  const suffix = beside.endsWith('.ts') ? 'ts' : 'js';
  // Not by `new URL(…, import.meta.url)`: of what that leads to bundlers make assets, which do not run.
  const worker = new Worker(new URL(beside.replace(/[^/]*$/, `${entry}.${suffix}`)), {
    name: `hookbox ${entry}`,
    workerData,
    stdout: true,
    stderr: true,
    // What the process was started with, such as --input-type or --import, is not for it.
    ...(suffix === 'js' && { execArgv: [] }),
  });
  // It prints nothing. Node would set the output of the whole process to not block, to pass on what it prints.
  const { stdout, stderr } = worker as Partial<Pick<Worker, 'stdout' | 'stderr'>>;
  stdout?.destroy();
  stderr?.destroy();
  return worker;
}
