import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CommandEnd, CommandRequest } from './command-process.ts';

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
  /** it fails before it serves, so it needs no process of its own */
  readonly refused?: true;
}

/** The secret that commands find in their environment unless a test says otherwise. */
export const SECRET = 'a secret that only the tests know';

// HOOKBOX_FROM_SOURCE=1 saves a build while a command is being written.
const [folder, extension] = process.env['HOOKBOX_FROM_SOURCE'] === '1' ? ['src', 'ts'] : ['dist/src', 'js'];
const fileOf = (name: string): string =>
  fileURLToPath(new URL(`../../${folder}/cli/${name}.${extension}`, import.meta.url));
const bin = fileOf('hookbox');

const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
/** The last saves each command a part of its start. */
const KEPT = { PATH, HOME, NODE_COMPILE_CACHE };

/** Starts the built `hookbox`, for commands that run until they are stopped. */
export function startHookbox(args: readonly string[], { cwd, env, stdout }: RunOptions = {}): ChildProcess {
  assertBuilt();
  return spawn(process.execPath, [bin, ...args], {
    ...(cwd !== undefined && { cwd }),
    stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
    env: { ...KEPT, SIGNING_SECRET: SECRET, ...env },
  });
}

/** Runs the built `hookbox` to its end in a process of its own. */
export async function runProcess(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
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

/** These end their process themselves. */
const NEEDS_PROCESS = new Set(['serve', 'ui']);

/**
 * Runs the built `hookbox` to its end: one command after the other in one process, since most of what a command costs is
 * its start. What is about the process itself, by NODE_OPTIONS or its output, gets one of its own.
 */
export async function runHookbox(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { cwd = process.cwd(), env, input = '', stdout, refused = false } = options;
  const serves = !refused && NEEDS_PROCESS.has(args[0] ?? '');
  const isOwn = serves || env?.['NODE_OPTIONS'] !== undefined || stdout !== undefined;
  if (isOwn) return runProcess(args, options);
  assertBuilt();
  const runCommand = idle.pop() ?? (await startCommandProcess(fileOf('program')));
  const request: CommandRequest = { args, cwd, env: { ...KEPT, SIGNING_SECRET: SECRET, ...env }, input };
  const ran = await runCommand(request);
  idle.push(runCommand);
  return ran;
}

export type RunCommand = (request: CommandRequest) => Promise<CommandEnd>;

/** Processes that run no command at the moment. */
const idle: RunCommand[] = [];

/** Starts a process for what a module runs. It ends with the one that runs the tests. */
export async function startCommandProcess(program: string): Promise<RunCommand> {
  const child = fork(fileURLToPath(new URL('command-process.ts', import.meta.url)), [program], {
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.unref();
  const message = async (about: string): Promise<unknown> => {
    const ended = new AbortController();
    try {
      const gone = once(child, 'exit', ended).then(() => Promise.reject(new Error(`${about} ended its process`)));
      const [received]: unknown[] = await Promise.race([once(child, 'message', ended), gone]);
      return received;
    } finally {
      ended.abort();
    }
  };
  await message(program);
  return async (request) => {
    const ran = message([program, ...request.args].join(' '));
    child.send(request);
    return (await ran) as CommandEnd;
  };
}

function assertBuilt(): void {
  if (!existsSync(bin)) throw new Error('dist is missing: the tests run the built command; npm run build');
}
