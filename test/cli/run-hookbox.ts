import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a command printed and how it ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** written to standard input, which is empty otherwise */
  readonly input?: string | Uint8Array;
  /** an open file to print to, instead of what the test reads */
  readonly stdout?: number;
}

/** The secret that commands find in their environment unless a test says otherwise. */
export const SECRET = 'a secret that only the tests know';

// HOOKBOX_FROM_SOURCE=1 saves a build while a command is being written.
const bin = fileURLToPath(
  new URL(
    process.env['HOOKBOX_FROM_SOURCE'] === '1' ? '../../src/cli/hookbox.ts' : '../../dist/src/cli/hookbox.js',
    import.meta.url,
  ),
);

const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
/** The last saves each command a part of its start. */
const KEPT = { PATH, HOME, NODE_COMPILE_CACHE };

/** Starts the built `hookbox`, for commands that run until they are stopped. */
export function startHookbox(args: readonly string[], { cwd, env, stdout }: RunOptions = {}): ChildProcess {
  if (!existsSync(bin)) throw new Error('dist is missing: the tests run the built command; npm run build');
  return spawn(process.execPath, [bin, ...args], {
    ...(cwd !== undefined && { cwd }),
    stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
    env: { ...KEPT, SIGNING_SECRET: SECRET, ...env },
  });
}

/** Runs the built `hookbox` to its end. */
export async function runHookbox(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = startHookbox(args, options);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin?.on('error', () => {}); // a command need not read it
  child.stdin?.end(options.input);
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}
