import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { InboxOpenError } from '../../../errors.ts';
import { mounts } from './mounts.ts';

/**
 * SQLite looks for a file's log beside the name that the file was opened by. Under another name of the same file it finds
 * another log, or none: two processes then overwrite each other's pages, and what lies in a log beside a mounted file goes with
 * its container.
 *
 * @throws InboxOpenError `MOUNTED_FILE` or `SEVERAL_NAMES`
 */
export function assertOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const file = realpathSync(path);
  const points = new Set(mounts().map(({ point }) => point));
  const mounted = [file, `${file}-wal`, `${file}-shm`].find((name) => points.has(name));
  if (mounted !== undefined) {
    throw new InboxOpenError(
      'MOUNTED_FILE',
      `${mounted} is mounted as a single file, but SQLite keeps a log, and an index of the log, beside it in ` +
        `${dirname(file)}. The log would be lost with the container, and events with it. Mount the folder instead: ` +
        'for /data/hookbox.db, use -v /srv/hookbox:/data.',
    );
  }
  if (stats.nlink > 1) {
    throw new InboxOpenError(
      'SEVERAL_NAMES',
      `${file} has ${stats.nlink} names (hard links), and SQLite keeps a log for each name: opening the file ` +
        'under another name would corrupt it. Find the other names with find -samefile, and delete them or replace ' +
        'them with copies.',
    );
  }
}
