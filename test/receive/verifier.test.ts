import { gzipSync } from 'node:zlib';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeadline, type HostLimits } from '../../src/host/host-limits.ts';
import type { BodyLimits, BodyRead, Delivery } from '../../src/receive/delivery.ts';
import { ConfigurationError } from '../../src/errors.ts';
import { type Reason, type ErrorOutcome, isErrorOutcome } from '../../src/receive/outcome.ts';
import { signBody } from '../../src/signing/signature.ts';
import { ANYTHING_THROWN } from '../helpers/anything-thrown.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { createVerifier, type VerifiedDelivery, type VerifierOptions } from '../../src/receive/verifier.ts';

const secret = 'the-secret-4711';
const utf8 = new TextEncoder();
const ready = utf8.encode(
  '{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":30.050}}',
);

const { logger, lines, forget } = recordedLog();
beforeEach(forget);

function verify(delivery: Delivery, options: VerifierOptions = {}): Promise<VerifiedDelivery | ErrorOutcome> {
  return createVerifier({ secret, logger, ...options }).verify(delivery);
}

function signed(body: Uint8Array): Delivery {
  return { body, signature: signBody(body, secret) };
}

async function verified(delivery: Delivery, options?: VerifierOptions): Promise<VerifiedDelivery> {
  const result = await verify(delivery, options);
  if (isErrorOutcome(result)) throw new Error(`refused: ${result.reason}`);
  return result;
}

async function reasonOf(delivery: Delivery, options?: VerifierOptions): Promise<Reason | null> {
  const result = await verify(delivery, options);
  return isErrorOutcome(result) ? result.reason : null;
}

describe('what goes through', () => {
  it('is an authentic delivery, with its bytes, its id and its typed event', async () => {
    const result = await verified(signed(ready));
    expect(result).toMatchObject({
      verified: true,
      id: 'evt_1',
      event: { type: 'order.ready', data: { total: 30.05 } },
    });
    expect(result.body).toEqual(ready);
    expect(result.body.buffer).not.toBe(ready.buffer);
    expect(result.facts).toEqual({ type: 'order.ready', created: { ms: Date.UTC(2026, 2, 14, 8, 22, 30), ns: 0 } });
    expect(lines).toEqual([]);
  });

  it('may be of a type that hookbox does not know', async () => {
    const body = utf8.encode('{"id":"evt_1","type":"order.refunded","created":"2026-03-14T08:22:30Z","data":{}}');
    expect(await verified(signed(body))).toMatchObject({ id: 'evt_1', event: { type: 'order.refunded' } });
  });

  it('may be invalid, and then has type null and its issues', async () => {
    const body = utf8.encode(
      '{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":"30"}}',
    );
    const result = await verified(signed(body));
    expect(result.event).toEqual({
      id: 'evt_1',
      type: null,
      issues: [{ path: 'data.total', message: expect.any(String) }],
    });
    expect(result.facts).toEqual({ type: 'order.ready', created: null });
  });

  it('may be signed with either secret of a rotation', async () => {
    const body = ready;
    for (const signer of ['new', 'old']) {
      const delivery = { body, signature: signBody(body, signer) };
      expect(await reasonOf(delivery, { secret: ['new', 'old'] })).toBeNull();
    }
  });

  it.each([undefined, 'POST'])('has the method %s', async (method) => {
    expect(await reasonOf({ ...signed(ready), method })).toBeNull();
  });

  it.each([undefined, null, '', 'identity', ' Identity ', 'utf-8', 'gzip', 'identity, gzip'])(
    'has the content encoding %j',
    async (contentEncoding) => {
      expect(await reasonOf({ ...signed(ready), contentEncoding })).toBeNull();
    },
  );
});

