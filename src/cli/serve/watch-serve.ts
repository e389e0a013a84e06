import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, watch, type FSWatcher } from 'node:fs';
import * as nodeModule from 'node:module';
import { relative, resolve, basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../errors.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../host/real-timers.ts';
import { CommandError, EXIT, tell } from '../shared/output.ts';
import { firstSignal, type StopSignal } from '../shared/interruption.ts';
import { requireFile } from '../shared/files.ts';

/** What tells the other process to end as a signal would. */
export const STOP = 'stop';

/**
 * Runs `serve` in a process of its own, and anew each time when its handlers or what they import has changed: a module
 * that was imported stays as it was for as long as its process lives. One that has ended with an error waits for the
 * change that mends it.
 *
 * @param args - what starts it there
 * @returns the signal that ended it all
 * @throws CommandError when there are no handlers
 */
export async function watchServe(file: string, args: readonly string[]): Promise<StopSignal> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`The file ${file} does not exist.`, EXIT.notFound);
  requireFile(path);
  const stopped = firstSignal();
  using watch = fileWatch();
  watch.add(path);
  for (;;) {
    const changed = watch.next();
    const child = started(args, (imported) => watch.add(imported));
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    const change = changed.then((path) => {
      tell(`${relative('', path)} changed. Restarting.`);
      return 'change' as const;
    });
    const first = await Promise.race([stopped, change, ended.then(asEnd)]);
    if (first === 'interrupted') return 'SIGINT'; // its reader went away
    if (first === 'ended')
      tell(`The process ended. Waiting for a change to ${file} or to a file that it imports. Press Ctrl-C to stop.`);
    else if (child.connected) child.send(STOP);
    await ended;
    // Where nothing has changed, that is waited for; a signal may have come meanwhile.
    const next = await Promise.race([stopped, change]);
    if (next !== 'change') return next;
  }
}

function asEnd(code: number | null): 'ended' | 'interrupted' {
  return code === EXIT.interrupted ? 'interrupted' : 'ended';
}

function started(args: readonly string[], imported: (path: string) => void): ChildProcess {
  const [, script = ''] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', (path) => {
    if (typeof path === 'string') imported(path);
  });
  // On the second signal, which does not wait.
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.on('exit', () => process.off('exit', kill));
  return child;
}

/** Tells of changes of some files. */
export interface FileWatch extends Disposable {
  add(path: string): void;
  /** Resolves with a file that changes from now on, once it has been left alone for a moment. */
  next(): Promise<string>;
}

/** Editors write a file in several steps. */
const STILL_MS = 100;
/** A folder that has gone, as while a build makes it anew or another branch is checked out, is looked for so often. */
const AGAIN_MS = 500;

/** Watches folders, since many editors put a new file in the place of the one that they change. */
export function fileWatch(): FileWatch {
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
      // Said of the folder itself, unless it has a file of its name: it was deleted or moved, and what comes in its place is another.
      if (event === 'rename' && name === basename(folder) && identityOf(folder) !== watchedOne) lose(folder);
    });
    folders.set(folder, watcher);
    watcher.on('error', () => lose(folder));
  }

  /** With what lies in it, which hears nothing of that. */
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
        continue; // gone once more, or for good, which was said
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

/** `null` where there is none. A number may be given again to what comes next. */
function identityOf(folder: string): string | null {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.ino} ${found.birthtimeMs}`;
}

/** Tells the process that watches which files the handlers are made of, and ends when it says so or is gone. */
export function underWatch(): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isStopping = true;
      if (process.listenerCount(signal) === 0) process.exit(EXIT.interrupted); // it has not begun to serve
    });
  }
  // A terminal sends its signal to both processes: the second one would be taken for impatience.
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
      if (url.startsWith('file:') && !url.includes('/node_modules/')) report(url);
      return next(url, context);
    },
  });
}

function report(url: string): void {
  process.send?.(fileURLToPath(url.replace(/[?#].*$/, '')));
}
