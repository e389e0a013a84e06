import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/**
 * What keeps this process from using a file that SQLite "cannot open": it says no more than that.
 *
 * @returns a sentence that says what to change; `null` where nothing is in the way
 */
export function whyNoAccess(file: string): string | null {
  if (isShortOfDescriptors()) return 'This process has no file descriptors left. Raise the limit (ulimit -n).';
  const written = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, mode: R_OK | W_OK }));
  return whyHidden(file) ?? refusal([{ path: dirname(file), mode: W_OK | X_OK }, ...written], 'cannot be written to');
}

/** What keeps this process from seeing whether a file is there; `null` where nothing does. */
export function whyHidden(file: string): string | null {
  // Begins at the root, because the first closed folder hides its contents.
  return refusal(
    foldersAbove(file).map((path) => ({ path, mode: X_OK })),
    'cannot be entered',
  );
}

/** SQLite does not say why it cannot open a file. */
export function isShortOfDescriptors(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (failure) {
    return /^E[MN]FILE$/.test(String((failure as NodeJS.ErrnoException).code));
  }
}

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

/** The first that may not be used so. */
function refusal(wanted: readonly { readonly path: string; readonly mode: number }[], what: string): string | null {
  for (const { path, mode } of wanted) {
    try {
      accessSync(path, mode);
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code === 'EROFS') return `${path} is on a read-only file system. Mount the file system for writing.`;
      if (code !== 'EACCES' && code !== 'EPERM') continue; // the path does not exist, or the system does not say
      const advice = 'Give this user access to the file and its folder (chown), or pass a different path.';
      return `${path} ${what}${whose(path)}. ${advice}`;
    }
  }
  return null;
}

/** The numbers of users: a container may have no names for them. */
function whose(path: string): string {
  try {
    const { uid, gid, mode } = statSync(path);
    const user = process.geteuid?.();
    if (user === undefined) return '';
    const rights = (mode & 0o7777).toString(8).padStart(3, '0');
    return `: it belongs to user ${uid} and group ${gid} with mode ${rights}, and this process runs as user ${user}`;
  } catch {
    return ''; // in a sandbox, such as Deno's
  }
}
