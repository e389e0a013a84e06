import { startDeadline, withinDeadline } from '../src/deadline.ts';
import type { BodyRead, BodyReader } from '../src/index.ts';

/** How long a body that was refused may go on arriving, so that a client that writes it all sees the answer. */
const REST_MS = 2_000;
/** And how much of it is read and thrown away. */
const REST_BYTES = 4 * 1024 * 1024;

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

    const reader = body.getReader();
    const declared = request.headers.get('content-length');
    const tooSlow = late.then((): BodyRead => ({ ended: 'too-slow' }));
    const read =
      declared !== null && Number(declared) > maxBytes
        ? ({ ended: 'too-large' } as const)
        : await Promise.race([count(reader, maxBytes), tooSlow]);
    if (read.ended === 'too-large') await Promise.race([rest(reader), late]);
    // Not waited for: a source that hangs may never finish cancelling.
    if (read.ended !== 'complete') reader.cancel().catch(() => {});
    return read;
  };
}

/**
 * Reads what is left of a body that nobody has read. A server that sends an answer before the body has arrived ends the
 * connection with it, and a client that is still writing loses the answer.
 */
export async function discardBody({ body, bodyUsed }: Request): Promise<void> {
  if (body === null || bodyUsed || body.locked) return;
  const reader = body.getReader();
  await rest(reader);
  reader.cancel().catch(() => {});
}

async function rest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const limit = startDeadline(REST_MS);
  await withinDeadline(skip(reader), limit);
  limit.met();
}

async function skip(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done && size < REST_BYTES; part = await reader.read()) {
      size += part.value.byteLength;
    }
  } catch {
    // The client has gone.
  }
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
