import type { Output } from './serve-reports.ts';
import { targetOf, type DbOptions } from '../shared/options.ts';
import { endProcess, tellFailure, usageError, CommandError, EXIT, tell } from '../shared/output.ts';
import { givenSecret, secretOf, type SecretOptions } from '../shared/secret.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watchFile } from 'node:fs';
import * as nodeModule from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { firstSignal, type StopSignal } from '../shared/interruption.ts';
import { requireFile } from '../shared/files.ts';

interface ServeCommandOptions extends DbOptions, SecretOptions {
  readonly port: number;
  readonly host: string;
  readonly path: string;
  readonly unsafeUnsigned?: boolean;
  readonly forwardTo?: string;
  readonly allowRemote?: boolean;
  readonly output?: Output;
  readonly watch?: boolean;
  readonly watched?: boolean;
  readonly verbose?: boolean;
}

export async function startServing(file: string | undefined, options: ServeCommandOptions): Promise<void> {
  try {
    const signal = await (options.watch === true ? watched : served)(file, options);
    process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
  } catch (failure) {
    tellFailure(failure);
  }
  await endProcess();
}

async function watched(file: string | undefined, options: ServeCommandOptions): Promise<StopSignal> {
  if (file === undefined) throw usageError('--watch needs a handler module. Pass its path.');
  const needsSecret = options.unsafeUnsigned !== true && givenSecret(options) === null;
  if (needsSecret) process.env['SIGNING_SECRET'] = await secretOf(options);
  const args = process.argv.slice(2).map((arg) => (arg === '--watch' ? '--watched' : arg));
  return watchServe(file, args);
}

async function served(file: string | undefined, options: ServeCommandOptions): Promise<StopSignal> {
  const { unsafeUnsigned = false, forwardTo, allowRemote = false, output } = options;
  const { serve, loadHandlers } = await import('./run-server.ts');
  if (options.watched === true) underWatch();
  const target = forwardTo === undefined ? undefined : targetOf(forwardTo, allowRemote);
  const loaded = file === undefined ? {} : await loadHandlers(file);
  return serve({
    ...options,
    portOption: '--port',
    secret: unsafeUnsigned ? null : await secretOf(options),
    output: output ?? (process.stdout.isTTY ? 'interactive' : 'compact'),
    ...loaded,
    forwardTo: target,
  });
}

const STOP = 'stop';
const LOOK_EVERY_MS = 100;
/** Editors and builds write several files, and write a file in several steps. */
const STILL_MS = 150;

/**
 * Runs `serve` in a separate process, and again after each change to the handlers or a file that they import. Node caches
 * modules, so the same process cannot load them again.
 */
async function watchServe(file: string, args: readonly string[]): Promise<StopSignal> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`The file ${file} does not exist.`, EXIT.notFound);
  requireFile(path);
  const stopped = firstSignal();
  const files = new Set<string>();
  let onChange: (path: string) => void = () => {};
  let timer: NodeJS.Timeout | undefined;

  // `node --watch` and `fs.watch` lose a folder that a build or a checkout replaces; polling finds the new one.
  function addFile(path: string): void {
    if (files.has(path)) return;
    files.add(path);
    watchFile(path, { interval: LOOK_EVERY_MS }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => onChange(path), STILL_MS);
    });
  }

  addFile(path);
  for (;;) {
    const change = new Promise<string>((resolve) => (onChange = resolve)).then((path) => {
      tell(`${relative('', path)} changed. Restarting.`);
      return 'change' as const;
    });
    const child = started(args, addFile);
    const ended = once(child, 'exit').then(([code]) => (code === EXIT.interrupted ? 'interrupted' : 'ended'));
    const first = await Promise.race([stopped, change, ended]);
    if (first === 'interrupted') return 'SIGINT'; // its reader has ended
    if (first === 'ended')
      tell(`The process ended. Waiting for a change to ${file} or to a file that it imports. Press Ctrl-C to stop.`);
    else if (child.connected) child.send(STOP);
    await ended;
    const next = await Promise.race([stopped, change]);
    if (next !== 'change') return next;
  }
}

function started(args: readonly string[], imported: (path: string) => void): ChildProcess {
  const [, script = ''] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', (path) => imported(path as string));
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.on('exit', () => process.off('exit', kill));
  return child;
}

/** In the child process: reports the files of the handlers, and stops when the watching process says so or ends. */
function underWatch(): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isStopping = true;
      if (process.listenerCount(signal) === 0) process.exit(EXIT.interrupted); // still loading
    });
  }
  // A terminal sends its signal to both processes, and a second signal would end this process immediately.
  const stop = (): void => {
    if (!isStopping) process.emit('SIGTERM', 'SIGTERM');
  };
  process.on('message', (message) => {
    if (message === STOP) stop();
  });
  process.on('disconnect', stop);

  // Node 22.14 lacks it, so there hookbox watches only the module itself.
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>;
  registerHooks?.({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) {
        process.send?.(fileURLToPath(url.replace(/[?#].*$/, '')));
      }
      return next(url, context);
    },
  });
}
