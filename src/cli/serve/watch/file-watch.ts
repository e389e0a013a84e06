import { existsSync, statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../../host/real-timers.ts';
import { messageOf } from '../../../errors.ts';
import { tell } from '../../shared/output.ts';

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