/** docs/signature-does-not-match.md */
const CHANGES: readonly (readonly [how: string, change: (body: string) => Uint8Array])[] = [
  ['parsed and written again', (body) => Buffer.from(JSON.stringify(JSON.parse(body)))],
  ['a byte order mark', (body) => Buffer.from(`\uFEFF${body}`)],
  ['CRLF at its end', (body) => Buffer.from(`${body}\r\n`)],
  ['base64 of the body', (body) => Buffer.from(Buffer.from(body).toString('base64'))],
  ['characters in latin1', (body) => Buffer.from(body.replace('evt', 'é'), 'latin1')],
];

describe('what is refused', () => {
  const cases: readonly (readonly [string, Reason, Delivery])[] = [
    ['no signature', 'signature-missing', { body: ready, signature: undefined }],
    ['a null signature', 'signature-missing', { body: ready, signature: null }],
    ['an empty signature', 'signature-missing', { body: ready, signature: '' }],
    ['a prefix', 'signature-malformed', { body: ready, signature: `sha256=${signBody(ready, secret)}` }],
    ['upper case', 'signature-malformed', { body: ready, signature: signBody(ready, secret).toUpperCase() }],
    [
      'the header twice',
      'signature-malformed',
      { body: ready, signature: `${signBody(ready, secret)}, ${signBody(ready, secret)}` },
    ],
    ['a space', 'signature-malformed', { body: ready, signature: `${signBody(ready, secret)} ` }],
    [
      'base64 of it',
      'signature-malformed',
      { body: ready, signature: Buffer.from(signBody(ready, secret), 'hex').toString('base64') },
    ],
    ['another secret', 'signature-mismatch', { body: ready, signature: signBody(ready, 'another') }],
    ['a newline after the secret', 'signature-mismatch', { body: ready, signature: signBody(ready, `${secret}\n`) }],
    ['quotes around the secret', 'signature-mismatch', { body: ready, signature: signBody(ready, `"${secret}"`) }],
    ...CHANGES.map(
      ([how, change]) =>
        [how, 'signature-mismatch', { ...signed(ready), body: change(Buffer.from(ready).toString()) }] as const,
    ),
    ['another body', 'signature-mismatch', { body: ready, signature: signBody('{}', secret) }],
    ['a method other than POST', 'method-not-allowed', { ...signed(ready), method: 'GET' }],
    ['a method in lower case', 'method-not-allowed', { ...signed(ready), method: 'post' }],
    ['gzip', 'encoding-unsupported', { ...signed(gzipSync(ready)), contentEncoding: 'gzip' }],
    ['gzip twice', 'encoding-unsupported', { ...signed(gzipSync(ready)), contentEncoding: 'identity, gzip' }],
    [
      'gzip of what was signed',
      'signature-mismatch',
      { ...signed(ready), body: gzipSync(ready), contentEncoding: 'gzip' },
    ],
    ['an empty body', 'not-an-event', signed(new Uint8Array())],
    ['what is not UTF-8', 'not-an-event', signed(Uint8Array.of(0x7b, 0xff, 0x7d))],
    ['what is not JSON', 'not-an-event', signed(utf8.encode('{"id":"evt_1"'))],
    ['what is not an object', 'not-an-event', signed(utf8.encode('["evt_1"]'))],
    ['what has no id', 'not-an-event', signed(utf8.encode('{"type":"order.ready"}'))],
  ];

  it.each(cases)('%s: %s', async (_, reason, delivery) => {
    expect(await reasonOf(delivery)).toBe(reason);
  });

  it('says of a body that is no event what is wrong with it, as details', async () => {
    expect(await verify(signed(utf8.encode('{"id":""}')))).toMatchObject({
      status: 400,
      body: {
        error: { code: 'INVALID_BODY', details: [{ field: 'id', message: expect.stringMatching(/^id must be/) }] },
      },
    });
    expect(await verify(signed(utf8.encode('nonsense')))).toMatchObject({
      body: { error: { details: [{ field: '', message: 'the body is not valid JSON' }] } },
    });
  });

  it('is refused for its signature before anything is decoded: what is not authentic learns nothing about its body', async () => {
    const body = utf8.encode('{"id":');
    const result = await verify({ body, signature: signBody(body, 'another') });
    expect(result).toMatchObject({ status: 401, reason: 'signature-mismatch' });
    expect(result.body).not.toHaveProperty('error.details');
  });

  it('is refused for what its head says before the body is read: method, encoding, the form of the signature', async () => {
    const body = vi.fn(async (): Promise<BodyRead> => ({ ended: 'complete', bytes: ready }));
    await verify({ body, signature: null, method: 'PUT' });
    await verify({ body, signature: null, contentEncoding: 'br' });
    for (const signature of [undefined, null, '', 'sha256=0', signBody(ready, secret).toUpperCase()]) {
      const result = await verify({ body, signature });
      expect(result).toMatchObject({ status: 401 });
    }
    expect(body).not.toHaveBeenCalled();
  });

  it('is refused in one order, whatever else is wrong with it', async () => {
    const wrong: Delivery = { body: new Uint8Array(101), signature: 'none', method: 'PUT', contentEncoding: 'br' };
    const reason = (mended: Partial<Delivery>): Promise<Reason | null> =>
      reasonOf({ ...wrong, ...mended }, { maxBodyBytes: 100 });
    expect(await reason({})).toBe('method-not-allowed');
    const plain = { method: 'POST' };
    expect(await reason(plain)).toBe('signature-malformed');
    expect(await reason({ ...plain, signature: null })).toBe('signature-missing');
    const signature = signBody('{}', secret);
    expect(await reason({ ...plain, signature })).toBe('body-too-large');
    expect(await reason({ ...plain, signature, body: utf8.encode('[') })).toBe('signature-mismatch');
    expect(await reason({ ...plain, ...signed(utf8.encode('[')) })).toBe('encoding-unsupported');
    expect(await reason({ ...plain, ...signed(utf8.encode('[')), contentEncoding: null })).toBe('not-an-event');
  });

  it.each(['signature-missing', 'signature-malformed'] as const)(
    'keeps nothing of a body whose delivery is refused with %s, for operators neither',
    async (reason) => {
      const verifier = createVerifier({ secret, logger });
      const signature = reason === 'signature-missing' ? null : 'none';
      const refused = (await verifier.verify({ body: ready, signature })) as ErrorOutcome;
      expect(refused.reason).toBe(reason);
      expect(verifier.bodyOf(refused)).toBeNull();
    },
  );
});

