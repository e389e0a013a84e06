import { readFileSync, statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { messageOf } from '../../errors.ts';
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
  refuseFolder(path);
  try {
    return readFileSync(path);
  } catch (failure) {
    throw new CommandError(`${oneLine(path)} cannot be read: ${messageOf(failure)}`, EXIT.notFound);
  }
}

/** A pipe that broke before looks like an empty body. */
export function noteWhenEmpty(body: Uint8Array): void {
  if (body.byteLength === 0) tell('note: the body is empty: 0 bytes.');
}

/**
 * What cannot be looked at is left to the code that opens it.
 *
 * @throws CommandError for a folder where a file is expected
 */
export function refuseFolder(path: string): void {
  if (isFolder(path)) throw usageError(`${oneLine(path)} is a folder. Give the path of a file.`);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
