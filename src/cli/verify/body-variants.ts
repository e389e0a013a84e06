import { brotliDecompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { mistakes, type Found, type Mistakes, type Variant } from './causes.ts';
import { someJsonWriting } from './json-writings.ts';

export interface OtherBody {
  readonly name: string;
  readonly body: Uint8Array;
}

/** Above this size, only the usual forms of JSON are tried; above the next size, none. */
const SMALL_BYTES = 32 * 1024;
const MEDIUM_BYTES = 2 * 1024 * 1024;
/** Several times the limit of a receiver; above it, only the newlines at the end are tried. */
const LARGE_BYTES = 8 * 1024 * 1024;

type Content = Uint8Array | string | null;

/** The body that a mistake produces; none if it returns `null` or throws. */
type Make = (body: Buffer) => Content | readonly Content[];

/** Tries the simplest variants first, and creates each one on demand, until one matches. */
export function hasMatchingVariant(
  body: Buffer,
  others: readonly OtherBody[],
  fits: (variant: Variant<Uint8Array>) => boolean,
): boolean {
  const seen = new Set([body.toString('latin1')]);
  return someCandidate(body, others, (content, found) => {
    const bytes = Buffer.from(content as Uint8Array);
    // Large variants are few, and remembering them would cost more than trying one twice.
    if (bytes.byteLength <= SMALL_BYTES) {
      const name = bytes.toString('latin1');
      if (seen.has(name)) return false;
      seen.add(name);
    }
    return fits({ value: bytes, found: [found] });
  });
}

type TryCandidate = (content: Uint8Array | string, found: Found) => boolean;

function someCandidate(body: Buffer, others: readonly OtherBody[], fits: TryCandidate): boolean {
  const isLarge = body.byteLength > LARGE_BYTES;
  return (
    others.some((other) => fits(other.body, { cause: 'other-body', what: `the signature belongs to ${other.name}` })) ||
    (isLarge ? NEWLINES : [...NEWLINES, ...CHANGES]).some(([found, make]) =>
      made(body, make).some((content) => content !== null && fits(content, found)),
    ) ||
    (body.byteLength <= MEDIUM_BYTES && someWriting(body, fits))
  );
}

function made(body: Buffer, make: Make): readonly Content[] {
  try {
    const content = make(body);
    return content === null || typeof content === 'string' || content instanceof Uint8Array ? [content] : content;
  } catch {
    return [];
  }
}

const OVER = 'the signature was computed over ';

const NEWLINES = mistakes<Make>('trailing-newline', OVER, {
  'the body without its final newline': (body) => [withoutFinalNewline(body), withoutNewlines(body)],
  'the body followed by a newline': (body) => followed(body, '\n'),
  'the body followed by two newlines': (body) => followed(body, '\n\n'),
  'the body with a different final newline': (body) => {
    const bare = withoutNewlines(body);
    return [followed(body, '\r\n'), followed(bare, '\n'), followed(bare, '\r\n')];
  },
});

const followed = (bytes: Buffer, newline: string): Buffer => Buffer.concat([bytes, Buffer.from(newline)]);

function withoutNewlines(body: Buffer, most = Infinity): Buffer {
  let end = body.byteLength;
  const isNewline = (byte = 0): boolean => byte === 0x0a || byte === 0x0d;
  while (body.byteLength - end < most && isNewline(body[end - 1])) end -= 1;
  return body.subarray(0, end);
}

function withoutFinalNewline(body: Buffer): Buffer {
  const end = body.subarray(-2).toString('latin1');
  return end.endsWith('\n') ? withoutNewlines(body, end === '\r\n' ? 2 : 1) : body;
}

/** Changes the body as a text of one character for each byte. */
const latin1 =
  (change: (text: string) => readonly (string | null)[]): Make =>
  (body) =>
    change(body.toString('latin1')).map((text) => (text === null ? null : Buffer.from(text, 'latin1')));

const utf8 =
  (change: (text: string) => Content | readonly Content[]): Make =>
  (body) => {
    const text = body.toString();
    return Buffer.from(text).equals(body) ? change(text) : null;
  };

const MARK = '\u00ef\u00bb\u00bf';

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

const CHANGES: Mistakes<Make> = [
  ...mistakes<Make>('white-space', OVER, {
    'the body without the white space around it': latin1((text) => [text.trimEnd(), text.trimStart(), text.trim()]),
    'the body with a space before or after it': latin1((text) => [`${text} `, ` ${text}`]),
  }),
  ...mistakes<Make>('line-endings', OVER, {
    'the body with LF line breaks': latin1((text) => [text.replaceAll(/\r\n?/g, '\n')]),
    'the body with CRLF line breaks': latin1((text) => [text.replaceAll(/\r\n|\r|\n/g, '\r\n')]),
    'the body without its line breaks': latin1((text) => [withoutBreaks(text)]),
  }),
  ...mistakes<Make>('bom', OVER, {
    'the body without its byte order mark': latin1((t) => (t.startsWith(MARK) ? [t.slice(MARK.length)] : [])),
    'the body with a byte order mark before it': latin1((text) => (text.startsWith(MARK) ? [] : [MARK + text])),
  }),
  ...mistakes<Make>('headers-in-file', '', {
    'the file also contains the headers, but the signature was computed over the body alone': latin1((text) => {
      const rest = withoutHeaders(text);
      return [rest, rest?.trimEnd() ?? null];
    }),
  }),
  ...mistakes<Make>('base64-body', OVER, {
    'the decoded base64': (body) => {
      const text = body.toString('latin1').trim();
      return text.length >= 4 && /^[A-Za-z0-9+/_\s-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
    },
    'the body in base64': (body) => [
      body.toString('base64'),
      body.toString('base64url'),
      `${body.toString('base64')}\n`,
      `${base64InLines(body, 64, '\n')}\n`, // openssl
      `${base64InLines(body, 76, '\n')}\n`, // base64 of GNU
      base64InLines(body, 76, '\r\n'), // MIME
    ],
  }),
  ...mistakes<Make>('hex-body', OVER, {
    'the decoded hexadecimal digits': (body) => {
      const text = body.toString('latin1').trim();
      return /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, 'hex') : null;
    },
    'the body in hexadecimal': (body) => [body.toString('hex'), body.toString('hex').toUpperCase()],
  }),
  ...[gunzipSync, inflateSync, brotliDecompressSync].flatMap((decompress) =>
    mistakes<Make>('compressed-body', OVER, {
      'the decompressed body': (body) => decompress(body, { maxOutputLength: 16 * 1024 * 1024 }),
    }),
  ),
  ...mistakes<Make>('compressed-body', OVER, {
    'the compressed body': (body) => [...[6, 9, 1].flatMap((level) => gzipped(body, level)), deflateSync(body)],
  }),
  ...mistakes<Make>('empty-body', OVER, { 'an empty body': () => '' }),
  ...mistakes<Make>('not-the-body', OVER, {
    ...Object.fromEntries(MISTAKEN_VALUES.map((value) => [`the string ${value}`, () => value])),
    "the string b'…', as Python prints bytes": (body) => `b'${body.toString()}'`,
  }),
  ...mistakes<Make>('double-encoded', OVER, {
    'the body encoded as a JSON string': (body) => {
      const quoted = JSON.stringify(body.toString());
      return [quoted, JSON.stringify(quoted)];
    },
    'the text inside the JSON string': (body) => {
      const inner: unknown = JSON.parse(body.toString());
      return typeof inner === 'string' ? inner : null;
    },
    'the URL-encoded body (for example, %7B for {)': (body) => encodeURIComponent(body.toString()),
    'the URL-decoded body': (body) => decodeURIComponent(body.toString()),
  }),
  ...mistakes<Make>('character-encoding', OVER, {
    'the UTF-8 body decoded as Latin-1': (body) => body.toString('latin1'),
    'the UTF-8 body decoded as Windows-1252': (body) => new TextDecoder('windows-1252').decode(body),
  }),
  ...mistakes<Make>('character-encoding', '', {
    'invalid UTF-8 in the body was replaced before the signature was computed': (body) => body.toString(),
    'the body is in UTF-16, but the signature was computed over the body in UTF-8': (body) => {
      const swapped = Buffer.from(body).swap16(); // throws for an odd number of bytes
      return [body, swapped].map((bytes) => withoutMark(bytes.toString('utf16le')));
    },
    'the UTF-8 body was decoded as Latin-1 after the signature was computed': utf8((text) => {
      const bytes = Buffer.from(text, 'latin1');
      return bytes.toString('latin1') === text ? bytes : null;
    }),
  }),
  ...mistakes<Make>('character-encoding', OVER, {
    'the body in UTF-16': (body) => {
      const little = Buffer.from(body.toString(), 'utf16le');
      const big = Buffer.from(little).swap16();
      return [little, big, Buffer.from([0xff, 0xfe, ...little]), Buffer.from([0xfe, 0xff, ...big])];
    },
    'the body with ? in place of non-ASCII characters': utf8((text) => text.replaceAll(/[\u0080-\u{10ffff}]/gu, '?')),
    'a different Unicode normalization form of the body': utf8((t) => [t.normalize('NFC'), t.normalize('NFD')]),
  }),
];

function withoutMark(text: string): string {
  return text.replace(/^\u{FEFF}/u, '');
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\r\n]/g, '');
}

