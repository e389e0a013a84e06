import { encodedBodies, wrappedBodies } from './body-encodings.ts';
import { attempt, candidates, type Candidate } from './candidate.ts';
import type { Found } from './causes.ts';
import { jsonWritings } from './json-writings.ts';

/** Bytes that may have been signed instead of the body. */
export interface BodyVariant {
  readonly bytes: Uint8Array;
  /** `null` for the body as it is */
  readonly found: Found | null;
}

/** Up to this size every writing of the JSON is tried, and up to the next the usual ones. */
const SMALL_BYTES = 32 * 1024;
const MEDIUM_BYTES = 2 * 1024 * 1024;
/** Beyond this, which is several times what a receiver takes, only the newlines at the end are looked at. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** What usually happens to a body on its way, the simplest first. Nothing is made before it is asked for. */
export function* bodyVariants(
  body: Uint8Array,
  others: readonly { readonly name: string; readonly body: Uint8Array }[],
): Generator<BodyVariant> {
  const seen = new Set([Buffer.from(body).toString('latin1')]);
  for (const { content, found } of allCandidates(Buffer.from(body), others)) {
    const bytes = Buffer.from(content as Uint8Array);
    // Large ones are few, and keeping their texts to tell them apart would cost more than to try one twice.
    if (bytes.byteLength <= SMALL_BYTES) {
      const name = bytes.toString('latin1');
      if (seen.has(name)) continue;
      seen.add(name);
    }
    yield { bytes, found };
  }
}

function* allCandidates(
  body: Buffer,
  others: readonly { readonly name: string; readonly body: Uint8Array }[],
): Generator<Candidate> {
  for (const other of others) yield* candidates('other-body', `the signature belongs to ${other.name}`, other.body);
  yield* newlines(body);
  if (body.byteLength > LARGE_BYTES) return;
  yield* ends(body);
  yield* wrappedBodies(body);
  yield* mistakenValues(body);
  yield* encodedBodies(body);
  yield* writings(body);
}

const LF = 0x0a;
const CR = 0x0d;

function* newlines(body: Buffer): Generator<Candidate> {
  let end = body.byteLength;
  while (body[end - 1] === LF || body[end - 1] === CR) end -= 1;
  const last = body.at(-1) === LF ? (body.at(-2) === CR ? 2 : 1) : 0;
  const bare = body.subarray(0, end);
  const followed = (bytes: Buffer, newline: string): Buffer => Buffer.concat([bytes, Buffer.from(newline)]);
  const without = 'the signature was computed over the body without its final newline';
  yield* candidates('trailing-newline', without, body.subarray(0, body.byteLength - last), bare);
  yield* candidates(
    'trailing-newline',
    'the signature was computed over the body followed by a newline',
    followed(body, '\n'),
  );
  yield* candidates(
    'trailing-newline',
    'the signature was computed over the body followed by two newlines',
    followed(body, '\n\n'),
  );
  yield* candidates(
    'trailing-newline',
    'the signature was computed over the body with a different final newline',
    followed(body, '\r\n'),
    followed(bare, '\n'),
    followed(bare, '\r\n'),
  );
}

