import { createServer, type Server } from 'node:net';
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** where a test file asks for the Postgres of the run, which starts when the first one does */
    readonly postgresAt: number;
  }
}

/** Each project of a run sets up this file. */
const shared = globalThis as { postgresOfTheRun?: Promise<PostgresServer> };

/** One server for all files of a run: it takes seconds to start, and most runs of a single file need none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const door = createServer((socket) => {
    socket.on('error', () => {});
    shared.postgresOfTheRun ??= PostgresServer.start();
    shared.postgresOfTheRun.then(
      (server) => socket.end(JSON.stringify({ url: server.url() })),
      (failure: unknown) => socket.end(JSON.stringify({ failure: String(failure) })),
    );
  });
  project.provide('postgresAt', await portOf(door));
  return async () => {
    door.close();
    const started = shared.postgresOfTheRun;
    delete shared.postgresOfTheRun;
    const server = await started?.catch(() => undefined); // the file that asked has the error
    await server?.[Symbol.asyncDispose]();
  };
}

async function portOf(door: Server): Promise<number> {
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  const address = door.address();
  if (address === null || typeof address === 'string') throw new Error('the door has no port');
  return address.port;
}
