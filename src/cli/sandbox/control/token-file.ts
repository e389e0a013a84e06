import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../errors.ts';
import { OWNER_ONLY } from '../../../host/owner-only.ts';

/**
 * Puts down, for this user alone, what steers the sandbox on a port: whoever reads it is the user who has started it.
 *
 * @returns why that cannot be; `null` where it is done
 */
export function keepToken(port: number, token: string): string | null {
  try {
    makeFolder();
    const file = fileOf(port);
    rmSync(file, { force: true }); // of one that was killed
    writeFileSync(file, token, { mode: OWNER_ONLY, flag: 'wx' });
    return null;
  } catch (failure) {
    return messageOf(failure);
  }
}

/** Takes it away again, unless another sandbox has put down its own meanwhile. */
export function dropToken(port: number, token: string): void {
  if (tokenOf(port) === token) rmSync(fileOf(port), { force: true });
}

/**
 * What steers the sandbox of this user on a port; `null` where there is none. One that another user may have put there is none:
 * whoever listens on that port would be told what a sandbox is told, such as a signing secret.
 */
export function tokenOf(port: number): string | null {
  try {
    refuseFolderOfOthers();
    return readFileSync(fileOf(port), 'utf8');
  } catch {
    return null;
  }
}

function fileOf(port: number): string {
  return join(folder(), `sandbox-${port}`);
}

function folder(): string {
  return join(tmpdir(), `hookbox-${process.getuid?.() ?? userInfo().username}`);
}

function makeFolder(): void {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  refuseFolderOfOthers();
}

/** Others may write to the folder above it, so they may have made it first: then they would read and write what is put there. */
function refuseFolderOfOthers(): void {
  if (process.getuid === undefined) return; // the temporary folder of Windows is the user's own
  const { uid, mode } = lstatSync(folder());
  if (uid !== process.getuid() || (mode & 0o77) !== 0) throw new Error(`${folder()} is open to others`);
}
