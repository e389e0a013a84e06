import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { discardBody, webBodyReader } from '../../adapters/read-web-body.ts';
import type { BodyRead } from '../../src/index.ts';
import { bodyLimits } from './body-limits.ts';

const FIX = 'call hookbox first.';

function requestWith(
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | string | null,
  headers: Readonly<Record<string, string>> = {},
): Request {
  return new Request('http://shop.test/', { method: 'POST', headers, body, duplex: 'half' });
}

async function read(request: Request, { maxBytes = 10, withinMs = 2_000 } = {}): Promise<BodyRead> {
  return webBodyReader(request, FIX)(bodyLimits(maxBytes, withinMs));
}

function streamOf(...parts: readonly Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(parts);
}

const fakeRequest = { bodyUsed: false, headers: new Headers() };

describe('webBodyReader', () => {
  it.each([null, '', streamOf()])('reads no body as no bytes: %s', async (body) => {
    const outcome = await read(requestWith(body));

    expect(outcome.ended === 'complete' && outcome.bytes.byteLength).toBe(0);
  });

  it('puts the parts of a body together', async () => {
    const body = streamOf(Uint8Array.of(1, 2), Uint8Array.of(), Uint8Array.of(3));

    const outcome = await read(requestWith(body));

    expect(outcome.ended === 'complete' && [...outcome.bytes]).toEqual([1, 2, 3]);
  });

  it('copies what arrives and keeps no part: a stream may use its memory again', async () => {
    const part = new Uint8Array(1);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (sent === 5) return controller.close();
          part[0] = sent += 1;
          controller.enqueue(part);
        },
      },
      { highWaterMark: 0 },
    );

    const outcome = await read({ ...fakeRequest, body } as Request);

    expect(outcome.ended === 'complete' && [...outcome.bytes]).toEqual([1, 2, 3, 4, 5]);
  });

  it('takes as many bytes as the limit, and no more', async () => {
    expect(await read(requestWith(streamOf(new Uint8Array(6), new Uint8Array(4))))).toMatchObject({
      ended: 'complete',
    });
    expect(await read(requestWith(streamOf(new Uint8Array(6), new Uint8Array(5))))).toEqual({ ended: 'too-large' });
  });

  it.each(['0', '1', '9', 'many', '-1', ''])('counts for itself when the Content-Length is %j', async (length) => {
    expect(await read(requestWith('abc', { 'Content-Length': length }))).toMatchObject({ ended: 'complete' });
    expect(await read(requestWith('x'.repeat(11), { 'Content-Length': length }))).toEqual({ ended: 'too-large' });
  });

  it('refuses by the Content-Length without touching the body', async () => {
    const request = requestWith(streamOf(new Uint8Array(11)), { 'Content-Length': '11' });

    expect(await read(request)).toEqual({ ended: 'too-large' });
    expect(request.bodyUsed).toBe(false);
  });

  it('takes a stream of anything but bytes for consumed', async () => {
    const texts = ReadableStream.from(['{}']) as unknown as ReadableStream<Uint8Array>;

    expect(await read({ ...fakeRequest, body: texts } as Request)).toEqual({ ended: 'consumed', fix: FIX });
  });

  it('does not decompress what was sent compressed', async () => {
    const request = requestWith(Uint8Array.of(0x1f, 0x8b, 8), { 'Content-Encoding': 'gzip' });

    const outcome = await read(request);

    expect(outcome.ended === 'complete' && [...outcome.bytes]).toEqual([0x1f, 0x8b, 8]);
  });

  it('says consumed when somebody has read the body before', async () => {
    const request = requestWith('abc');
    await request.text();

    expect(await read(request)).toEqual({ ended: 'consumed', fix: FIX });
  });

  it('says consumed when somebody holds a lock on the body', async () => {
    const request = requestWith('abc');
    request.body?.getReader();

    expect(await read(request)).toEqual({ ended: 'consumed', fix: FIX });
  });

  it('says consumed when somebody has read a part of the body', async () => {
    const request = requestWith(streamOf(new Uint8Array(3), new Uint8Array(3)));
    const reader = request.body?.getReader();
    await reader?.read();
    reader?.releaseLock();

    expect(await read(request)).toEqual({ ended: 'consumed', fix: FIX });
  });

  it('says aborted when the stream fails', async () => {
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('gone')) });

    expect(await read(requestWith(body))).toEqual({ ended: 'aborted' });
  });

  it('does not wait for a stream whose cancelling hangs', async () => {
    const hang = (): Promise<void> => new Promise(() => {});
    const body = new ReadableStream<Uint8Array>({ pull: hang, cancel: hang });
    const ended = read(requestWith(body), { withinMs: 50 });

    expect(await Promise.race([ended, delay(2_000, 'still waiting')])).toEqual({ ended: 'too-slow' });
  });

  it('stops at the deadline, cancels the stream and is done with it', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: () => new Promise(() => {}),
      cancel() {
        cancelled = true;
      },
    });
    const began = performance.now();

    expect(await read(requestWith(body), { withinMs: 100 })).toEqual({ ended: 'too-slow' });

    const waited = performance.now() - began;
    expect(waited).toBeGreaterThan(80);
    expect(waited).toBeLessThan(2_000);
    expect(cancelled).toBe(true);
  });
});

describe('discardBody', () => {
  it('reads a refused body to its end, for the client to see the answer', async () => {
    let ended = false;
    const body = ReadableStream.from(
      (function* parts() {
        yield new Uint8Array(11);
        yield new Uint8Array(11);
        ended = true;
      })(),
    );
    const request = requestWith(body);
    expect(await read(request)).toEqual({ ended: 'too-large' });

    await discardBody(request, performance.now());

    expect(ended).toBe(true);
  });

  it('waits less than a second at the deadline for a body that does not come, and two where there is time', async () => {
    const waited = async (ago: number): Promise<number> => {
      const hanging = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
      const began = performance.now();
      await discardBody(requestWith(hanging), began - ago);
      return performance.now() - began;
    };
    const [early, late] = await Promise.all([waited(0), waited(9_000)]);

    expect(late).toBeGreaterThan(800);
    expect(early).toBeGreaterThan(late + 800);
    expect(early).toBeLessThan(8_000);
  });
});
