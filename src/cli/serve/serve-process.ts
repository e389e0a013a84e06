import type { Output } from './serve-reports.ts';
import { targetOf, type DbOptions } from '../shared/options.ts';
import { endProcess, tellFailure, usageError, CommandError, EXIT, tell } from '../shared/output.ts';
import { givenSecret, secretOf, type SecretOptions } from '../shared/secret.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, watch, type FSWatcher } from 'node:fs';
import * as nodeModule from 'node:module';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../errors.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../host/real-timers.ts';
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

/** `hookbox serve` */
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
  // Asked for once, and not at each start.
  const isAsked = options.unsafeUnsigned !== true && givenSecret(options) === null;
  if (isAsked) process.env['SIGNING_SECRET'] = await secretOf(options);
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

/** The message that ends the other process as a signal would. */
const STOP = 'stop';

/**
 * Runs `serve` in a process of its own, and anew each time when its handlers or a file that they import has changed: an
 * imported module stays as it was for as long as its process lives. A process that ended with an error waits for the next
 * change.
 *
 * @param args - of the other process
 * @returns the signal that ended it all
 * @throws CommandError when there are no handlers
 */
async function watchServe(file: string, args: readonly string[]): Promise<StopSignal> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`The file ${file} does not exist.`, EXIT.notFound);
  requireFile(path);
  const stopped = firstSignal();
  using watch = fileWatch();
  watch.add(path);
  for (;;) {
    const changed = watch.next();
    const child = started(args, (imported) => watch.add(imported));
    const ended = once(child, 'exit').then(([code]) => (code === EXIT.interrupted ? 'interrupted' : 'ended'));
    const change = changed.then((path) => {
      tell(`${relative('', path)} changed. Restarting.`);
      return 'change' as const;
    });
    const first = await Promise.race([stopped, change, ended]);
    if (first === 'interrupted') return 'SIGINT'; // its reader went away
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
  // On the second signal, which does not wait.
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.on('exit', () => process.off('exit', kill));
  return child;
}

/** In the other process: reports the files of the handlers, and ends when the watching process says so or is gone. */
function underWatch(): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isStopping = true;
      if (process.listenerCount(signal) === 0) process.exit(EXIT.interrupted); // it has not begun to serve
    });
  }
  // A terminal sends its signal to both processes: a second one would end this process at once.
  const stop = (): void => {
    if (!isStopping) process.emit('SIGTERM', 'SIGTERM');
  };
  process.on('message', (message) => {
    if (message === STOP) stop();
  });
  process.on('disconnect', stop);

  // Node 22.14 has none: only the module itself is watched there.
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

interface FileWatch extends Disposable {
  add(path: string): void;
  /** Resolves with a file that changes from now on, once it has been left alone for a moment. */
  next(): Promise<string>;
}

/** Editors write a file in several steps. */
const STILL_MS = 100;
/** A folder may be gone for a while, as when a build makes it anew or another branch is checked out. */
const AGAIN_MS = 500;

/** Watches folders, since many editors put a new file in the place of the one that they change. */
function fileWatch(): FileWatch {
  const files = new Set<string>();
  const folders = new Map<string, FSWatcher>();
  /** those that cannot be watched now */
  const gone = new Set<string>();
  const looking = setInterval(lookAgain, AGAIN_MS);
  let noted: (path: string) => void = () => {};
  let timer: NodeJS.Timeout | undefined;

  function note(path: string): void {
    clearTimeout(timer);
    timer = setTimeout(() => noted(path), STILL_MS);
  }

  function watchFolder(folder: string): void {
    const watchedOne = identityOf(folder);
    const watcher = watch(folder, (event, name) => {
      const path = name === null ? folder : join(folder, basename(name));
      if (name === null || files.has(path)) note(path);
      // About the folder itself, unless it has a file of its name: it was deleted or moved, and another one replaces it.
      if (event === 'rename' && name === basename(folder) && identityOf(folder) !== watchedOne) lose(folder);
    });
    folders.set(folder, watcher);
    watcher.on('error', () => lose(folder));
  }

  /** With the folders inside it, whose watchers get no event. */
  function lose(folder: string): void {
    for (const [each, watcher] of folders) {
      if (each !== folder && !each.startsWith(`${folder}${sep}`)) continue;
      watcher.close();
      folders.delete(each);
      gone.add(each);
    }
  }

  function lookAgain(): void {
    for (const folder of gone) {
      if (!existsSync(folder)) continue;
      try {
        watchFolder(folder);
      } catch {
        continue; // gone once more
      }
      gone.delete(folder);
      const file = [...files].find((path) => dirname(path) === folder);
      if (file !== undefined) note(file);
    }
  }

  return {
    add(path) {
      files.add(path);
      const folder = dirname(path);
      if (folders.has(folder) || gone.has(folder)) return;
      try {
        watchFolder(folder);
      } catch (failure) {
        gone.add(folder);
        tell(`note: hookbox cannot watch ${folder}: ${messageOf(failure)}.`);
      }
    },
    next: () =>
      new Promise((resolve) => {
        noted = resolve;
      }),
    [Symbol.dispose]() {
      clearTimeout(timer);
      clearInterval(looking);
      for (const watcher of folders.values()) watcher.close();
    },
  };
}

/** `null` where there is none. A number may be given again to the next folder. */
function identityOf(folder: string): string | null {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.ino} ${found.birthtimeMs}`;
}