describe('the body of a refused delivery', () => {
  it('is known beside its refusal, and no answer and no log shows it', async () => {
    const verifier = createVerifier({ secret, logger });
    const body = utf8.encode('{"id":"evt_1","note":"do not show me"}');
    const refused = (await verifier.verify({ body, signature: '0'.repeat(64) })) as ErrorOutcome;
    expect(refused.reason).toBe('signature-mismatch');
    expect(verifier.bodyOf(refused)).toEqual(body);
    expect(Reflect.ownKeys({ ...refused })).toEqual(['kind', 'status', 'code', 'reason', 'headers', 'body']);
    expect(inspect([refused, lines], { depth: 9 })).not.toMatch(/do not show me|Uint8Array/);
  });
});

describe('the size of a body', () => {
  const padded = (bytes: number): Uint8Array => utf8.encode(`{"id":"evt_1"${' '.repeat(bytes - 14)}}`);

  it('may be exactly maxBodyBytes and no byte more', async () => {
    expect(await reasonOf(signed(padded(100)), { maxBodyBytes: 100 })).toBeNull();
    expect(await reasonOf(signed(padded(101)), { maxBodyBytes: 100 })).toBe('body-too-large');
  });

  it('may be 1 MiB unless set', async () => {
    expect(await reasonOf(signed(padded(1_048_576)))).toBeNull();
    expect(await reasonOf(signed(padded(1_048_577)))).toBe('body-too-large');
  });

  it('counts bytes, not characters', async () => {
    const body = utf8.encode('{"id":"ééé"}');
    expect(body.byteLength).toBe(15);
    expect(await reasonOf(signed(body), { maxBodyBytes: 14 })).toBe('body-too-large');
  });
});

