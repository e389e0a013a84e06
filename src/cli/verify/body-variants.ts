import { brotliDecompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import type { Cause, Found } from './causes.ts';
import { jsonWritings } from './json-writings.ts';

/** Bytes that may have been signed instead of the body. */
export interface BodyVariant {
  readonly bytes: Uint8Array;
  /** `null` for the body as it is */
  readonly found: Found | null;
}

/** Another body that the signature may belong to. */
export interface OtherBody {
  readonly name: string;
  readonly body: Uint8Array;
}

/** Up to this size every writing of the JSON is tried, and up to the next the usual ones. */
const SMALL_BYTES = 32 * 1024;
const MEDIUM_BYTES = 2 * 1024 * 1024;
/** Beyond this, which is several times what a receiver takes, only the newlines at the end are tried. */
const LARGE_BYTES = 8 * 1024 * 1024;

type Content = Uint8Array | string | null;

/** One mistake, and what it makes of a body: nothing where it returns `null` or throws. */
type Row = readonly [cause: Cause, what: string, make: (body: Buffer) => Content | readonly Content[]];

/** What usually happens to a body on its way, the simplest first. Nothing is made before it is asked for. */
export function* bodyVariants(body: Buffer, others: readonly OtherBody[]): Generator<BodyVariant> {
  const seen = new Set([body.toString('latin1')]);
  const isLarge = body.byteLength > LARGE_BYTES;
  const rows: readonly Row[] = [
    ...others.map(({ name, body: other }): Row => [
      'other-body',
      `the signature belongs to ${name}`,
      () => Buffer.from(other),
    ]),
    ...NEWLINES,
    ...(isLarge ? [] : [...ENDS, ...WRAPPED, ...MISTAKEN, ...ENCODED]),
  ];
  for (const [content, cause, what] of candidates(body, rows)) {
    const bytes = Buffer.from(content as Uint8Array);
    // Large ones are few, and to remember them would cost more than to try one twice.
    if (bytes.byteLength <= SMALL_BYTES) {
      const name = bytes.toString('latin1');
      if (seen.has(name)) continue;
      seen.add(name);
    }
    yield { bytes, found: { cause, what } };
  }
}

function* candidates(
  body: Buffer,
  rows: readonly Row[],
): Generator<readonly [content: Uint8Array | string, cause: Cause, what: string]> {
  for (const [cause, what, make] of rows) {
    for (const content of made(body, make)) if (content !== null) yield [content, cause, what];
  }
  if (body.byteLength <= MEDIUM_BYTES) yield* writings(body);
}

function made(body: Buffer, make: Row[2]): readonly Content[] {
  try {
    const content = make(body);
    return content === null || typeof content === 'string' || content instanceof Uint8Array ? [content] : content;
  } catch {
    return [];
  }
}

const OVER = 'the signature was computed over';

const followed = (bytes: Buffer, newline: string): Buffer => Buffer.concat([bytes, Buffer.from(newline)]);

function withoutNewlines(body: Buffer, most: number): Buffer {
  const CR = 0x0d;
  const LF = 0x0a;
  let end = body.byteLength;
  const isNewline = (byte: number | undefined): boolean => byte === LF || byte === CR;
  while (body.byteLength - end < most && isNewline(body[end - 1])) end -= 1;
  return body.subarray(0, end);
}

function withoutFinalNewline(body: Buffer): Buffer {
  const end = body.subarray(-2).toString('latin1');
  return end.endsWith('\n') ? withoutNewlines(body, end === '\r\n' ? 2 : 1) : body;
}

const NEWLINES: readonly Row[] = [
  [
    'trailing-newline',
    `${OVER} the body without its final newline`,
    (body) => [withoutFinalNewline(body), withoutNewlines(body, Infinity)],
  ],
  ['trailing-newline', `${OVER} the body followed by a newline`, (body) => followed(body, '\n')],
  ['trailing-newline', `${OVER} the body followed by two newlines`, (body) => followed(body, '\n\n')],
  [
    'trailing-newline',
    `${OVER} the body with a different final newline`,
    (body) => {
      const bare = withoutNewlines(body, Infinity);
      return [followed(body, '\r\n'), followed(bare, '\n'), followed(bare, '\r\n')];
    },
  ],
];

/** Changes the body as a text of one character for each byte. */
const latin1 =
  (...changes: readonly ((text: string) => string | null)[]) =>
  (body: Buffer): readonly Content[] =>
    changes.map((change) => {
      const changed = change(body.toString('latin1'));
      return changed === null ? null : Buffer.from(changed, 'latin1');
    });

const MARK = '\u00ef\u00bb\u00bf';

const ENDS: readonly Row[] = [
  [
    'white-space',
    `${OVER} the body without the white space around it`,
    latin1(
      (text) => text.trimEnd(),
      (text) => text.trimStart(),
      (text) => text.trim(),
    ),
  ],
  [
    'white-space',
    `${OVER} the body with a space before or after it`,
    latin1(
      (text) => `${text} `,
      (text) => ` ${text}`,
    ),
  ],
  ['line-endings', `${OVER} the body with LF line breaks`, latin1((text) => text.replaceAll(/\r\n?/g, '\n'))],
  ['line-endings', `${OVER} the body with CRLF line breaks`, latin1((text) => text.replaceAll(/\r\n|\r|\n/g, '\r\n'))],
  ['line-endings', `${OVER} the body without its line breaks`, latin1(withoutBreaks)],
  [
    'bom',
    `${OVER} the body without its byte order mark`,
    latin1((text) => (text.startsWith(MARK) ? text.slice(MARK.length) : null)),
  ],
  [
    'bom',
    `${OVER} the body with a byte order mark before it`,
    latin1((text) => (text.startsWith(MARK) ? null : MARK + text)),
  ],
  [
    'headers-in-file',
    'the file also contains the headers, but the signature was computed over the body alone',
    latin1(withoutHeaders, (text) => withoutHeaders(text)?.trimEnd() ?? null),
  ],
];

function withoutHeaders(text: string): string | null {
  const blank = /\r?\n\r?\n/.exec(text);
  const hasHeaders = /^(?:[A-Z]+ \S+ HTTP\/|HTTP\/|[\w-]+: )/.test(text);
  return blank === null || !hasHeaders ? null : text.slice(blank.index + blank[0].length);
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\r\n]/g, '');
}

