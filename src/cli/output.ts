import { styleText } from 'node:util';
import { messageOf } from '../errors.ts';
import { EXIT } from './exit.ts';

/** Data: what another program may read. Nothing else goes to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One JSON document, for `--json`. */
export function printJson(value: unknown): void {
  print(harmless(JSON.stringify(value, null, 2)));
}

/** One line of a stream of JSON documents. */
export function printNdjson(value: unknown): void {
  print(harmless(JSON.stringify(value)));
}

/** How long something took, in milliseconds, as output has it. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** JSON leaves characters as they are that steer a terminal; escaped, they mean the same. */
export function harmless(json: string): string {
  return json.replaceAll(/[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Everything that is not data: what is going on, and what to do about it. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** What commands that deliver tell on the first Ctrl-C. */
export const STOPPING = 'Stopping when what is under way is answered; Ctrl-C again stops at once.';

/** How a text is styled. */
export type Style = Parameters<typeof styleText>[0];

/** Styled where stdout is a terminal, and plain with NO_COLOR or in a pipe. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream, validateStream: true });
}

/**
 * A reader that has seen enough, such as `head`, interrupts the command as Ctrl-C does: it finishes what it has begun, and
 * ends without looking as if it had done everything. Output that cannot be written, as on a full disk, ends it at once.
 */
export function interruptWithReader(): void {
  let isGone = false;
  const onError = (failure: NodeJS.ErrnoException): void => {
    if (failure.code !== 'EPIPE') endWithoutOutput(failure);
    if (isGone) return;
    isGone = true;
    if (!process.emit('SIGINT')) process.exit(EXIT.interrupted);
  };
  process.stdout.on('error', onError);
  process.stderr.on('error', onError);
}

function endWithoutOutput(failure: Error): never {
  tell(`${styled('red', 'error:', process.stderr)} The output cannot be written: ${messageOf(failure)}.`);
  process.exit(EXIT.failed);
}
