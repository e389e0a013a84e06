import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';

const LIMIT_MS = 120_000;

/** How a command ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end in a folder; the `node` it finds is the one that runs the tests, unless a PATH is given. */
export async function run(
  command: string,
  args: readonly string[],
  folder: string,
  PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter),
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd: folder,
    // Compilers in Go end before it is worth while to collect garbage.
    env: { ...process.env, ...(command !== 'npm' && compiledBeside(folder)), GOGC: 'off', PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, signal: child.signalCode, stdout, stderr };
}

/** What Node has compiled of a project that is gone after the tests goes with it. */
function compiledBeside(folder: string): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(dirname(folder), 'compiled') };
}

/** The same for a command that has to succeed. */
export async function succeed(command: string, args: readonly string[], folder: string): Promise<Ended> {
  const ended = await run(command, args, folder);
  if (ended.code === 0) return ended;
  throw new Error([`${command} ${args.join(' ')} failed`, ended.stdout, ended.stderr].join('\n'));
}
