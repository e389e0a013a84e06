import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { messageOf } from '../errors.ts';
import { CommandError, EXIT } from './exit.ts';
import { oneLine } from './one-line.ts';

/**
 * The exact bytes of a file, or of standard input for `-`.
 *
 * @throws CommandError, with the exit code for what is not found
 */
export async function readInput(path: string): Promise<Buffer> {
  if (path === '-') return buffer(process.stdin);
  try {
    return readFileSync(path);
  } catch (failure) {
    throw new CommandError(`${oneLine(path)} cannot be read: ${messageOf(failure)}`, EXIT.notFound);
  }
}
