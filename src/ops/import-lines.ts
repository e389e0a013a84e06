import { ConfigurationError } from '../errors.ts';
import { LONGEST_LINE } from '../inbox/operator/transfer.ts';

/**
 * The lines of a stream, in UTF-8 or UTF-16. Only a line feed ends a line: other characters at which `readline` breaks
 * lines may be part of JSON.
 *
 * @throws ConfigurationError for a line of hundreds of megabytes, and for a compressed file
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<string, void> {
  let unfinished: string[] = [];
  let length = 0;
  for await (const text of textsOf(stream, onRead)) {
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      yield [...unfinished, line].join('');
      unfinished = [];
      length = 0;
    }
    unfinished.push(rest);
    length += rest.length;
    if (length > LONGEST_LINE) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'A line is too long to come from a hookbox export. Pass the unchanged output of hookbox events export.',
      );
    }
  }
  if (length > 0) yield unfinished.join('');
}

async function* textsOf(
  stream: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<string, void> {
  let head = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const chunk of stream) {
    onRead(chunk.byteLength);
    if (decoder !== null) yield decoder.decode(chunk, { stream: true });
    else {
      head = Buffer.concat([head, chunk]);
      if (head.byteLength < FIRST_BYTES) continue;
      decoder = decoderFor(head);
      yield decoder.decode(head, { stream: true });
    }
  }
  yield decoder === null ? decoderFor(head).decode(head) : decoder.decode();
}

/** First bytes, the name of the format, and the command that decompresses it. */
const COMPRESSED: readonly (readonly [first: readonly number[], name: string, command: string])[] = [
  [[0x1f, 0x8b], 'gzip', 'gunzip'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'zstd', 'unzstd'],
  [[0x50, 0x4b, 0x03, 0x04], 'zip', 'unzip'],
  [[0x42, 0x5a, 0x68], 'bzip2', 'bunzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'xz', 'unxz'],
];
/** Byte order marks, and the first character of an export without one. Editors and PowerShell write UTF-16. */
const UTF_16: readonly (readonly [first: readonly number[], encoding: 'utf-16le' | 'utf-16be'])[] = [
  [[0xff, 0xfe], 'utf-16le'],
  [[0x7b, 0x00], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0x00, 0x7b], 'utf-16be'],
];
const FIRST_BYTES = 5;

function decoderFor(head: Uint8Array): InstanceType<typeof TextDecoder> {
  const begins = ([first]: readonly [readonly number[], ...unknown[]]): boolean =>
    first.every((byte, at) => head[at] === byte);
  const compressed = COMPRESSED.find(begins);
  if (compressed !== undefined) {
    const [, name, command] = compressed;
    throw new ConfigurationError(
      'INVALID_OPTION',
      `The file is compressed (${name}). Decompress it first: ${command}. Nothing was imported.`,
    );
  }
  return new TextDecoder(UTF_16.find(begins)?.[1]);
}
