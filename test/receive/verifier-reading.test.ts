import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BodyBuffer, BodyLimits, BodyRead, BodyReader } from '../../src/receive/delivery.ts';
import { ConfigurationError } from '../../src/errors.ts';
import { type ErrorOutcome, isErrorOutcome } from '../../src/receive/outcome.ts';
import { signBody } from '../../src/signing/signature.ts';
import { createVerifier, type Verifier, type VerifierOptions } from '../../src/receive/verifier.ts';
import { recordedLog } from '../helpers/recorded-log.ts';

const secret = 'the-secret-4711';
const KIB = 1024;
const LIMIT = 100 * KIB;
const WELL_FORMED = '0'.repeat(64);

function eventOfSize(bytes: number): Uint8Array {
  const text = JSON.stringify({ id: 'evt_1', type: 'order.ready', created: '2026-03-14T08:22:30Z', data: {} });
  return Buffer.from(text.padEnd(bytes));
}

function reads(bytes: Uint8Array, end: (limits: BodyLimits) => BodyRead | Promise<BodyRead>): BodyReader {
  return async (limits) => {
    for (let at = 0; at < bytes.byteLength; at += KIB) {
      const full = limits.buffer.add(bytes.subarray(at, at + KIB));
      if (full !== null) return { ended: full };
    }
    return end(limits);
  };
}

const complete = ({ buffer }: { readonly buffer: BodyBuffer }): BodyRead => ({
  ended: 'complete',
  bytes: buffer.bytes(),
});

function verifying(options: Partial<VerifierOptions> = {}): Verifier {
  const { logger } = recordedLog();
  return createVerifier({ secret, logger, maxBodyBytes: LIMIT, maxReadingBytes: LIMIT, ...options });
}

async function reasonOf(result: Promise<object>): Promise<string> {
  const ended = await result;
  return isErrorOutcome(ended) ? ended.reason : 'verified';
}

function largest(verifier: Verifier): Promise<string> {
  const body = eventOfSize(LIMIT);
  return reasonOf(verifier.verify({ body: reads(body, complete), signature: signBody(body, secret) }));
}

const half = eventOfSize(LIMIT / 2);
const never = new Promise<never>(() => {});

/** Each leaks half of the memory if it is forgotten. */
const ENDS: readonly (readonly [how: string, body: BodyReader | Uint8Array, signature: string, ended: string])[] = [
  ['verified', reads(half, complete), signBody(half, secret), 'verified'],
  ['verified, as bytes', half, signBody(half, secret), 'verified'],
  ['forged', reads(half, complete), WELL_FORMED, 'signature-mismatch'],
  ['forged, as bytes', half, WELL_FORMED, 'signature-mismatch'],
  [
    'no event',
    reads(Buffer.alloc(half.byteLength, '['), complete),
    signBody(Buffer.alloc(half.byteLength, '['), secret),
    'not-an-event',
  ],
  ['too large at last', reads(eventOfSize(LIMIT + 1), complete), WELL_FORMED, 'body-too-large'],
  ['aborted', reads(half, () => ({ ended: 'aborted' })), WELL_FORMED, 'body-incomplete'],
  ['consumed', reads(half, () => ({ ended: 'consumed' })), WELL_FORMED, 'body-consumed'],
  ['too slow', reads(half, async ({ late }) => ({ ended: await late })), WELL_FORMED, 'body-too-slow'],
  ['hanging', reads(half, () => never), WELL_FORMED, 'body-too-slow'],
  ['put together elsewhere', async () => ({ ended: 'complete', bytes: half }), signBody(half, secret), 'verified'],
];

const THROWING: readonly (readonly [how: string, body: BodyReader])[] = [
  ['that throws', reads(half, () => Promise.reject(new Error('the reader is broken')))],
  ['that brings no bytes', reads(half, () => ({ ended: 'complete', bytes: 'text' as unknown as Uint8Array }))],
];

