import type { BodyRead, BodyReader } from '../src/index.ts';

/**
 * Reads the body of a web `Request`, within the limits and without ever decompressing.
 *
 * @param fix - what the merchant has to change where the body was read before
 */
export function webBodyReader(request: Request, fix: string): BodyReader {
  return async ({ maxBytes, late }) => {
    if (request.bodyUsed) return { ended: 'consumed', fix };
    const { body } = request;
    if (body === null) return { ended: 'complete', bytes: new Uint8Array() };
    if (body.locked) return { ended: 'consumed', fix };

    const declared = request.headers.get('content-length');
    if (declared !== null && Number(declared) > maxBytes) return { ended: 'too-large' };

    const reader = body.getReader();
    const tooSlow = late.then((): BodyRead => ({ ended: 'too-slow' }));
    const read = await Promise.race([count(reader, maxBytes), tooSlow]);
    // Not waited for: a source that hangs may never finish cancelling.
    if (read.ended !== 'complete') reader.cancel().catch(() => {});
    return read;
  };
}

async function count(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<BodyRead> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.byteLength;
      if (size > maxBytes) return { ended: 'too-large' };
      chunks.push(part.value);
    }
  } catch {
    return { ended: 'aborted' };
  }
  return { ended: 'complete', bytes: Buffer.concat(chunks, size) };
}