function base64InLines(body: Buffer, length: number, newline: string): string {
  return body.toString('base64').replaceAll(new RegExp(`(.{${length}})(?=.)`, 'g'), `$1${newline}`);
}

const COMPRESSED = `${OVER} the compressed body`;

/** Base64, hexadecimal digits, compression: on the body, or left out. */
const WRAPPED: readonly Row[] = [
  [
    'base64-body',
    `${OVER} the decoded base64`,
    (body) => {
      const text = body.toString('latin1').trim();
      return text.length >= 4 && /^[A-Za-z0-9+/_\s-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
    },
  ],
  [
    'base64-body',
    `${OVER} the body in base64`,
    (body) => [
      body.toString('base64'),
      body.toString('base64url'),
      `${body.toString('base64')}\n`,
      `${base64InLines(body, 64, '\n')}\n`, // openssl
      `${base64InLines(body, 76, '\n')}\n`, // base64 of GNU
      base64InLines(body, 76, '\r\n'), // MIME
    ],
  ],
  [
    'hex-body',
    `${OVER} the decoded hexadecimal digits`,
    (body) => {
      const text = body.toString('latin1').trim();
      return /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : null;
    },
  ],
  ['hex-body', `${OVER} the body in hexadecimal`, (body) => [body.toString('hex'), body.toString('hex').toUpperCase()]],
  ...[gunzipSync, inflateSync, brotliDecompressSync].map((decompress): Row => [
    'compressed-body',
    `${OVER} the decompressed body`,
    (body) => decompress(body, { maxOutputLength: 16 * 1024 * 1024 }),
  ]),
  ...[6, 9, 1].map((level): Row => ['compressed-body', COMPRESSED, (body) => gzipped(body, level)]),
  ['compressed-body', COMPRESSED, (body) => deflateSync(body)],
];

/** As different libraries write the header: the byte for the operating system differs. */
function gzipped(body: Buffer, level: number): readonly Buffer[] {
  const compressed = gzipSync(body, { level });
  return [3, 255, 0, 19, 10].map((system) => {
    const copy = Buffer.from(compressed);
    copy[9] = system;
    return copy;
  });
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

/** What a program has left of a body, if the body is only that. */
export function leftOfBody(body: Uint8Array): Found | null {
  if (body.byteLength === 0) return { cause: 'empty-body', what: 'your body is empty: other code read it first' };
  const text = body.byteLength > 64 ? '' : Buffer.from(body).toString().trim();
  if (!MISTAKEN_VALUES.includes(text)) return null;
  return { cause: 'not-the-body', what: `your body is ${text}: other code read it or converted it to text first` };
}

const MISTAKEN: readonly Row[] = [
  ['empty-body', `${OVER} an empty body`, () => ''],
  ...MISTAKEN_VALUES.map((value): Row => ['not-the-body', `${OVER} the string ${value}`, () => value]),
  ['not-the-body', `${OVER} the string b'…', as Python prints bytes`, (body) => `b'${body.toString()}'`],
  [
    'double-encoded',
    `${OVER} the body encoded as a JSON string`,
    (body) => [JSON.stringify(body.toString()), JSON.stringify(JSON.stringify(body.toString()))],
  ],
  [
    'double-encoded',
    `${OVER} the text inside the JSON string`,
    (body) => {
      const inner: unknown = JSON.parse(body.toString());
      return typeof inner === 'string' ? inner : null;
    },
  ],
  [
    'double-encoded',
    `${OVER} the URL-encoded body (for example, %7B for {)`,
    (body) => encodeURIComponent(body.toString()),
  ],
  ['double-encoded', `${OVER} the URL-decoded body`, (body) => decodeURIComponent(body.toString())],
];

/** Changes a body that is UTF-8. */
const utf8 =
  (change: (text: string) => Content | readonly Content[]) =>
  (body: Buffer): Content | readonly Content[] => {
    const text = body.toString();
    return Buffer.from(text).equals(body) ? change(text) : null;
  };

/** A text that was read in one encoding and written in another. */
const ENCODED: readonly Row[] = [
  ['character-encoding', `${OVER} the UTF-8 body decoded as Latin-1`, (body) => body.toString('latin1')],
  [
    'character-encoding',
    `${OVER} the UTF-8 body decoded as Windows-1252`,
    (body) => new TextDecoder('windows-1252').decode(body),
  ],
  [
    'character-encoding',
    'invalid UTF-8 in the body was replaced before the signature was computed',
    (body) => body.toString(),
  ],
  [
    'character-encoding',
    `${OVER} the body in UTF-16`,
    (body) => {
      const little = Buffer.from(body.toString(), 'utf16le');
      const big = Buffer.from(little).swap16();
      return [little, big, Buffer.from([0xff, 0xfe, ...little]), Buffer.from([0xfe, 0xff, ...big])];
    },
  ],
  [
    'character-encoding',
    'the body is in UTF-16, but the signature was computed over the body in UTF-8',
    // swap16 throws for an odd number of bytes
    (body) => [Buffer.from(body).swap16().swap16(), Buffer.from(body).swap16()].map(fromUtf16),
  ],
  [
    'character-encoding',
    'the UTF-8 body was decoded as Latin-1 after the signature was computed',
    utf8((text) => {
      const bytes = Buffer.from(text, 'latin1');
      return bytes.toString('latin1') === text ? bytes : null;
    }),
  ],
  [
    'character-encoding',
    `${OVER} the body with ? in place of non-ASCII characters`,
    utf8((text) => text.replaceAll(/[\u0080-\u{10ffff}]/gu, '?')),
  ],
  [
    'character-encoding',
    `${OVER} a different Unicode normalization form of the body`,
    utf8((text) => [text.normalize('NFC'), text.normalize('NFD')]),
  ],
];

function fromUtf16(bytes: Buffer): string {
  return bytes.toString('utf16le').replace(/^\u{FEFF}/u, '');
}

function* writings(body: Buffer): Generator<readonly [content: string, cause: Cause, what: string]> {
  const isSmall = body.byteLength <= SMALL_BYTES;
  const text = body.toString().replace(/^\u{FEFF}/u, '');
  for (const { text: written, how } of jsonWritings(text, isSmall)) {
    const ended = [`${written}\n`, `${written}\r\n`];
    if (withoutBreaks(written) === withoutBreaks(text)) {
      const broken = 'the sender removed line breaks after it computed the signature, as curl --data does';
      for (const content of [written, ...ended]) yield [content, 'line-endings', broken];
      continue;
    }
    yield [written, 're-serialised', `${OVER} the same JSON, ${how}`];
    const what = `${OVER} the same JSON, ${how}, followed by a newline`;
    if (isSmall) for (const content of ended) yield [content, 're-serialised', what];
  }
}
