import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join } from 'node:path';
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

/** Watches folders, since many editors put a new file in the place of the one that they change. */
export function fileWatch(): FileWatch {
  const files = new Set<string>();
  const folders = new Map<string, FSWatcher | null>();
  let noted: (path: string) => void = () => {};
  let timer: NodeJS.Timeout | undefined;

  function note(path: string): void {
    clearTimeout(timer);
    timer = setTimeout(() => noted(path), STILL_MS);
  }

  function watched(folder: string): FSWatcher | null {
    try {
      const watcher = watch(folder, (_, name) => {
        const path = name === null ? folder : join(folder, basename(name));
        if (name === null || files.has(path)) note(path);
      });
      return watcher.on('error', () => watcher.close()); // the folder is gone
    } catch (failure) {
      tell(`note: ${folder} cannot be watched: ${messageOf(failure)}.`);
      return null;
    }
  }

  return {
    add(path) {
      files.add(path);
      const folder = dirname(path);
      if (!folders.has(folder)) folders.set(folder, watched(folder));
    },
    next: () =>
      new Promise((resolve) => {
        noted = resolve;
      }),
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const watcher of folders.values()) watcher?.close();
    },
  };
}
