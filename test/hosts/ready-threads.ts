import { expect } from 'vitest';
import { expectConsole } from './console.ts';
import { expectStores } from './deliveries.ts';
import type { Project } from './project.ts';
import type { RunningServer } from './server.ts';

const READY = 'says that it is ready';
const NO_THREAD = 'the inbox runs without its thread';

/** Logs each thread that was started and has found its file. */
const TELLS_OF_THREADS = `import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';

const { Worker } = workerThreads;
workerThreads.Worker = class extends Worker {
  constructor(entry, options) {
    super(entry, options);
    this.on('message', ({ kind }) => {
      if (kind === 'ready') console.log(options.name, '${READY}');
    });
  }
};
syncBuiltinESMExports();`;

export function tellingOfThreads(project: Project): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${project.write('tells-of-threads.mjs', TELLS_OF_THREADS)}` };
}

export async function expectThread(server: RunningServer): Promise<void> {
  await expectStores(server);
  await expectConsole(server).toContain(`hookbox writer-thread ${READY}`);
  expect(server.output()).not.toContain(NO_THREAD);
}

/** The file of the thread was lost. */
export async function expectNoThread(server: RunningServer): Promise<void> {
  await expectStores(server);
  await expectConsole(server).toContain(NO_THREAD);
  expect(server.output().split(NO_THREAD)).toHaveLength(2);
  expect(server.output()).not.toContain(READY);
}
