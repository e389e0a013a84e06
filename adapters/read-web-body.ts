import { performance } from '../src/host/real-timers.ts';
import { startDeadline, withinDeadline } from '../src/host/host-limits.ts';
import type { BodyBuffer, BodyRead, BodyReader } from '../src/index.ts';
import { discardScale, isUnread, LINGER_MS } from './rejected-body.ts';

/** A response at the deadline still reaches the service within its 10 s. */
const ANSWERED_MS = 9_900;
const LEAST_LINGER_MS = 900;

/** Never decompresses. `discardBody` reads the rest of a rejected body. */
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
    // After the deadline, no time is left to read the rest.
    if (isUnread(read.ended) && read.ended !== 'too-slow') reader.releaseLock();
    // Not awaited: a source that hangs may never finish cancelling.
    else if (read.ended !== 'complete') reader.cancel().catch(() => {});
    return read;
  };
}

/** Reads the rest of a body before the response. Otherwise the connection ends, and a writing client loses it. */
export async function discardBody({ body }: Request, arrivedAt: number): Promise<void> {
  if (body === null || body.locked) return;
  const reader = body.getReader();
  const left = arrivedAt + ANSWERED_MS - performance.now();
  const limit = startDeadline(Math.max(LEAST_LINGER_MS, Math.min(LINGER_MS, left)));
  await withinDeadline(skip(reader), limit);
  limit.met();
  reader.cancel().catch(() => {});
}

async function skip(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const isEnough = discardScale();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (isEnough(part.value.byteLength)) return;
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
      // A custom stream may contain anything.
      if (!(part.value instanceof Uint8Array)) return { ended: 'consumed', fix };
      const full = buffer.add(part.value);
      if (full !== null) return { ended: full };
    }
  } catch {
    return { ended: 'aborted' };
  }
  return { ended: 'complete', bytes: buffer.bytes() };
}