describe('a body reader', () => {
  it('is told the limit of this receiver', async () => {
    const limits: BodyLimits[] = [];
    const body = async (given: BodyLimits): Promise<BodyRead> => {
      limits.push(given);
      return { ended: 'complete', bytes: ready };
    };
    await verified({ body, signature: signBody(ready, secret) }, { maxBodyBytes: 1_000 });
    expect(limits).toMatchObject([{ maxBytes: 1_000 }]);
  });

  it('is told when the time is up, by the deadline it is given or by deadlineMs', async () => {
    const waiting = async ({ late }: BodyLimits): Promise<BodyRead> => {
      await late;
      return { ended: 'too-slow' };
    };
    const signature = signBody(ready, secret);
    const start = performance.now();
    const verifier = createVerifier({ secret, logger, deadlineMs: 50 });
    expect(await verifier.verify({ body: waiting, signature })).toMatchObject({ reason: 'body-too-slow' });
    expect(performance.now() - start).toBeGreaterThanOrEqual(45);

    const patient = createVerifier({ secret, logger, deadlineMs: 60_000 });
    const result = await patient.verify({ body: waiting, signature }, startDeadline(10));
    expect(result).toMatchObject({ reason: 'body-too-slow' });
  });

  it.each([
    ['too-large', 'body-too-large', 413],
    ['too-slow', 'body-too-slow', 503],
    ['aborted', 'body-incomplete', 400],
    ['consumed', 'body-consumed', 500],
  ] as const)('that ended %s gives %s, answered %i', async (ended, reason, status) => {
    const result = await verify({ body: async () => ({ ended }), signature: signBody(ready, secret) });
    expect(result).toMatchObject({ reason, status });
  });

  it('brings the bytes that are verified', async () => {
    const tampered = utf8.encode('{"id":"evt_2"}');
    const body = async (): Promise<BodyRead> => ({ ended: 'complete', bytes: tampered });
    expect(await reasonOf({ body, signature: signBody(ready, secret) })).toBe('signature-mismatch');
    expect(await verified({ body, signature: signBody(tampered, secret) })).toMatchObject({ id: 'evt_2' });
  });
});

describe('unsafeUnsigned', () => {
  const options = { secret: undefined, unsafeUnsigned: true };

  it.each([undefined, null, '', 'whatever', '0'.repeat(64)])(
    'lets any signature through, unverified: %j',
    async (signature) => {
      expect(await verified({ body: ready, signature }, options)).toMatchObject({ id: 'evt_1', verified: false });
    },
  );

  it('still refuses what is no event', async () => {
    expect(await reasonOf({ body: utf8.encode('[]'), signature: null }, options)).toBe('not-an-event');
  });

  it.each([
    ['a secret', secret],
    ['a list of secrets', [secret]],
    ['a provider', () => secret],
    ['null', null],
    ['', ''],
  ])('does not go together with %s', (_, secret) => {
    expect(() => createVerifier({ secret: secret as string, unsafeUnsigned: true })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('not both') }),
    );
  });

  it.each([
    [false, 'UNUSABLE_SECRET'],
    ['true', 'INVALID_OPTION'],
    [1, 'INVALID_OPTION'],
    [{}, 'INVALID_OPTION'],
  ])('is switched on by true alone, not by %j', (unsafeUnsigned, code) => {
    expect(() => createVerifier({ unsafeUnsigned: unsafeUnsigned as boolean })).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

function msUntilDeadline(options: Partial<VerifierOptions>, host: HostLimits = {}): number {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  try {
    const deadline = createVerifier({ secret, ...options }).startDeadline({ host });
    deadline.met();
    return deadline.at - performance.now();
  } finally {
    vi.useRealTimers();
  }
}

describe('limits', () => {
  it('have defaults', () => {
    expect(msUntilDeadline({})).toBe(9_000);
    expect(msUntilDeadline({ deadlineMs: 100 })).toBe(100);
  });

  it('are lower where the host allows less, and never below zero', () => {
    expect(msUntilDeadline({}, { remainingMs: 3_000 })).toBe(3_000);
    expect(msUntilDeadline({}, { remainingMs: 60_000 })).toBe(9_000);
    expect(msUntilDeadline({}, { remainingMs: -200 })).toBe(0);
  });

  const bad = [0, -1, Number.NaN, Infinity, -Infinity, '100', true, {}, 10n];

  it.each(['maxBodyBytes', 'maxReadingBytes', 'deadlineMs'] as const)(
    'that cannot work are refused by name: %s',
    (name) => {
      for (const value of bad) {
        expect(() => createVerifier({ secret, [name]: value as number })).toThrow(ConfigurationError);
        expect(() => createVerifier({ secret, [name]: value as number })).toThrow(
          expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(name) }),
        );
      }
    },
  );

  it('leave no timer behind that would keep the process alive', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await verify(signed(ready));
      await verify({ body: ready, signature: null });
      await expect(verify({ body: 'text' as unknown as Uint8Array, signature: null })).rejects.toThrow(/raw body/);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that no timer can hold are refused too: a timer of more than 2^31 - 1 ms fires at once', () => {
    expect(() => createVerifier({ secret, deadlineMs: 2 ** 31 - 1 })).not.toThrow();
    expect(() => createVerifier({ secret, deadlineMs: 2 ** 31 })).toThrow(ConfigurationError);
  });
});

