import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Row } from './rows.ts';

/** What the server is asked: to count anew, to count, or to count and sort, which takes a moment. */
export type Question = 'begin' | 'count' | 'report';

const STOP_LIMIT_MS = 5_000;

/** A row's server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  /** Asks a server that handles events; one question at a time. */
  ask(question: Question): Promise<unknown>;
}

/** Starts `servers/<name>.ts` and waits until it listens. */
export async function startServer(row: Row, databaseFile: string): Promise<ServerProcess> {
  const child = fork(fileURLToPath(new URL(`servers/${row.name}.ts`, import.meta.url)), [databaseFile], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await Promise.race([exited, delay(STOP_LIMIT_MS, undefined, { ref: false })]);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  };
  const [message]: unknown[] = await Promise.race([once(child, 'message'), exited]);
  const reported = z.object({ port: z.number() }).safeParse(message);
  if (!reported.success || child.pid === undefined) {
    await stop();
    throw new Error(`${row.name} ended before it listened.`);
  }
  const ask = async (question: Question): Promise<unknown> => {
    const answered = Promise.race([once(child, 'message'), exited.then(() => null)]);
    child.send(question);
    const answer: unknown[] | null = await answered;
    if (answer === null) throw new Error(`${row.name} ended before it answered.`);
    return answer[0];
  };
  return { ask, pid: child.pid, port: reported.data.port, [Symbol.asyncDispose]: stop };
}
