import { ConfigurationError } from '../errors.ts';
import { utf8Of } from './import-text.ts';
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
