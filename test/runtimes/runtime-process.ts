import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RunningServer } from './remote-host.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const hello = z.object({ origin: z.string(), runtime: z.string() });

/** A server under test in a process of its own. */
export interface RuntimeProcess extends RunningServer {
  /** Ends it without any chance to clean up. */
  kill(): Promise<void>;
}

/** Runs a module of `servers/` with a runtime's binary; it says on its first line where it listens. */
export async function startProcess(binary: string, args: readonly string[], module: string): Promise<RuntimeProcess> {
  const file = fileURLToPath(new URL(`servers/${module}`, import.meta.url));
  const child = spawn(binary, [...args, file], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]: unknown[]) => {
    throw new Error(`${binary} ended with ${String(code)} before it listened`);
  });
  const [line]: unknown[] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  ended.catch(() => {});
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { ...hello.parse(JSON.parse(String(line))), kill, [Symbol.asyncDispose]: kill };
}
