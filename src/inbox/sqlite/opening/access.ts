import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/**
 * What keeps this process from using a file that SQLite "cannot open": it says no more than that.
 *
 * @returns a sentence that says what to change; `null` where nothing is in the way
 */
export function whyNoAccess(file: string): string | null {
  if (isShortOfDescriptors()) return 'This process has no file descriptors left: raise the limit (ulimit -n).';
  const folder = dirname(file);
  for (const above of foldersAbove(folder)) {
    const refused = refusal(above, X_OK, 'cannot be entered');
    if (refused !== undefined) return refused;
  }
  const wanted = [
    { path: folder, mode: W_OK | X_OK },
    ...[file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, mode: R_OK | W_OK })),
  ];
  for (const { path, mode } of wanted) {
    const refused = refusal(path, mode, 'cannot be written to');
    if (refused !== undefined) return refused;
  }
  return null;
}

/** SQLite does not say why it cannot open a file. */
export function isShortOfDescriptors(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch {
    return true;
  }
}

/** From the root on, as the first that is closed hides what is in it. */
function foldersAbove(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [...foldersAbove(above), folder];
}

function refusal(path: string, mode: number, what: string): string | undefined {
  try {
    accessSync(path, mode);
    return undefined;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'EROFS') return `${path} is on a file system that is mounted read-only: mount it for writing.`;
    if (code !== 'EACCES' && code !== 'EPERM') return undefined; // it is not there, or nobody says
    return `${path} ${what}${whose(path)}. Give this user the right to it and to its folder (chown), or give another path.`;
  }
}

/** The numbers of users: a container may have no names for them. */
function whose(path: string): string {
  const user = process.geteuid?.();
  if (user === undefined || !existsSync(path)) return '';
  const { uid, gid, mode } = statSync(path);
  const rights = (mode & 0o7777).toString(8).padStart(3, '0');
  return `: it belongs to user ${uid} and group ${gid} with mode ${rights}, and this process is user ${user}`;
}