describe('what is reported', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const verifier = () => createVerifier({ secret, logger });

  it('is a warning for what was rejected, under the request id of the answer', () => {
    const outcome = verifier().reject('signature-mismatch');
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'delivery rejected',
        facts: {
          reason: 'signature-mismatch',
          status: 401,
          requestId: outcome.body.error.request_id,
          suppressed: 0,
          hint: outcome.body.error.message,
        },
      },
    ]);
  });

  it('is an error with its cause for what could not be stored; the answer does not have the cause', () => {
    const outcome = verifier().reject('inbox-failing', { cause: new Error('disk full') });
    expect(lines).toEqual([
      {
        level: 'error',
        message: 'delivery not stored',
        facts: {
          reason: 'inbox-failing',
          status: 503,
          requestId: outcome.body.error.request_id,
          suppressed: 0,
          hint: outcome.body.error.message,
          cause: 'disk full',
        },
      },
    ]);
    expect(JSON.stringify(outcome)).not.toContain('disk full');
  });

  it('has no cause where there is none', () => {
    verifier().reject('overloaded');
    expect(lines[0]?.facts).not.toHaveProperty('cause');
  });

  it('is nothing when the client went away', () => {
    verifier().reject('body-incomplete');
    expect(lines).toEqual([]);
  });

  it('is one line in ten seconds for each reason, with the number left out', () => {
    const flooded = verifier();
    for (let count = 0; count < 1_000; count += 1) flooded.reject('signature-mismatch');
    flooded.reject('signature-missing');
    expect(lines.map(({ facts }) => [facts['reason'], facts['suppressed']])).toEqual([
      ['signature-mismatch', 0],
      ['signature-missing', 0],
    ]);
    vi.advanceTimersByTime(10_000);
    flooded.reject('signature-mismatch');
    expect(lines.at(-1)?.facts).toMatchObject({ reason: 'signature-mismatch', suppressed: 999 });
  });

  it.each(ANYTHING_THROWN)('may have as its cause anything that can be thrown: %s', (_, cause) => {
    expect(verifier().reject('internal', { cause })).toMatchObject({ reason: 'internal', status: 503 });
    expect(lines).toHaveLength(1);
  });

  it('is an error when the secret provider fails', async () => {
    createVerifier({
      secret: () => {
        throw new Error('vault is sealed');
      },
      logger,
    });
    await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000 });
    expect(lines[0]).toMatchObject({ level: 'error', message: expect.stringContaining('secret provider') });
  });

  it('goes to the console unless a logger is given', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    createVerifier({ secret }).reject('signature-missing');
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/^hookbox: .*signature-missing/));
    warn.mockRestore();
  });
});
