import { ConfigurationError } from '../errors.ts';
import { LONGEST_LINE } from '../inbox/operator/transfer.ts';

/**
 * The lines of a stream, in UTF-8 or UTF-16, with a byte order mark or without. Only a line feed ends one: other
 * characters that `readline` breaks lines at may stand in JSON.
 *
 * @param onRead - told how many bytes were read
 * @throws ConfigurationError for a line of hundreds of megabytes, and for a compressed file
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<string, void> {
  let unfinished: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of utf8Of(counted(stream, onRead))) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...unfinished, chunk.subarray(from, end)]).toString();
      unfinished = [];
      length = 0;
      from = end + 1;
    }
    unfinished.push(chunk.subarray(from));
    length += chunk.byteLength - from;
    if (length > LONGEST_LINE) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'A line is too long to come from a hookbox export. Pass the unchanged output of hookbox events export.',
      );
    }
  }
  if (length > 0) yield Buffer.concat(unfinished).toString();
}

async function* counted(
  stream: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of stream) {
    onRead(chunk.byteLength);
    yield chunk;
  }
}

const LINE_FEED = 0x0a;

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
async function* utf8Of(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
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
