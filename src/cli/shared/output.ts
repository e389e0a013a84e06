import { randomUUID } from 'node:crypto';
import { styleText } from 'node:util';
import { messageOf, causesOf, ConfigurationError } from '../../errors.ts';
import type { Issue } from '../../events/webhook-event.ts';
import { withoutPasswords } from '../../host/postgres-url.ts';
import { isFull } from '../../inbox/sqlite/opening/database.ts';
import { isPrintable, oneLine, printableJson } from '../../printable.ts';

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

/** What the exit code of every command means. */
export const EXIT = { ok: 0, failed: 1, usage: 2, partial: 3, notFound: 4, interrupted: 130 } as const;

/** One of these codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one line on stderr that says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The arguments cannot work. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

/** Says in one line why a command failed, and with which code it will exit. */
export function tellFailure(failure: unknown): void {
  tell(
    `${styled('red', 'error:', process.stderr)} ${messageOf(failure)}${causesOf(failure).some(isFull) ? FULL_DISK : ''}`,
  );
  process.exitCode = exitCodeFor(failure);
}

function exitCodeFor(failure: unknown): ExitCode {
  if (failure instanceof CommandError) return failure.exitCode;
  return failure instanceof ConfigurationError ? EXIT.usage : EXIT.failed;
}

/** Pruning is what one thinks of first, and it writes before it makes room. */
const FULL_DISK =
  '. First free a few tens of megabytes on that disk (delete logs or old exports), or move the inbox ' +
  'to a larger disk. Then prune events: pruning itself needs some free space.';

/** What lines say of an event that was stored as invalid, with what does not fit first. */
export function invalidText(issue: Issue | null): string {
  return `invalid, stored as dead${issue === null ? '' : `: ${issueText(issue)}`}`;
}

/** The path of a field and why it does not fit, without its value. */
export function issueText({ path, message }: Issue): string {
  return oneLine(path === '' ? message : `${path}: ${message}`);
}

/** Ends the process once all is printed: the user's modules may hold something open. */
export async function endProcess(): Promise<never> {
  await Promise.all([process.stdout, process.stderr].map(flushed));
  process.exit();
}

function flushed(stream: NodeJS.WriteStream): Promise<unknown> {
  return new Promise((resolve) => stream.write('', resolve));
}

/** Does what loads a module of the user's, and then ends the process, since the module may hold something open; without one it does no more. */
export async function withOwnModule(module: string | undefined, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (module === undefined) throw failure;
    tellFailure(failure);
  }
  if (module !== undefined) await endProcess();
}
