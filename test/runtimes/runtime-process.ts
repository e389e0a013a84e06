import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RunningServer } from './remote-host.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUN_LIMIT_MS = 50_000;
const hello = z.object({ origin: z.string(), runtime: z.string() });

export interface RuntimeProcess extends RunningServer {
  /** Without a chance to clean up. */
  kill(): Promise<void>;
}

/** Its first line says where it listens. */
export async function startProcess(command: readonly string[], module: string): Promise<RuntimeProcess> {
  const child = spawnIn(command, module);
  const exited = once(child, 'exit');
  const ended = exited.then(([code]: unknown[]) => {
    throw new Error(`${module} ended with ${String(code)} before it listened`);
  });
  const [line]: unknown[] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  ended.catch(() => {});
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { ...hello.parse(JSON.parse(String(line))), kill, [Symbol.asyncDispose]: kill };
}

export async function runProcess(
  command: readonly string[],
  module: string,
  given: readonly string[],
): Promise<{ readonly lines: readonly string[] }> {
  const child = spawnIn(command, module, given);
  child.stdin.end();
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  const limit = setTimeout(() => child.kill('SIGKILL'), RUN_LIMIT_MS);
  const [code, signal]: unknown[] = await once(child, 'close');
  clearTimeout(limit);
  if (code !== 0) throw new Error(`${module} ended with ${String(code ?? signal)} after it said ${lines.join('\n')}`);
  return { lines };
}

function spawnIn([binary = '', ...args]: readonly string[], module: string, given: readonly string[] = []) {
  const file = fileURLToPath(new URL(`servers/${module}`, import.meta.url));
  return spawn(binary, [...args, file, ...given], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
}