function withoutHeaders(text: string): string | null {
  const blank = /\r?\n\r?\n/.exec(text);
  const hasHeaders = /^(?:[A-Z]+ \S+ HTTP\/|HTTP\/|[\w-]+: )/.test(text);
  return blank === null || !hasHeaders ? null : text.slice(blank.index + blank[0].length);
}

function base64InLines(body: Buffer, length: number, newline: string): string {
  return body.toString('base64').replaceAll(new RegExp(`(.{${length}})(?=.)`, 'g'), `$1${newline}`);
}

/** As different libraries write the header: they differ in the byte for the operating system. */
function gzipped(body: Buffer, level: number): readonly Buffer[] {
  const compressed = gzipSync(body, { level });
  return [3, 255, 0, 19, 10].map((system) => {
    const copy = Buffer.from(compressed);
    copy[9] = system;
    return copy;
  });
}

export function leftOfBody(body: Uint8Array): Found | null {
  if (body.byteLength === 0) return { cause: 'empty-body', what: 'your body is empty: other code read it first' };
  const text = body.byteLength > 64 ? '' : Buffer.from(body).toString().trim();
  if (!MISTAKEN_VALUES.includes(text)) return null;
  return { cause: 'not-the-body', what: `your body is ${text}: other code read it or converted it to text first` };
}

function someWriting(body: Buffer, fits: TryCandidate): boolean {
  const isSmall = body.byteLength <= SMALL_BYTES;
  const text = withoutMark(body.toString());
  return someJsonWriting(text, isSmall, ({ text: written, how }) => {
    const ended = [`${written}\n`, `${written}\r\n`];
    if (withoutBreaks(written) === withoutBreaks(text)) {
      const what = 'the sender removed line breaks after it computed the signature, as curl --data does';
      return [written, ...ended].some((content) => fits(content, { cause: 'line-endings', what }));
    }
    const what = `${OVER}the same JSON, ${how}`;
    if (fits(written, { cause: 're-serialised', what })) return true;
    const followedByNewline: Found = { cause: 're-serialised', what: `${what}, followed by a newline` };
    return isSmall && ended.some((content) => fits(content, followedByNewline));
  });
}
