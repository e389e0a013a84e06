import { styleText } from 'node:util';

/** Data: what another program may read. Nothing else goes to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One JSON document, for `--json`. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** One line of a stream of JSON documents. */
export function printNdjson(value: unknown): void {
  print(JSON.stringify(value));
}

/** Everything that is not data: what is going on, and what to do about it. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

type Style = Parameters<typeof styleText>[0];

/** Styled where stdout is a terminal, and plain with NO_COLOR or in a pipe. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream, validateStream: true });
}

/** A reader that has seen enough, such as `head`, ends the command without a word. */
export function endQuietlyWithReader(): void {
  process.stdout.on('error', (failure: NodeJS.ErrnoException) => {
    if (failure.code === 'EPIPE') process.exit(0);
    throw failure;
  });
}
