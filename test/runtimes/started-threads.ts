import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Worker, WorkerOptions } from 'node:worker_threads';

export interface StartedThread {
  readonly worker: Worker;
  readonly entry: string;
  readonly exited: Promise<void>;
}

/** On any runtime with `node:worker_threads`. */
export function startedThreads(): StartedThread[] {
  const workerThreads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker };
  const started: StartedThread[] = [];
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(entry: URL | string, options?: WorkerOptions) {
      super(entry, options);
      const { promise: exited, resolve } = Promise.withResolvers<void>();
      this.on('exit', () => resolve());
      started.push({ worker: this, entry: String(options?.name).replace('hookbox ', ''), exited });
    }
  };
  syncBuiltinESMExports();
  return started;
}
