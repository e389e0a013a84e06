import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectAccepted, expectRefused, BODY_TOO_LARGE, INVALID_SIGNATURE } from '../expected-answer.ts';
import { startMeasured, type MeasuredServer } from '../measured-server.ts';
import { signedEvent, signedEventOfSize, WELL_FORMED } from '../../helpers/signed-event.ts';
import { chunk, connect, requestHead, send, type Connection, type RequestParts } from '../wire.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const PART = Buffer.alloc(64 * 1024, 'x');
const SAMPLE_EVERY_MS = 5;
const CASE_LIMIT_MS = 60_000;

/** `server` is a module for `startMeasured`. */
export function testMemoryOfHttpAdapter(name: string, server: URL): void {
  describe(name, () => {
    it.each([
      ['413', 'of 1 GiB', 'chunked', [WELL_FORMED]],
      ['413', 'of 1 GiB', 'content-length', [WELL_FORMED]],
      ['401', 'of 1 GiB without a signature', 'chunked', []],
    ] as const)(
      'answers %s to a body %s (%s) and grows by less than 32 MiB',
      { timeout: CASE_LIMIT_MS },
      async (status, _, framing, headers) => {
        await using measured = await startMeasured(server);
        await warmUp(measured.url);
        const before = await measured.rss();
        await using connection = await connect(measured.url);
        const answer = connection.answer();
        answer.catch(() => {});

        const [peak, written] = await whileSampling(measured, () =>
          writeGibibyte(connection, measured.url, framing, headers),
        );
        const after = await measured.rss();

        expectRefused(await answer, status === '413' ? BODY_TOO_LARGE : INVALID_SIGNATURE);
        expect(written).toBeGreaterThan(MIB);
        expect(peak - before).toBeLessThan(32 * MIB);
        expect(after - before).toBeLessThan(32 * MIB);
        const event = signedEvent();
        expectAccepted(await send(measured.url, event), event);
      },
    );
  });
}

/** The first requests cost memory that is not to be measured. */
export async function warmUp(url: string): Promise<void> {
  for (let n = 0; n < 50; n += 1) await send(url, signedEvent());
  await send(url, signedEventOfSize(MIB));
  await send(url, signedEventOfSize(2 * MIB));
}

async function writeGibibyte(
  connection: Connection,
  url: string,
  framing: 'chunked' | 'content-length',
  headers: NonNullable<RequestParts['headers']>,
): Promise<number> {
  const [name, value] = framing === 'chunked' ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(GIB)];
  await connection.write(requestHead(url, { headers: [...headers, [name, value]], framing: 'none' }));
  const part = framing === 'chunked' ? chunk(PART) : PART;
  let written = 0;
  for (; written < GIB && !connection.socket.destroyed; written += PART.byteLength) {
    await connection.write(part);
    await turn(); // otherwise a fast kernel leaves no turn in which the answer is read
  }
  return written;
}

export async function whileSampling<T>(
  measured: MeasuredServer,
  run: () => Promise<T>,
): Promise<[peak: number, result: T]> {
  const done = new AbortController();
  const result = run().finally(() => done.abort());
  let peak = 0;
  while (!done.signal.aborted) {
    peak = Math.max(peak, await measured.rss());
    await delay(SAMPLE_EVERY_MS);
  }
  return [peak, await result];
}
