import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Project } from './project.ts';
import { SECRET } from './secret.ts';
import { freePort } from '../helpers/free-port.ts';

export type Command = readonly [program: string, ...args: string[]];

export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly database: string;
  output(): string;
  /** Resolves with the exit code; sends the signal first. */
  ended(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

const START_LIMIT_MS = 20_000;

export async function run([program, ...args]: Command, cwd: string, env: Variables = {}): Promise<Finished> {
  const child = spawn(program, args, { cwd, env: variables(env) });
  let output = '';
  const note = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  child.stdin.end();
  await once(child, 'close');
  return { code: child.exitCode, output };
}

export async function startServer(
  project: Project,
  [program, ...args]: Command,
  { cwd = project.folder, path = '/webhooks', env = {} }: { cwd?: string; path?: string; env?: Variables } = {},
): Promise<RunningServer> {
  const port = await freePort();
  const database = join(mkdtempSync(join(project.folder, 'data-')), 'hookbox.db');
  const child = spawn(program, args, {
    cwd,
    env: variables({ PORT: String(port), HOOKBOX_DB: database, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let output = '';
  const note = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  const server: RunningServer = {
    port,
    url: `http://127.0.0.1:${port}${path}`,
    database,
    output: () => output,
    async ended(signal) {
      if (signal !== undefined) child.kill(signal);
      await exited;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      if ((await Promise.race([exited, delay(2_000, 'too slow')])) === 'too slow') child.kill('SIGKILL');
      await exited;
    },
  };
  try {
    for (const until = performance.now() + START_LIMIT_MS; !(await accepts(port)); await delay(20)) {
      if (child.exitCode !== null) throw new Error(`${program} ${args.join(' ')} has ended:\n${output}`);
      if (performance.now() > until) throw new Error(`${program} ${args.join(' ')} does not listen:\n${output}`);
    }
  } catch (failure) {
    await server[Symbol.asyncDispose]();
    throw failure;
  }
  return server;
}

/** Without vitest's, so that a host does not take itself for a test. */
function variables(more: Variables): NodeJS.ProcessEnv {
  const { VITEST: _, NODE_ENV: __, ...kept } = process.env;
  return { ...kept, SIGNING_SECRET: SECRET, ...more };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