function* ends(body: Buffer): Generator<Candidate> {
  const text = body.toString('latin1'); // one character for each byte
  const back = (changed: string): Buffer => Buffer.from(changed, 'latin1');
  const trimmed = [text.trimEnd(), text.trimStart(), text.trim()].map(back);
  yield* candidates(
    'white-space',
    'the signature was computed over the body without the white space around it',
    ...trimmed,
  );
  yield* candidates(
    'white-space',
    'the signature was computed over the body with a space before or after it',
    back(`${text} `),
    back(` ${text}`),
  );
  const lf = back(text.replaceAll(/\r\n?/g, '\n'));
  const crlf = back(text.replaceAll(/\r\n|\r|\n/g, '\r\n'));
  yield* candidates('line-endings', 'the signature was computed over the body with LF line breaks', lf);
  yield* candidates('line-endings', 'the signature was computed over the body with CRLF line breaks', crlf);
  yield* candidates(
    'line-endings',
    'the signature was computed over the body without its line breaks',
    back(text.replaceAll(/[\r\n]/g, '')),
  );
  const mark = '\u00ef\u00bb\u00bf';
  if (text.startsWith(mark)) {
    yield* candidates(
      'bom',
      'the signature was computed over the body without its byte order mark',
      back(text.slice(mark.length)),
    );
  } else {
    yield* candidates(
      'bom',
      'the signature was computed over the body with a byte order mark before it',
      back(mark + text),
    );
  }
  const blank = /\r?\n\r?\n/.exec(text);
  if (blank === null || !/^(?:[A-Z]+ \S+ HTTP\/|HTTP\/|[\w-]+: )/.test(text)) return;
  const rest = text.slice(blank.index + blank[0].length);
  yield* candidates(
    'headers-in-file',
    'the file also contains the headers, but the signature was computed over the body alone',
    back(rest),
    back(rest.trimEnd()),
  );
}

/** What programs write in place of the body's text. */
const MISTAKEN_VALUES = [
  '{}',
  'null',
  'undefined',
  '[object Object]',
  '[object Promise]',
  '[object ReadableStream]',
  '""',
  'None',
];
/** The longest of them, with some white space. */
const MAX_MISTAKEN_BYTES = 64;

/** What a program has left of a body, where it was given that alone. */
export function leftOfBody(body: Uint8Array): Found | null {
  if (body.byteLength === 0) {
    return { cause: 'empty-body', what: 'your body is empty: other code read it first' };
  }
  const text = body.byteLength > MAX_MISTAKEN_BYTES ? '' : Buffer.from(body).toString().trim();
  if (!MISTAKEN_VALUES.includes(text)) return null;
  return { cause: 'not-the-body', what: `your body is ${text}: other code read it or converted it to text first` };
}

function* mistakenValues(body: Buffer): Generator<Candidate> {
  const text = body.toString();
  yield* candidates('empty-body', 'the signature was computed over an empty body', '');
  for (const value of MISTAKEN_VALUES)
    yield* candidates('not-the-body', `the signature was computed over the string ${value}`, value);
  yield* candidates(
    'not-the-body',
    "the signature was computed over the string b'…', as Python prints bytes",
    `b'${text}'`,
  );
  const quoted = JSON.stringify(text);
  yield* candidates(
    'double-encoded',
    'the signature was computed over the body encoded as a JSON string',
    quoted,
    JSON.stringify(quoted),
  );
  const unquoted = attempt(() => JSON.parse(text) as unknown);
  const inner = typeof unquoted === 'string' ? unquoted : null;
  yield* candidates('double-encoded', 'the signature was computed over the text inside the JSON string', inner);
  const escaped = attempt(() => encodeURIComponent(text));
  yield* candidates(
    'double-encoded',
    'the signature was computed over the URL-encoded body (for example, %7B for {)',
    escaped,
  );
  const unescaped = attempt(() => decodeURIComponent(text));
  yield* candidates('double-encoded', 'the signature was computed over the URL-decoded body', unescaped);
}

function* writings(body: Buffer): Generator<Candidate> {
  if (body.byteLength > MEDIUM_BYTES) return;
  const small = body.byteLength <= SMALL_BYTES;
  const text = body.toString().replace(/^\u{FEFF}/u, '');
  for (const { text: written, how } of jsonWritings(text, small ? 'every' : 'usual')) {
    if (withoutBreaks(written) === withoutBreaks(text)) {
      const broken = 'the sender removed line breaks after it computed the signature, as curl --data does';
      yield* candidates('line-endings', broken, written, `${written}\n`, `${written}\r\n`);
      continue;
    }
    yield* candidates('re-serialised', `the signature was computed over the same JSON, ${how}`, written);
    const ended = `the signature was computed over the same JSON, ${how}, followed by a newline`;
    if (small) yield* candidates('re-serialised', ended, `${written}\n`, `${written}\r\n`);
  }
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\r\n]/g, '');
}
