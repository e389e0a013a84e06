import type { AttemptError } from '../inbox/work.ts';
import { oneLine, printableLines } from '../printable.ts';

/** What the log is given of what a handler threw, as `err`: pino, and whoever writes JSON, take it as they take an Error. */
export interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** As JSON, in bytes. */
const MOST_BYTES = 4_096;
const NAME_CHARACTERS = 100;
const MESSAGE_BYTES = 1_536;
/** The names of the fields, and what stands between them. */
const FRAME_BYTES = 64;

const FIRST_PLACE = /\n\s+at /;

/** pino names an error by its class, or by its `name` where it has none; and whoever makes a text of it gets one. */
const PROTOTYPE: object = Object.create(Object.prototype, {
  constructor: { value: undefined },
  toString: {
    value(this: LoggedError) {
      return `${this.name}: ${this.message}`;
    },
  },
});

/**
 * What may be logged of an error: its name, message and stack, on lines that are its own, in 4 KiB at most. Other fields of it,
 * such as the values of a row or the headers of a request, are left out.
 */
export function loggedError({ name, message, stack }: AttemptError): LoggedError {
  const called = oneLine(name, NAME_CHARACTERS);
  const said = fitting(oneLine(message, Infinity), MESSAGE_BYTES);
  const logged = Object.assign(Object.create(PROTOTYPE) as object, { name: called, message: said });
  if (stack === null) return logged;
  const left = MOST_BYTES - FRAME_BYTES - bytesOf(called) - bytesOf(said);
  const written = printableLines(withShortHead(stack, `${called}: ${said}`));
  return Object.assign(logged, { stack: fitting(written, left) });
}

/** A stack begins with the message: a long one would leave no room for the places. */
function withShortHead(stack: string, head: string): string {
  const at = stack.search(FIRST_PLACE);
  return at <= MESSAGE_BYTES ? stack : head + stack.slice(at);
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function fitting(text: string, bytes: number): string {
  if (bytesOf(text) <= bytes) return text;
  let left = bytes - bytesOf('…');
  let end = 0;
  for (const character of text) {
    left -= bytesOf(character) - bytesOf('');
    if (left < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}
