import { closeSync, existsSync, openSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * The mode of every file that hookbox makes. Such a file holds other people's orders, so only the operators of the machine
 * decide who else may read it. The mode is set when a file is made; files that exist already keep theirs.
 */
export const OWNER_ONLY = 0o600;

/**
 * A file that is not there yet is made for its owner alone, before SQLite would make it for whom the umask lets in. SQLite gives
 * the log and the index beside it the mode of the file. One that is there keeps its mode, and is not even opened here: closing
 * it would give up the locks that this process holds on it.
 */
export function createForOwner(file: string): void {
  if (existsSync(file)) return;
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY));
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'EEXIST') throw failure;
    // Another process was faster; or it is a link whose target is not there yet.
    if (!existsSync(file)) createForOwner(resolve(dirname(file), readlinkSync(file)));
  }
}
