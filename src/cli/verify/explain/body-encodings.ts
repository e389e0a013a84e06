import { brotliDecompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { attempt, candidates, type Candidate } from './candidate.ts';

const MOST_DECOMPRESSED = 16 * 1024 * 1024;

/** Base64, hexadecimal digits, compression: on the body, or left out. */
export function* wrappedBodies(body: Buffer): Generator<Candidate> {
  const text = body.toString('latin1').trim();
  const isBase64 = text.length >= 4 && /^[A-Za-z0-9+/_\s-]+={0,2}$/.test(text);
  const decoded = isBase64 ? Buffer.from(text, 'base64') : null;
  yield* candidates('base64-body', 'the signature was computed over the decoded base64', decoded);
  const base64 = body.toString('base64');
  const inLines = (length: number, newline: string): string =>
    base64.replaceAll(new RegExp(`(.{${length}})(?=.)`, 'g'), `$1${newline}`);
  yield* candidates(
    'base64-body',
    'the signature was computed over the body in base64',
    base64,
    body.toString('base64url'),
    `${base64}\n`,
    `${inLines(64, '\n')}\n`, // openssl
    `${inLines(76, '\n')}\n`, // base64 of GNU
    inLines(76, '\r\n'), // MIME
  );

  const isHex = /^(?:[0-9a-f]{2})+$/i.test(text);
  const undigited = isHex ? Buffer.from(text, 'hex') : null;
  yield* candidates('hex-body', 'the signature was computed over the decoded hexadecimal digits', undigited);
  const digits = body.toString('hex');
  yield* candidates(
    'hex-body',
    'the signature was computed over the body in hexadecimal',
    digits,
    digits.toUpperCase(),
  );

  const within = { maxOutputLength: MOST_DECOMPRESSED };
  for (const decompress of [gunzipSync, inflateSync, brotliDecompressSync]) {
    const content = attempt(() => decompress(body, within));
    yield* candidates('compressed-body', 'the signature was computed over the decompressed body', content);
  }
  const compressed = 'the signature was computed over the compressed body';
  for (const level of [6, 9, 1]) yield* candidates('compressed-body', compressed, ...gzipped(body, level));
  yield* candidates('compressed-body', compressed, deflateSync(body));
}

/** As different libraries write the header: the byte for the operating system differs. */
function gzipped(body: Buffer, level: number): readonly Buffer[] {
  const compressed = gzipSync(body, { level });
  return [3, 255, 0, 19, 10].map((system) => {
    const copy = Buffer.from(compressed);
    copy[9] = system;
    return copy;
  });
}

/** A text that was read in one encoding and written in another. */
export function* encodedBodies(body: Buffer): Generator<Candidate> {
  const text = body.toString();
  const windows1252 = new TextDecoder('windows-1252').decode(body);
  const read = (as: string): string => `the signature was computed over the UTF-8 body decoded as ${as}`;
  yield* candidates('character-encoding', read('Latin-1'), body.toString('latin1'));
  yield* candidates('character-encoding', read('Windows-1252'), windows1252);
  yield* candidates(
    'character-encoding',
    'invalid UTF-8 in the body was replaced before the signature was computed',
    text,
  );
  yield* candidates('character-encoding', 'the signature was computed over the body in UTF-16', ...utf16(text));
  if (body.byteLength % 2 === 0) {
    const texts = [body, Buffer.from(body).swap16()].map((bytes) =>
      bytes.toString('utf16le').replace(/^\u{FEFF}/u, ''),
    );
    yield* candidates(
      'character-encoding',
      'the body is in UTF-16, but the signature was computed over the body in UTF-8',
      ...texts,
    );
  }
  if (!Buffer.from(text).equals(body)) return;

  const before = 'the UTF-8 body was decoded as Latin-1 after the signature was computed';
  yield* candidates('character-encoding', before, latin1Bytes(text));
  yield* candidates(
    'character-encoding',
    'the signature was computed over the body with ? in place of non-ASCII characters',
    questioned(text),
  );
  const forms = [text.normalize('NFC'), text.normalize('NFD')];
  yield* candidates(
    'character-encoding',
    'the signature was computed over a different Unicode normalization form of the body',
    ...forms,
  );
}

function utf16(text: string): readonly Buffer[] {
  const little = Buffer.from(text, 'utf16le');
  const big = Buffer.from(little).swap16();
  const mark = Buffer.from([0xff, 0xfe]);
  return [little, big, Buffer.concat([mark, little]), Buffer.concat([Buffer.from(mark).swap16(), big])];
}

/** The bytes that, read as Latin-1, are this text; `null` when some character has none. */
function latin1Bytes(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'latin1');
  return bytes.toString('latin1') === text ? bytes : null;
}

function questioned(text: string): string {
  return Array.from(text, (character) => ((character.codePointAt(0) ?? 0) > 0x7f ? '?' : character)).join('');
}