describe('the room for bodies that are being read', () => {
  it.each(ENDS)('is given back when a body is %s', async (_, body, signature, ended) => {
    const verifier = verifying({ deadlineMs: 50 });
    for (let n = 0; n < 3; n += 1) expect(await reasonOf(verifier.verify({ body, signature }))).toBe(ended);
    expect(await largest(verifier)).toBe('verified');
  });

  it.each(THROWING)('is given back after a reader %s', async (_, body) => {
    const verifier = verifying();
    for (let n = 0; n < 3; n += 1) await expect(verifier.verify({ body, signature: WELL_FORMED })).rejects.toThrow();
    expect(await largest(verifier)).toBe('verified');
  });

  it('is given back by one that was crowded out, and by a reader that goes on after its delivery was answered', async () => {
    const verifier = verifying({ deadlineMs: 50 });
    let goOn: BodyBuffer | undefined;
    const body = reads(half, ({ buffer }) => {
      goOn = buffer;
      return never;
    });
    await verifier.verify({ body, signature: WELL_FORMED });
    expect(goOn?.add(half)).toBe('no-room');
    expect(await largest(verifier)).toBe('verified');
  });

  it('is the newest that is answered 503 at once when it is full; the one before goes on', async () => {
    const verifier = verifying();
    const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
    const body = eventOfSize(LIMIT);
    const old = verifier.verify({
      signature: signBody(body, secret),
      async body({ buffer }) {
        buffer.add(body.subarray(0, 10 * KIB));
        await more;
        buffer.add(body.subarray(10 * KIB));
        return complete({ buffer });
      },
    });
    // The rest of the newer body never comes.
    const young = verifier.verify({
      signature: WELL_FORMED,
      body: reads(eventOfSize(50 * KIB), async ({ late }) => ({ ended: await late })),
    });
    goOn();

    expect(await young).toMatchObject({
      status: 503,
      reason: 'body-no-room',
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) as string, Connection: 'close' },
    });
    expect(await reasonOf(old)).toBe('verified');
  });

  it('ends a reader that knows nothing of it, also one that does not listen', async () => {
    const verifier = verifying();
    const taking = verifier.verify({
      body: reads(eventOfSize(60 * KIB), () => delay(200, { ended: 'aborted' })),
      signature: WELL_FORMED,
    });
    const body: BodyReader = async () => ({ ended: 'complete', bytes: eventOfSize(60 * KIB) });
    const refused = (await verifier.verify({ body, signature: WELL_FORMED })) as ErrorOutcome;
    expect(refused).toMatchObject({ status: 503, reason: 'body-no-room' });
    await taking;
  });

  it('is held until a body is verified, while the secret is still to be had', async () => {
    const { promise: keys, resolve: bring } = Promise.withResolvers<string>();
    const verifier = verifying({ secret: () => keys });
    const body = eventOfSize(60 * KIB);
    const waiting = verifier.verify({ body, signature: signBody(body, secret) });
    await delay(0);
    expect(await reasonOf(verifier.verify({ body, signature: WELL_FORMED }))).toBe('body-no-room');
    bring(secret);
    expect(await reasonOf(waiting)).toBe('verified');
    expect(await largest(verifier)).toBe('verified');
  });

  it('is each verifier’s own', async () => {
    const [full, other] = [verifying({ deadlineMs: 100 }), verifying()];
    const filling = full.verify({ body: reads(eventOfSize(LIMIT), () => never), signature: WELL_FORMED });
    expect(await largest(full)).toBe('body-no-room');
    expect(await largest(other)).toBe('verified');
    await filling;
  });

  it('has to be enough for the largest body', () => {
    expect(() => verifying({ maxReadingBytes: LIMIT - 1 })).toThrow(ConfigurationError);
    expect(() => verifying({ maxReadingBytes: LIMIT - 1 })).toThrow(/maxReadingBytes must be at least maxBodyBytes/);
  });

  it('is 64 MiB unless set, or as much as the largest body', async () => {
    const { logger } = recordedLog();
    const MIB = KIB * KIB;
    const verifier = createVerifier({ secret, logger, deadlineMs: 500 });
    const body = eventOfSize(MIB);
    const waiting = Array.from({ length: 70 }, () =>
      reasonOf(verifier.verify({ body: reads(body, () => never), signature: WELL_FORMED })),
    );
    const reasons = await Promise.all(waiting);
    expect(reasons.map((reason) => reason === 'body-no-room')).toEqual([
      ...Array(56).fill(false),
      ...Array(14).fill(true),
    ]);

    const large = createVerifier({ secret, logger, maxBodyBytes: 65 * MIB });
    expect(await reasonOf(large.verify({ body: Buffer.alloc(65 * MIB), signature: WELL_FORMED }))).toBe(
      'signature-mismatch',
    );
  });
});
