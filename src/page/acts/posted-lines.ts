/** The lines of a stream of UTF-8, without their ends. A last one need not have an end. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** pieces of a line that has not ended; joined once, because a line may be a megabyte */
  let pieces: string[] = [];
  for await (const bytes of stream) {
    const [first = '', ...others] = decoder.decode(bytes, { stream: true }).split('\n');
    pieces.push(first);
    for (const next of others) {
      yield withoutReturn(pieces.join(''));
      pieces = [next];
    }
  }
  pieces.push(decoder.decode());
  const last = pieces.join('');
  if (last !== '') yield withoutReturn(last);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
