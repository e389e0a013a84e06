import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Logger } from '../../src/host/logger.ts';
import type { Outcome } from '../../src/receive/outcome.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import { keySource, type SecretOption, type SecretProvider, type Secrets } from '../../src/signing/secrets.ts';
import { matchesSignature, signBody, type Secret, type SigningKey } from '../../src/signing/signature.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const body = new TextEncoder().encode('{"id":"evt_1"}');

describe('a secret given as a value', () => {
  it.each<[string, Secrets]>([
    ['a text', 'only'],
    ['bytes', new TextEncoder().encode('only')],
    ['a list', ['only', 'other']],
  ])('is ready at once and never changes: %s', async (_, secret) => {
    const source = keySource(secret, failOn);
    expect(accepts(source.current(), 'only')).toBe(true);
    expect(accepts(source.current(), 'third')).toBe(false);
    expect(await source.afterMismatch()).toBeNull();
  });

  it('is copied: changing the bytes afterwards changes nothing', () => {
    const bytes = new TextEncoder().encode('only');
    const source = keySource(bytes, failOn);
    bytes.fill(0);
    expect(accepts(source.current(), 'only')).toBe(true);
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
  ])('that is %s refuses to start and says how to set it', (_, secret) => {
    expect(() => keySource(secret as SecretOption, failOn)).toThrow(ConfigurationError);
    expect(() => keySource(secret as SecretOption, failOn)).toThrow(/secret is missing.*SIGNING_SECRET/);
  });
});

