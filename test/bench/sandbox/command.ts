import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { requests } from './requests.ts';

const started = z.object({ base: z.url(), apiKey: z.string() });
const hookbox = fileURLToPath(new URL('../../../dist/src/cli/hookbox.js', import.meta.url));

/** The built command in a process of its own, which listens. */
export interface SandboxCommand extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly apiKey: string;
}

export async function startSandbox(): Promise<SandboxCommand> {
  const child = spawn(process.execPath, [hookbox, 'sandbox', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const ended = exited.then(() => Promise.reject(new Error('hookbox sandbox ended before it listened.')));
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])) as [string];
  ended.catch(() => {}); // it does, later
  const { base, apiKey } = started.parse(JSON.parse(line));
  return {
    pid: child.pid ?? 0,
    port: Number(new URL(base).port),
    apiKey,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** From the start of the command until it has answered an operation, in milliseconds. */
export async function firstAnswerMs(): Promise<number> {
  const startedAt = performance.now();
  await using sandbox = await startSandbox();
  const { path, status } = requests.listMerchants;
  const asked = request({
    port: sandbox.port,
    host: '127.0.0.1',
    path,
    headers: { Authorization: sandbox.apiKey },
  }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  if (answer.statusCode !== status) throw new Error(`The first answer was ${answer.statusCode}.`);
  return performance.now() - startedAt;
}
