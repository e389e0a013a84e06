import { readFileSync, statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { messageOf } from '../../errors.ts';
import { isUrl } from '../../host/postgres-url.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { oneLine } from '../../printable.ts';
import { tell } from './output.ts';

/**
 * The exact bytes of a file, or of standard input for `-`.
 *
 * @throws CommandError, with the exit code for what is not found
 */
export async function readInput(path: string): Promise<Buffer> {
  if (path === '-') return buffer(process.stdin);
  requireFile(path);
  try {
    return readFileSync(path);
  } catch (failure) {
    throw new CommandError(`hookbox cannot read ${oneLine(path)}: ${messageOf(failure)}`, EXIT.notFound);
  }
}

/** A pipe that broke before looks like an empty body. */
export function noteWhenEmpty(body: Uint8Array): void {
  if (body.byteLength === 0) tell('note: the body is empty (0 bytes).');
}

/**
 * What cannot be looked at is left to the code that opens it.
 *
 * @throws CommandError for a folder or a URL where a file is expected
 */
export function requireFile(path: string): void {
  refuseUrl(path);
  if (isFolder(path)) throw usageError(`${oneLine(path)} is a folder. Pass the path of a file.`);
}

/** @throws CommandError for a URL where a file is expected; it is not quoted, as it may have a password in it */
export function refuseUrl(path: string): void {
  if (isUrl(path)) throw usageError('Pass the path of a file, not a URL.');
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
