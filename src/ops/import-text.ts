import { ConfigurationError } from '../errors.ts';

/** The first bytes of files that programs make from a text. The message names the format and the command that unpacks it. */
const COMPRESSED: readonly (readonly [first: readonly number[], name: string, command: string])[] = [
  [[0x1f, 0x8b], 'gzip', 'gunzip'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'zstd', 'unzstd'],
  [[0x50, 0x4b, 0x03, 0x04], 'zip', 'unzip'],
  [[0x42, 0x5a, 0x68], 'bzip2', 'bunzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'xz', 'unxz'],
];
/** Byte order marks, and the first character of an export without one. */
const UTF_16: readonly (readonly [first: readonly number[], encoding: 'utf-16le' | 'utf-16be'])[] = [
  [[0xff, 0xfe], 'utf-16le'],
  [[0x7b, 0x00], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0x00, 0x7b], 'utf-16be'],
];
const UTF_8_MARK = [0xef, 0xbb, 0xbf];
/** The longest of these. */
const FIRST_BYTES = 5;

/**
 * A text in UTF-8 without a byte order mark, of a stream that may have one, or be in UTF-16, as editors and PowerShell write it.
 *
 * @throws ConfigurationError for a compressed file
 */
export async function* utf8Of(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let head: Uint8Array | null = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  const asUtf8 = (bytes?: Uint8Array): Uint8Array =>
    decoder === null ? (bytes ?? Buffer.alloc(0)) : Buffer.from(decoder.decode(bytes, { stream: bytes !== undefined }));
  const begun = (bytes: Uint8Array): Uint8Array => {
    head = null;
    refuseCompressed(bytes);
    const encoding = UTF_16.find(([first]) => beginsWith(bytes, first))?.[1];
    if (encoding !== undefined) decoder = new TextDecoder(encoding);
    return asUtf8(beginsWith(bytes, UTF_8_MARK) ? bytes.subarray(UTF_8_MARK.length) : bytes);
  };
  for await (const chunk of stream) {
    if (head === null) {
      yield asUtf8(chunk);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.byteLength >= FIRST_BYTES) yield begun(head);
  }
  if (head !== null) yield begun(head);
  yield asUtf8();
}

function refuseCompressed(bytes: Uint8Array): void {
  const compressed = COMPRESSED.find(([first]) => beginsWith(bytes, first));
  if (compressed === undefined) return;
  const [, name, command] = compressed;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `The file is compressed (${name}). Decompress it first: ${command}. Nothing was imported.`,
  );
}

function beginsWith(bytes: Uint8Array, first: readonly number[]): boolean {
  return first.every((byte, at) => bytes[at] === byte);
}
