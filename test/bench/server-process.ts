import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { resolvingFrom } from './against.ts';
import type { Row } from './rows.ts';

const loopDelay = z.object({ p50: z.number(), p99: z.number(), max: z.number() });

/** What others waited for an event loop, in milliseconds (loop-delay-probe.ts). */
export type LoopDelay = z.infer<typeof loopDelay>;

export type LoopDelayQuestion = 'loop-delay-begin' | 'loop-delay-end';

/** What a server that handles is asked: to count anew, to count, or to count and sort, which takes a moment. */
export type HandlingQuestion = 'begin' | 'count' | 'report';

const STOP_LIMIT_MS = 5_000;

/** A row's server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  /** Asks the server; one question at a time. */
  ask(question: HandlingQuestion | LoopDelayQuestion): Promise<unknown>;
  /** The delay of its event loop while something lasts. */
  loopDelayDuring<T>(work: () => Promise<T>): Promise<[T, LoopDelay]>;
}

/** Starts `servers/<server>.ts` and waits until it listens. */
export async function startServer(row: Row, databaseFile: string, env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
  const preloads = [new URL('loop-delay-probe.ts', import.meta.url).href, ...resolvingFrom(row.checkout)];
  const child = fork(
    fileURLToPath(new URL(`servers/${row.server}.ts`, import.meta.url)),
    [databaseFile, ...(row.onTheLoop === true ? ['loop'] : [])],
    {
      env: { ...process.env, NODE_ENV: 'production', ...env },
      execArgv: preloads.flatMap((preload) => ['--import', preload]),
    },
  );
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
  const ask: ServerProcess['ask'] = async (question) => {
    const answered = Promise.race([once(child, 'message'), exited.then(() => null)]);
    child.send(question);
    const answer: unknown[] | null = await answered;
    if (answer === null) throw new Error(`${row.name} ended before it answered.`);
    return answer[0];
  };
  return {
    ask,
    async loopDelayDuring(work) {
      await ask('loop-delay-begin');
      const result = await work();
      return [result, loopDelay.parse(await ask('loop-delay-end'))];
    },
    pid: child.pid,
    port: reported.data.port,
    [Symbol.asyncDispose]: stop,
  };
}