describe('a secret provider', () => {
  let time = 0;
  const now = (): number => time;

  beforeEach(() => {
    time = 1_000_000;
    // The 2 s limit of a call.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function providing(provider: SecretProvider) {
    const failures: string[] = [];
    const calls = vi.fn(provider);
    const source = keySource(calls, (message) => failures.push(message), now);
    return { source, calls, failures };
  }

  it('is called at start, before any delivery', async () => {
    const { calls } = providing(() => 'only');
    await settled();
    expect(calls).toHaveBeenCalledTimes(1);
  });

  it.each<[string, SecretProvider]>([
    ['a text', () => 'only'],
    ['bytes', () => Buffer.from('only')],
    ['a list', () => ['other', 'only']],
    ['a promise', async () => 'only'],
    ['a promise of a list', async () => ['other', 'only']],
  ])('may return %s', async (_, provider) => {
    const { source } = providing(provider);
    expect(accepts(await source.current(), 'only')).toBe(true);
    expect(accepts(await source.current(), 'third')).toBe(false);
  });

  it('answers synchronously once it has brought something, so that a delivery waits for nothing', async () => {
    const { source } = providing(async () => 'only');
    expect(source.current()).toBeInstanceOf(Promise);
    await source.current();
    expect(source.current()).toBeInstanceOf(Array);
    time += MINUTE;
    expect(source.current()).toBeInstanceOf(Array);
  });

  it('is called once a minute at most, however many deliveries come', async () => {
    const { source, calls } = providing(() => 'only');
    await source.current();
    for (const end = time + 10 * MINUTE; time < end; time += 250) {
      void source.current();
      await settled();
    }
    expect(calls).toHaveBeenCalledTimes(10);
    void source.current();
    await settled();
    expect(calls).toHaveBeenCalledTimes(11);
  });

  it('is called one call at a time, whoever waits for it', async () => {
    let open = 0;
    let most = 0;
    const { source, calls } = providing(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => {
        setTimeout(resolve, SECOND);
      });
      open -= 1;
      return 'only';
    });
    const waiting = [
      Promise.resolve(source.current()),
      source.afterMismatch(),
      Promise.resolve(source.current()),
      source.afterMismatch(),
    ];
    await vi.advanceTimersByTimeAsync(SECOND);
    const brought = await Promise.all(waiting);
    expect(brought.map((keys) => accepts(keys, 'only'))).toEqual([true, true, true, true]);
    expect(calls).toHaveBeenCalledTimes(1);

    time += MINUTE;
    const again = [
      Promise.resolve(source.current()),
      source.afterMismatch(),
      Promise.resolve(source.current()),
      source.afterMismatch(),
    ];
    await vi.advanceTimersByTimeAsync(SECOND);
    await Promise.all(again);
    expect(calls).toHaveBeenCalledTimes(2);
    expect(most).toBe(1);
  });

  it('picks a rotation up after a mismatch, without waiting for the minute', async () => {
    let secret = 'old';
    const { source, calls } = providing(() => secret);
    await source.current();
    secret = 'new';
    time += 5 * SECOND;
    expect(accepts(source.current(), 'new')).toBe(false);
    expect(accepts(await source.afterMismatch(), 'new')).toBe(true);
    expect(calls).toHaveBeenCalledTimes(2);
    expect(accepts(source.current(), 'new')).toBe(true);
    expect(accepts(source.current(), 'old')).toBe(false);
  });

  it('picks a rotation up within a minute when nothing mismatches', async () => {
    let secret: Secret[] = ['old'];
    const { source } = providing(() => secret);
    await source.current();
    secret = ['old', 'new'];
    time += MINUTE;
    void source.current();
    await settled();
    expect(accepts(source.current(), 'new')).toBe(true);
    expect(accepts(source.current(), 'old')).toBe(true);
  });

  it('is asked again after a mismatch every 5 s at most', async () => {
    const { source, calls } = providing(() => 'only');
    await source.current();
    time += 5 * SECOND - 1;
    expect(await source.afterMismatch()).toBeNull();
    expect(calls).toHaveBeenCalledTimes(1);
    time += 1;
    expect(await source.afterMismatch()).not.toBeNull();
    expect(calls).toHaveBeenCalledTimes(2);
    expect(await source.afterMismatch()).toBeNull();
    expect(calls).toHaveBeenCalledTimes(2);
  });

  it('starts the minute anew after a mismatch', async () => {
    const { source, calls } = providing(() => 'only');
    await source.current();
    time += 50 * SECOND;
    await source.afterMismatch();
    time += MINUTE - 1;
    void source.current();
    await settled();
    expect(calls).toHaveBeenCalledTimes(2);
    time += 1;
    void source.current();
    await settled();
    expect(calls).toHaveBeenCalledTimes(3);
  });

  it('has 2 s for an answer, and a later one is not used', async () => {
    let answer: (secret: string) => void = () => {};
    const { source, failures } = providing(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        }),
    );
    const first = source.current();
    await vi.advanceTimersByTimeAsync(2 * SECOND - 1);
    expect(failures).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toBeNull();
    expect(failures).toEqual([expect.stringMatching(/2000 ms/)]);
    answer('late');
    await settled();
    expect(source.current()).toBeNull();
  });

  it('leaves no timer behind that would keep the process alive', async () => {
    const { source } = providing(() => 'only');
    await source.current();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, SecretProvider]>([
    [
      'throws',
      () => {
        throw new Error('vault is sealed');
      },
    ],
    ['rejects', () => Promise.reject(new Error('vault is sealed'))],
    ['never answers', () => new Promise<string>(() => {})],
    ['brings an empty secret', () => ''],
    ['brings the word undefined', async () => String(undefined)],
  ])('that %s at start brings no keys, says so, and is asked again 5 s later', async (_, failing) => {
    let provider = failing;
    const { source, calls, failures } = providing(() => provider());
    const first = source.current();
    await vi.advanceTimersByTimeAsync(2 * SECOND);
    expect(await first).toBeNull();
    expect(failures).toHaveLength(1);
    time += 5 * SECOND - 1;
    expect(source.current()).toBeNull();
    expect(calls).toHaveBeenCalledTimes(1);
    provider = () => 'only';
    time += 1;
    expect(accepts(await source.current(), 'only')).toBe(true);
    expect(failures).toHaveLength(1);
  });

  it('is asked every 5 s and no more often while there is no key at all, however many deliveries come', async () => {
    const { source, calls, failures } = providing(() => Promise.reject(new Error('vault is sealed')));
    await source.current();
    for (const end = time + MINUTE; time < end; time += 100) {
      for (let each = 0; each < 3; each += 1) void source.current();
      await settled();
    }
    expect(calls).toHaveBeenCalledTimes(12);
    expect(failures).toHaveLength(12);
  });

  it('is asked one call at a time also while it hangs and there is no key at all', async () => {
    let open = 0;
    let most = 0;
    const { source, calls } = providing(async () => {
      open += 1;
      most = Math.max(most, open);
      // Longer than it is waited for, and shorter than the 5 s.
      await new Promise((resolve) => {
        setTimeout(resolve, 4 * SECOND);
      });
      open -= 1;
      return 'only';
    });
    for (const end = time + 20 * SECOND; time < end; time += 100) {
      void source.current();
      void source.afterMismatch();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(calls).toHaveBeenCalledTimes(4);
    expect(most).toBe(1);
  });

  it('is asked again every 5 s once its last good value is too old, and until then once a minute', async () => {
    let failing = false;
    const { source, calls } = providing(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    await source.current();
    failing = true;
    const ask = async (forMs: number): Promise<number> => {
      const before = calls.mock.calls.length;
      for (const end = time + forMs; time < end;) {
        time += SECOND;
        void source.current();
        await settled();
      }
      return calls.mock.calls.length - before;
    };
    expect(await ask(HOUR)).toBe(60);
    expect(await ask(MINUTE)).toBe(12);
    failing = false;
    expect(await ask(5 * SECOND)).toBe(1);
    expect(accepts(source.current(), 'only')).toBe(true);
    expect(await ask(MINUTE)).toBe(1);
  });

  it('that fails later leaves its last good value in use for an hour, and nothing after it', async () => {
    let failing = false;
    const { source, failures } = providing(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    await source.current();
    failing = true;
    const fetchedAt = time;
    while (time < fetchedAt + HOUR) {
      expect(accepts(source.current(), 'only')).toBe(true);
      await settled();
      time += MINUTE;
    }
    expect(failures).toHaveLength(59);
    time = fetchedAt + HOUR;
    expect(accepts(await source.current(), 'only')).toBe(true);
    time = fetchedAt + HOUR + 1;
    expect(await source.current()).toBeNull();

    failing = false;
    time += MINUTE;
    expect(accepts(await source.current(), 'only')).toBe(true);
  });

  it('serves its last good value for an hour even when nobody asked in between', async () => {
    let failing = false;
    const { source } = providing(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    await source.current();
    failing = true;
    time += HOUR;
    expect(accepts(source.current(), 'only')).toBe(true);
    await settled();
    time += 1;
    expect(source.current()).toBeNull();
  });

  it('is waited for again after hours without a delivery, rather than trusting what is too old', async () => {
    let secret = 'old';
    const { source } = providing(() => secret);
    await source.current();
    secret = 'new';
    time += 2 * HOUR;
    const keys = await source.current();
    expect(accepts(keys, 'new')).toBe(true);
    expect(accepts(keys, 'old')).toBe(false);
  });

  it('that fails after a mismatch brings nothing new, and the last good value stays', async () => {
    let failing = false;
    const { source, failures } = providing(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    await source.current();
    failing = true;
    time += 5 * SECOND;
    expect(await source.afterMismatch()).toBeNull();
    expect(failures).toHaveLength(1);
    expect(accepts(source.current(), 'only')).toBe(true);
  });

  const UNUSABLE: readonly (readonly [string, unknown, RegExp])[] = [
    ['the empty text', '', /empty/],
    ['undefined', undefined, /undefined/],
    ['null', null, /null/],
    ['a space', ' ', /empty/],
    ['the word undefined', 'undefined', /undefined/],
    ['no bytes', new Uint8Array(), /empty/],
    ['an empty list', [], /empty/],
    ['a list with an empty text', ['the-good-secret', ''], /\[1\]/],
    ['a number', 4711, /number/],
  ];

  it.each(UNUSABLE)('that returns %s is reported, and nothing of it is used', async (_, value, why) => {
    let secret: unknown = 'only';
    const { source, failures } = providing(() => secret as string);
    await source.current();
    secret = value;
    time += MINUTE;
    void source.current();
    await settled();
    expect(failures).toEqual([expect.stringMatching(why)]);
    expect(accepts(source.current(), 'only')).toBe(true);
    expect(accepts(source.current(), 'the-good-secret')).toBe(false);
    expect(matchesSignature(body, guessable(''), keysOf(source.current()))).toBe(false);
    expect(matchesSignature(body, guessable(String(value)), keysOf(source.current()))).toBe(false);
  });

  it.each(UNUSABLE)('that returns %s at start brings no keys at all', async (_, value, why) => {
    const { source, failures } = providing(() => value as string);
    expect(await source.current()).toBeNull();
    expect(failures).toEqual([expect.stringMatching(why)]);
  });

  it('never has the secret repeated in what is reported of an unusable value', async () => {
    const { failures } = providing(() => ['the-good-secret', '']);
    await settled();
    expect(failures).toHaveLength(1);
    expect(failures.join()).not.toContain('the-good-secret');
  });

  it('never has the secret repeated when it fails to read one: JSON.parse quotes what it was given', async () => {
    const { failures } = providing(() => JSON.parse('hunter2-4711') as string);
    await settled();
    expect(failures).toHaveLength(1);
    expect(failures.join()).not.toContain('hunter2');
  });

  it('may throw anything, even what has no text', async () => {
    const { source, failures } = providing(() => Promise.reject(Object.create(null)));
    expect(await source.current()).toBeNull();
    expect(failures).toHaveLength(1);
  });
});

describe('a receiver with a secret provider', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const event = (id: string): Uint8Array =>
    new TextEncoder().encode(`{"id":"${id}","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{}}`);
  let ids = 0;

  function deliver(receiver: Receiver, secret: string): Promise<Outcome> {
    const body = event(`evt_${(ids += 1)}`);
    return receiver.receive({ body, signature: signBody(body, secret) });
  }

  function receiving(provider: SecretProvider, deadlineMs?: number) {
    const lines: string[] = [];
    const write: Logger['error'] = (facts, message) => void lines.push(`${message} ${JSON.stringify(facts)}`);
    const calls = vi.fn(provider);
    const receiver = createReceiver({
      secret: calls,
      inbox: memoryInbox(),
      logger: { info: write, warn: write, error: write },
      ...(deadlineMs !== undefined && { deadlineMs }),
    });
    return { receiver, calls, lines };
  }

  it('stores the first delivery after a rotation, through the refresh that its mismatch asks for', async () => {
    let secret = 'old';
    const { receiver, calls } = receiving(() => secret);
    expect(await deliver(receiver, 'old')).toMatchObject({ kind: 'stored', status: 200 });
    secret = 'new';
    await vi.advanceTimersByTimeAsync(5 * SECOND);
    expect(await deliver(receiver, 'new')).toMatchObject({ kind: 'stored', status: 200 });
    expect(calls).toHaveBeenCalledTimes(2);
    expect(await deliver(receiver, 'old')).toMatchObject({ status: 401, reason: 'signature-mismatch' });
  });

  it('asks once more at most in a flood of 1,000 forged deliveries within 5 s', async () => {
    const { receiver, calls } = receiving(() => 'only');
    await vi.advanceTimersByTimeAsync(10 * SECOND);
    expect(calls).toHaveBeenCalledTimes(1);
    const outcomes: Promise<Outcome>[] = [];
    for (let sent = 0; sent < 1_000; sent += 1) {
      outcomes.push(deliver(receiver, 'forged'));
      if (sent % 10 === 9) await vi.advanceTimersByTimeAsync(49);
    }
    const answered = await Promise.all(outcomes);
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([401]));
    expect(calls).toHaveBeenCalledTimes(2);
  });

  it('does not ask at all for a delivery whose signature is missing or malformed', async () => {
    const { receiver, calls } = receiving(() => 'only');
    await vi.advanceTimersByTimeAsync(10 * SECOND);
    expect(await receiver.receive({ body, signature: null })).toMatchObject({ status: 401 });
    expect(await receiver.receive({ body, signature: 'sha256=' })).toMatchObject({ status: 401 });
    expect(calls).toHaveBeenCalledTimes(1);
  });

  it('answers 503 and not 401 when the provider throws at start, and recovers', async () => {
    let failing = true;
    const { receiver, lines } = receiving(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    expect(await deliver(receiver, 'only')).toMatchObject({ kind: 'unavailable', status: 503, reason: 'no-secret' });
    expect(await deliver(receiver, 'forged')).toMatchObject({ kind: 'unavailable', status: 503, reason: 'no-secret' });
    expect(lines.filter((line) => line.includes('secret provider'))).toHaveLength(1);
    failing = false;
    vi.setSystemTime(Date.now() - 24 * HOUR); // the clock of the wall says nothing here
    await vi.advanceTimersByTimeAsync(5 * SECOND);
    expect(await deliver(receiver, 'only')).toMatchObject({ kind: 'stored', status: 200 });
    expect(await deliver(receiver, 'forged')).toMatchObject({ kind: 'rejected', status: 401 });
  });

  it('holds deliveries back while the first call is under way, and stores them once it has answered', async () => {
    const { receiver } = receiving(
      () =>
        new Promise((resolve) => {
          setTimeout(() => resolve('only'), 1_999);
        }),
    );
    const early = Promise.all([deliver(receiver, 'only'), deliver(receiver, 'forged')]);
    await vi.advanceTimersByTimeAsync(1_999);
    expect((await early).map(({ status }) => status)).toEqual([200, 401]);
  });

  it('answers 503 after 2 s when the provider hangs', async () => {
    const { receiver } = receiving(() => new Promise<string>(() => {}));
    const answered = vi.fn<(outcome: Outcome) => void>();
    const done = deliver(receiver, 'only').then(answered);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(answered).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(answered).toHaveBeenCalledWith(expect.objectContaining({ status: 503, reason: 'no-secret' }));
  });

  it('answers 503 at the deadline when that comes before the 2 s', async () => {
    const { receiver } = receiving(() => new Promise<string>(() => {}), 500);
    const answered = vi.fn<(outcome: Outcome) => void>();
    const done = deliver(receiver, 'only').then(answered);
    await vi.advanceTimersByTimeAsync(501);
    await done;
    expect(answered).toHaveBeenCalledWith(expect.objectContaining({ status: 503, reason: 'no-secret' }));
  });

  it('answers 503 at the deadline, not 401, when the refresh after a mismatch hangs', async () => {
    let hanging = false;
    const { receiver } = receiving(() => (hanging ? new Promise<string>(() => {}) : 'old'), 500);
    expect(await deliver(receiver, 'old')).toMatchObject({ kind: 'stored' });
    hanging = true;
    await vi.advanceTimersByTimeAsync(5 * SECOND);
    const answer = deliver(receiver, 'new');
    await vi.advanceTimersByTimeAsync(501);
    expect(await answer).toMatchObject({ status: 503, reason: 'no-secret' });
  });

  it('takes deliveries for an hour on the last good value, then answers 503 and never 401', async () => {
    let failing = false;
    const { receiver } = receiving(() => {
      if (failing) throw new Error('vault is sealed');
      return 'only';
    });
    expect(await deliver(receiver, 'only')).toMatchObject({ kind: 'stored' });
    failing = true;
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(await deliver(receiver, 'only')).toMatchObject({ kind: 'stored' });
    await vi.advanceTimersByTimeAsync(1);
    expect(await deliver(receiver, 'only')).toMatchObject({ status: 503, reason: 'no-secret' });
    expect(await deliver(receiver, 'forged')).toMatchObject({ status: 503, reason: 'no-secret' });
    failing = false;
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(await deliver(receiver, 'only')).toMatchObject({ kind: 'stored' });
  });

  it('never logs a secret, whatever the provider does', async () => {
    const values: readonly unknown[] = ['the-good-secret', ['the-good-secret', ''], '', undefined, 'the-next-secret'];
    let turn = 0;
    const { receiver, lines } = receiving(() => values[turn] as string);
    for (; turn < values.length; turn += 1) {
      await deliver(receiver, 'the-good-secret');
      await deliver(receiver, 'forged');
      await vi.advanceTimersByTimeAsync(MINUTE);
    }
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(lines.join('\n')).not.toMatch(/the-(good|next)-secret/);
  });
});

function failOn(message: string): never {
  throw new Error(`no provider was given, yet it failed: ${message}`);
}

function keysOf(current: unknown): readonly SigningKey[] {
  if (!Array.isArray(current)) throw new Error('keys were expected at once');
  return current as readonly SigningKey[];
}

function accepts(current: unknown, secret: string): boolean {
  return matchesSignature(body, signBody(body, secret), keysOf(current));
}

/** What anybody could compute who guesses that a variable was not set. */
function guessable(secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Lets everything run that waits for nothing but its turn. */
async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
