import { randomUUID } from 'node:crypto';
import { styleText } from 'node:util';
import { messageOf } from '../../errors.ts';
import { withoutPasswords } from '../../host/postgres-url.ts';
import { isPrintable, oneLine, printableJson } from '../../printable.ts';
import { CommandError, EXIT } from './exit.ts';

/**
 * Data: what another program may read. Nothing else goes to stdout.
 *
 * @param lines - each ends up on one line, whatever it holds
 */
export function print(...lines: readonly (string | readonly string[])[]): void {
  process.stdout.write(printable(lines.flat()));
}

/**
 * The one door to people: what others wrote, an id, an error, the name of a file, is neither another line nor an order
 * to the terminal. Only styles of ours pass, by the marks that `styled` has put around them.
 */
function printable(lines: readonly string[]): string {
  return lines.map((line) => `${line.split(MARK).map(partOfLine).join('')}\n`).join('');
}

/** Nobody else knows it, so no text can pretend to be a style. */
const MARK = `\u{0}${randomUUID()}\u{0}`;

/** Between two marks stands what styles. */
function partOfLine(part: string, n: number): string {
  return n % 2 === 1 ? part : oneLine(part, Infinity);
}

/** One JSON document, for `--json`. */
export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

/** One line of a stream of JSON documents. */
export function printNdjson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value))}\n`);
}

/** How long something took, in milliseconds, as JSON has it. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** How long something took, as lines have it: `12.3 ms`. */
export function tookText(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

/**
 * Bytes as they are, for a file or a pipe.
 *
 * @throws CommandError where they would steer the terminal that they go to
 */
export function printBytes(bytes: Uint8Array): void {
  if (process.stdout.isTTY && !isPrintable(Buffer.from(bytes).toString())) {
    throw new CommandError(
      'The body contains control characters that would affect the terminal. Write the body to a file or a pipe.',
    );
  }
  process.stdout.write(bytes);
}

/**
 * Everything that is not data: what is going on, and what to do about it; each on a line of its own, as in `print`. It
 * may repeat an argument that is wrong, and so a URL that was meant for another one.
 */
export function tell(...lines: readonly (string | readonly string[])[]): void {
  process.stderr.write(printable(lines.flat().map(withoutPasswords)));
}

/** How a text is styled. */
export type Style = Parameters<typeof styleText>[0];

/** Styled where stdout is a terminal, and plain with NO_COLOR or in a pipe; for `print` and `tell` alone. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const [begin, end] = styleText(style, '|', { stream, validateStream: true }).split('|');
  return begin === '' ? text : `${MARK}${begin}${MARK}${text}${MARK}${end}${MARK}`;
}

/**
 * A reader that has seen enough, such as `head`, interrupts the command as Ctrl-C does: it finishes what it has begun,
 * and ends without looking as if it had done everything. Output that cannot be written, as on a full disk, ends it at
 * once.
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
  tell(`${styled('red', 'error:', process.stderr)} hookbox cannot write its output: ${messageOf(failure)}.`);
  process.exit(EXIT.failed);
}
