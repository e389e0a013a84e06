import { startDeadline, withinDeadline } from '../src/host/deadline.ts';
import type { BodyBuffer, BodyRead, BodyReader } from '../src/index.ts';

/**
 * How long a body that was refused may go on arriving, so that a client that writes it all sees the answer; for a refusal
 * at the deadline short enough to be out within the service's 10 s.
 */
const REST_MS = 2_000;
const ANSWERED_MS = 9_900;
const LEAST_REST_MS = 900;
/** And how much of it is read and thrown away. */
const REST_BYTES = 4 * 1024 * 1024;
/** Throwing a chunk away takes time, however little is in it: it counts for so much at least. */
const LEAST_WEIGHT = 1024;

/**
 * Reads the body of a web `Request`, within the limits and without ever decompressing. What it has refused is left to
 * `discardBody`.
 *
 * @param fix - what the merchant has to change where the body was read before
 */
export function webBodyReader(request: Request, fix: string): BodyReader {
  return async ({ buffer, late }) => {
    if (request.bodyUsed) return { ended: 'consumed', fix };
    const { body } = request;
    if (body === null) return { ended: 'complete', bytes: new Uint8Array() };
    if (body.locked) return { ended: 'consumed', fix };

    const over = buffer.expect(Number(request.headers.get('content-length') ?? 0));
    if (over !== null) return { ended: over };

    const reader = body.getReader();
    const stopped = late.then((ended): BodyRead => ({ ended }));
    const read = await Promise.race([fill(buffer, reader, fix), stopped]);
    if (['too-large', 'in-crumbs', 'no-room'].includes(read.ended)) reader.releaseLock();
    // Not waited for: a source that hangs may never finish cancelling.
    else if (read.ended !== 'complete') reader.cancel().catch(() => {});
    return read;
  };
}

/**
 * Reads what is left of a body, before the answer: a server that sends an answer earlier ends the connection with it, and
 * a client that is still writing loses it.
 *
 * @param arrivedAt - when the request came, on the clock of `performance.now()`
 */
export async function discardBody({ body }: Request, arrivedAt: number): Promise<void> {
  if (body === null || body.locked) return;
  const reader = body.getReader();
  const left = arrivedAt + ANSWERED_MS - performance.now();
  const limit = startDeadline(Math.max(LEAST_REST_MS, Math.min(REST_MS, left)));
  await withinDeadline(skip(reader), limit);
  limit.met();
  reader.cancel().catch(() => {});
}

async function skip(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done && size < REST_BYTES; part = await reader.read()) {
      size += Math.max(part.value.byteLength, LEAST_WEIGHT);
    }
  } catch {
    // The client has gone.
  }
}

async function fill(
  buffer: BodyBuffer,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  fix: string,
): Promise<BodyRead> {
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      // A stream that somebody has made may hold anything.
      if (!(part.value instanceof Uint8Array)) return { ended: 'consumed', fix };
      const full = buffer.add(part.value);
      if (full !== null) return { ended: full };
    }
  } catch {
    return { ended: 'aborted' };
  }
  return { ended: 'complete', bytes: buffer.bytes() };
}
