import { randomUUID } from 'node:crypto';
import { styleText } from 'node:util';
import { causesOf, ConfigurationError, messageOf } from '../../errors.ts';
import type { Issue } from '../../events/webhook-event.ts';
import { withoutPasswords } from '../../host/postgres-url.ts';
import { isFull } from '../../inbox/sqlite/opening/database.ts';
import { isPrintable, oneLine, printableJson } from '../../printable.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, partial: 3, notFound: 4, interrupted: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

type Lines = readonly (string | readonly string[])[];

/** Only data goes to stdout. */
export function print(...lines: Lines): void {
  process.stdout.write(printable(lines.flat()));
}

/** A text may repeat a wrong argument, for example a URL with a password. */
export function tell(...lines: Lines): void {
  process.stderr.write(printable(lines.flat().map(withoutPasswords)));
}

/** Foreign text, such as an id, becomes neither another line nor an escape sequence. */
function printable(lines: readonly string[]): string {
  const part = (text: string, n: number): string => (n % 2 === 1 ? text : oneLine(text, Infinity));
  return lines.map((line) => `${line.split(MARK).map(part).join('')}\n`).join('');
}

/** A random mark, so that no text can imitate it and pretend to be a style. */
const MARK = `\u{0}${randomUUID()}\u{0}`;

export type Style = Parameters<typeof styleText>[0];

/** Plain with NO_COLOR or in a pipe. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const [begin, end] = styleText(style, '|', { stream, validateStream: true }).split('|');
  return begin === '' ? text : `${MARK}${begin}${MARK}${text}${MARK}${end}${MARK}`;
}

export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

export function printNdjson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value))}\n`);
}

/** @throws CommandError if the bytes would control a terminal */
export function printBytes(bytes: Uint8Array): void {
  if (process.stdout.isTTY && !isPrintable(Buffer.from(bytes).toString())) {
    throw new CommandError(
      'The body contains control characters that would affect the terminal. Write the body to a file or a pipe.',
    );
  }
  process.stdout.write(bytes);
}

export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

export function tookText(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

export function invalidText(issue: Issue | null): string {
  return `invalid, stored as dead${issue === null ? '' : `: ${issueText(issue)}`}`;
}

/** Without the value of the field. */
export function issueText({ path, message }: Issue): string {
  return oneLine(path === '' ? message : `${path}: ${message}`);
}

/** A reader that ends, such as `head`, interrupts the command like Ctrl-C. */
export function interruptWithReader(): void {
  let isGone = false;
  const onError = (failure: NodeJS.ErrnoException): void => {
    if (failure.code !== 'EPIPE') {
      tellError(`hookbox cannot write its output: ${messageOf(failure)}.`);
      process.exit(EXIT.failed);
    }
    if (isGone) return;
    isGone = true;
    if (!process.emit('SIGINT')) process.exit(EXIT.interrupted);
  };
  process.stdout.on('error', onError);
  process.stderr.on('error', onError);
}

/** Pruning needs free space before it frees any. */
const FULL_DISK =
  '. First free a few tens of megabytes on that disk (delete logs or old exports), or move the inbox ' +
  'to a larger disk. Then prune events: pruning itself needs some free space.';

export function tellFailure(failure: unknown): void {
  tellError(`${messageOf(failure)}${causesOf(failure).some(isFull) ? FULL_DISK : ''}`);
  const otherwise = failure instanceof ConfigurationError ? EXIT.usage : EXIT.failed;
  process.exitCode = failure instanceof CommandError ? failure.exitCode : otherwise;
}

function tellError(text: string): void {
  tell(`${styled('red', 'error:', process.stderr)} ${text}`);
}

/** The user's module may keep a handle open, so the process exits explicitly. */
export async function withOwnModule(module: string | undefined, work: () => Promise<void>): Promise<void> {
  if (module === undefined) return work();
  await work().catch(tellFailure);
  await endProcess();
}

export async function endProcess(): Promise<never> {
  const flushed = (stream: NodeJS.WriteStream): Promise<unknown> => new Promise((resolve) => stream.write('', resolve));
  await Promise.all([process.stdout, process.stderr].map(flushed));
  process.exit();
}
