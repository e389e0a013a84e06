import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Fault } from '../../src/sender/faults.ts';
import { realClock, virtualClock } from '../../src/sender/sender-clock.ts';
import { createService, type DeliveryAttempt, type Service, type ServiceOptions } from '../../src/sender/service.ts';
import { signBody, verifySignature } from '../../src/signing/signature.ts';
import { endpoint, eventBody, nobody, SECRET } from './endpoint.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const SECOND_MS = 1_000;
/** Seconds (interface 6.4). */
const DUE_S = [0, 0, 300, 1_200, 4_800, 26_400, 112_800];

function service(url: string, options: Partial<ServiceOptions> = {}): Service {
  return createService({ url, secret: SECRET, clock: virtualClock(START), ...options });
}

function secondsOf(attempts: readonly DeliveryAttempt[]): readonly number[] {
  return attempts.map(({ at }) => (at.getTime() - START) / SECOND_MS);
}

/** The last one repeats. */
function inTurn(...statuses: readonly number[]): () => number {
  let next = 0;
  return () => statuses[Math.min(next++, statuses.length - 1)] ?? 500;
}

describe('the schedule', () => {
  it('is that of the interface, to the second, and ends in a dead letter after 31 h 20 min', async () => {
    await using to = await endpoint(() => 503);
    const seen: DeliveryAttempt[] = [];
    using sender = service(to.url, { onAttempt: (attempt) => seen.push(attempt) });
    const body = eventBody('evt_7', 'order.ready');
    const { outcome, attempts } = await sender.deliver(body);

    expect(outcome).toBe('dead-lettered');
    expect(secondsOf(attempts)).toEqual(DUE_S);
    expect(DUE_S.at(-1)).toBe(31 * 3_600 + 20 * 60);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(attempts.map(({ nextAt }) => nextAt && (nextAt.getTime() - START) / SECOND_MS)).toEqual([
      ...DUE_S.slice(1),
      null,
    ]);
    expect(attempts).toEqual(seen);
    expect(attempts[0]).toEqual({
      id: 'evt_7',
      type: 'order.ready',
      number: 1,
      at: new Date(START),
      outcome: 'failed',
      status: 503,
      why: 'answered 503',
      note: null,
      ms: expect.any(Number),
      fault: null,
      nextAt: new Date(START),
    });
    expect(to.arrived.every((arrived) => arrived.body.equals(body))).toBe(true);
    expect(to.arrived).toHaveLength(7);
    expect(sender.deadLetters).toMatchObject([{ id: 'evt_7', type: 'order.ready', body, attempts }]);
  });

  it.each([2, 3, 4, 5, 6, 7])('ends with success at attempt %d', async (successful) => {
    await using to = await endpoint(inTurn(...Array<number>(successful - 1).fill(500), 200));
    using sender = service(to.url);
    const { outcome, attempts } = await sender.deliver(eventBody());
    expect(outcome).toBe('delivered');
    expect(secondsOf(attempts)).toEqual(DUE_S.slice(0, successful));
    expect(attempts.at(-1)).toMatchObject({ outcome: 'delivered', status: 200, why: null, nextAt: null });
    expect(sender.deadLetters).toEqual([]);
  });

  it('begins when it is told to', async () => {
    await using to = await endpoint();
    using sender = service(to.url);
    const at = START + 3 * 3_600 * SECOND_MS;
    const [later, sooner] = await Promise.all([
      sender.deliver(eventBody('evt_1'), { at: new Date(at) }),
      sender.deliver(eventBody('evt_2'), { at: at - 1 }),
    ]);
    expect(later?.attempts[0]?.at.getTime()).toBe(at);
    expect(sooner?.attempts[0]?.at.getTime()).toBe(at - 1);
    expect(to.arrived.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)).toEqual([
      'evt_2',
      'evt_1',
    ]);
  });

  it('takes a real part of its time with a scaled clock', async () => {
    await using to = await endpoint(() => 500);
    using sender = service(to.url, { clock: realClock({ scale: 600_000, startAt: START }) });
    const startedAt = performance.now();
    const { outcome, attempts } = await sender.deliver(eventBody());
    expect(outcome).toBe('dead-lettered');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(112_800 / 600 - 5);
    for (const [n, seconds] of secondsOf(attempts).entries()) expect(seconds).toBeGreaterThanOrEqual(DUE_S[n] ?? 0);
  });
});

describe('success', () => {
  it.each([200, 201, 202, 204, 299])('is %d', async (status) => {
    await using to = await endpoint(() => status);
    using sender = service(to.url);
    expect(await sender.deliver(eventBody())).toMatchObject({
      outcome: 'delivered',
      attempts: [{ status, why: null }],
    });
  });

  it.each([300, 304, 308, 400, 401, 409, 410, 429, 500, 503])('is not %d', async (status) => {
    await using to = await endpoint(inTurn(status, 200));
    using sender = service(to.url);
    const { attempts } = await sender.deliver(eventBody());
    expect(attempts).toMatchObject([
      { outcome: 'failed', status },
      { outcome: 'delivered', status: 200 },
    ]);
    expect(attempts[0]?.why).toContain(`answered ${status}`);
  });

  it('is not an answer that comes too late', async () => {
    let requests = 0;
    await using to = await endpoint((_, response) => {
      requests += 1;
      if (requests > 1) return 200;
      return setTimeout(() => response.writeHead(200).end(), 300);
    });
    using sender = service(to.url, { timeoutMs: 100 });
    const { attempts } = await sender.deliver(eventBody());
    expect(attempts).toMatchObject([
      { outcome: 'failed', status: null, why: 'no answer within 0.1 s' },
      { outcome: 'delivered', status: 200 },
    ]);
    expect(attempts[0]?.ms).toBeGreaterThanOrEqual(95);
  });

  it('is a 2xx whose body never ends, with a note', async () => {
    await using to = await endpoint((_, response) => response.writeHead(200).write('{'));
    using sender = service(to.url, { timeoutMs: 100 });
    const note = 'the response body did not end within 0.1 s';
    expect(await sender.deliver(eventBody())).toMatchObject({
      outcome: 'delivered',
      attempts: [{ status: 200, why: null, note }],
    });
  });

  it('is not to be had on a kept connection that is reset, and each request is told of', async () => {
    let requests = 0;
    await using to = await endpoint((_, response) => {
      requests += 1;
      if (requests === 2) response.destroy();
      else response.writeHead(200).end();
    });
    using sender = service(to.url);
    await sender.deliver(eventBody('evt_1'));
    const { attempts } = await sender.deliver(eventBody('evt_2'));
    expect(attempts.map(({ status }) => status)).toEqual([null, 200]);
    expect(requests).toBe(3);
  });

  it('is not to be had while the receiver is unreachable, and nothing is sent', async () => {
    await using to = await endpoint();
    using sender = service(to.url, { reachable: (at) => at - START >= 3_600 * SECOND_MS });
    const { attempts } = await sender.deliver(eventBody());
    expect(attempts.map(({ why }) => why)).toEqual([...Array<string>(4).fill('the receiver is unreachable'), null]);
    expect(to.arrived).toHaveLength(1);
  });
});

describe('dead letters', () => {
  it('are delivered by hand, and are none then', async () => {
    await using to = await endpoint(inTurn(...Array<number>(8).fill(500), 200));
    using sender = service(to.url);
    await sender.deliver(eventBody());

    const [first] = sender.deadLetters;
    if (first === undefined) throw new Error('there is no dead letter');
    const again = await sender.retry(first);
    expect(again.outcome).toBe('dead-lettered');
    expect(again.attempts).toHaveLength(8);
    expect(again.attempts[7]).toMatchObject({ number: 8, status: 500, nextAt: null });

    const [second] = sender.deadLetters;
    if (second === undefined) throw new Error('it is no dead letter any more');
    const delivered = await sender.retry(second);
    expect(delivered).toMatchObject({ outcome: 'delivered' });
    expect(delivered.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(sender.deadLetters).toEqual([]);
    await expect(sender.retry(second)).rejects.toThrow('not a dead letter');
    expect(to.arrived).toHaveLength(9);
  });

  it('keep the faults of their delivery when they are retried', async () => {
    await using to = await endpoint();
    using sender = service(to.url);
    const { deadLetter } = await sender.deliver(eventBody(), { faults: () => [{ kind: 'lost-answer' }] });
    if (deadLetter === undefined) throw new Error('there is no dead letter');
    expect(sender.deadLetters).toEqual([deadLetter]);
    const again = await sender.retry(deadLetter);
    expect(again).toMatchObject({ outcome: 'dead-lettered' });
    expect(again.attempts[7]).toMatchObject({ number: 8, fault: 'lost-answer' });
    expect(again.deadLetter).toBe(sender.deadLetters[0]);
  });

  it('are kept in the order in which they were given up on', async () => {
    using sender = service(await nobody());
    const bodies = ['evt_1', 'evt_2', 'evt_3'].map((id) => eventBody(id));
    await Promise.all(bodies.map((body, n) => sender.deliver(body, { at: START + 10 - n })));
    expect(sender.deadLetters.map(({ id }) => id)).toEqual(['evt_3', 'evt_2', 'evt_1']);
  });
});

describe('an interruption', () => {
  it('ends waiting, and tells what was tried', async () => {
    await using to = await endpoint(() => 500);
    const controller = new AbortController();
    using sender = service(to.url, { clock: realClock(), signal: controller.signal });
    const deliveries = Array.from({ length: 50 }, (_, n) => sender.deliver(eventBody(`evt_${n}`)));
    await vi.waitFor(() => expect(to.arrived).toHaveLength(100), { timeout: 20_000 }); // at once, and at once again
    await delay(20);
    controller.abort();
    const ends = await Promise.all(deliveries);
    expect(ends.every(({ outcome, attempts }) => outcome === 'interrupted' && attempts.length === 2)).toBe(true);
    expect(sender.deadLetters).toEqual([]);
    expect(await sender.deliver(eventBody())).toEqual({ outcome: 'interrupted', attempts: [], copies: [] });
    expect(to.arrived).toHaveLength(100);
  });

  it('lets a request that is under way be answered, and sends nothing of what waits for its turn', async () => {
    const controller = new AbortController();
    await using to = await endpoint((_, response) => {
      controller.abort();
      setTimeout(() => response.writeHead(200).end(), 30);
    });
    using sender = service(to.url, { concurrency: 1, signal: controller.signal });
    const ends = await Promise.all([1, 2, 3].map((n) => sender.deliver(eventBody(`evt_${n}`))));
    expect(ends.map(({ outcome }) => outcome)).toEqual(['delivered', 'interrupted', 'interrupted']);
    expect(to.arrived).toHaveLength(1);
  });

  it('leaves a dead letter one that was about to be retried', async () => {
    const controller = new AbortController();
    using sender = service(await nobody(), { signal: controller.signal });
    await sender.deliver(eventBody());
    const [letter] = sender.deadLetters;
    if (letter === undefined) throw new Error('there is no dead letter');
    controller.abort();
    expect(await sender.retry(letter)).toMatchObject({ outcome: 'interrupted' });
    expect(sender.deadLetters).toEqual([letter]);
  });
});

describe('the faults of an attempt', () => {
  async function withFaults(faults: readonly Fault[], answer = inTurn(200)) {
    const to = await endpoint(answer);
    const seen: DeliveryAttempt[] = [];
    using sender = service(to.url, {
      faults: (_, attempt) => (attempt === 1 ? faults : []),
      onAttempt: (attempt) => seen.push(attempt),
    });
    const end = await sender.deliver(eventBody());
    await to.close();
    const verdicts = to.arrived.map(({ body, headers }) =>
      verifySignature(body, String(headers['x-signature']), SECRET),
    );
    return { ...end, seen, verdicts, arrived: to.arrived };
  }

  it.each([0, 0.3, 1])('tampered body: what arrives is not what was signed (%d)', async (where) => {
    const { attempts, verdicts, arrived } = await withFaults([{ kind: 'tampered-body', where }], inTurn(401, 200));
    expect(attempts).toMatchObject([
      { fault: 'tampered-body', status: 401 },
      { fault: null, status: 200 },
    ]);
    expect(verdicts).toEqual([false, true]);
    expect(arrived[0]?.headers['x-signature']).toBe(signBody(eventBody(), SECRET));
    expect(arrived[0]?.body.byteLength).toBe(eventBody().byteLength);
  });

  it.each([0, 0.3, 1])('tampered signature: it is well formed and wrong (%d)', async (where) => {
    const { attempts, verdicts, arrived } = await withFaults([{ kind: 'tampered-signature', where }], inTurn(401, 200));
    expect(attempts).toMatchObject([{ fault: 'tampered-signature', status: 401 }, { status: 200 }]);
    expect(verdicts).toEqual([false, true]);
    expect(arrived[0]?.headers['x-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(arrived[0]?.body.equals(eventBody())).toBe(true);
  });

  it('duplicate: copies beside it, which are told of and change nothing', async () => {
    const { attempts, seen, arrived, ...end } = await withFaults([{ kind: 'duplicate', copies: 3 }], inTurn(200, 500));
    expect(arrived).toHaveLength(4);
    expect(attempts).toMatchObject([{ fault: 'duplicate', outcome: 'delivered' }]);
    expect(end.copies).toEqual(seen.filter(({ fault }) => fault === 'copy'));
    const copies = seen.filter(({ fault }) => fault === 'copy');
    expect(seen).toHaveLength(4);
    expect(copies.map(({ number, nextAt }) => [number, nextAt])).toEqual([
      [1, null],
      [1, null],
      [1, null],
    ]);
  });

  it('lost answer: the receiver has it, and gets it again', async () => {
    const { attempts, arrived } = await withFaults([{ kind: 'lost-answer' }]);
    expect(arrived).toHaveLength(2);
    expect(attempts).toMatchObject([{ fault: 'lost-answer', status: null }, { status: 200 }]);
  });

  it('several at once', async () => {
    const { attempts, arrived } = await withFaults([
      { kind: 'late', ms: 90_000 },
      { kind: 'duplicate', copies: 1 },
      { kind: 'cut', where: 0.5 },
    ]);
    expect(secondsOf(attempts)).toEqual([90, 90]);
    expect(attempts[0]?.fault).toBe('late+duplicate+cut');
    expect(arrived).toHaveLength(2); // the copy and the retry
  });

  it('late: others overtake it', async () => {
    await using to = await endpoint();
    using sender = service(to.url, { faults: (id) => (id === 'evt_1' ? [{ kind: 'late', ms: 60_000 }] : []) });
    const ends = await Promise.all([1, 2].map((n) => sender.deliver(eventBody(`evt_${n}`), { at: START + n * 1_000 })));
    expect(ends.map(({ attempts }) => secondsOf(attempts))).toEqual([[61], [2]]);
  });

  it('burst: what is held back comes together', async () => {
    await using to = await endpoint();
    using sender = service(to.url, { faults: () => [{ kind: 'burst', everyMs: 60_000 }] });
    const at = [1, 20, 59, 60, 61].map((seconds) => START + seconds * 1_000);
    const ends = await Promise.all(at.map((at, n) => sender.deliver(eventBody(`evt_${n}`), { at })));
    expect(ends.map(({ attempts }) => secondsOf(attempts))).toEqual([[60], [60], [60], [60], [120]]);
  });

  it('are those of the delivery alone, where it has its own', async () => {
    await using to = await endpoint();
    using sender = service(to.url, { faults: () => [{ kind: 'late', ms: 1_000 }] });
    const end = await sender.deliver(eventBody(), { faults: () => [] });
    expect(end.attempts).toMatchObject([{ fault: null }]);
  });
});

describe('sendOnce', () => {
  it('sends what it is given once, and retries nothing', async () => {
    await using to = await endpoint(() => 401);
    using sender = service(to.url);
    const at = START + 5_000;
    const attempt = await sender.sendOnce(eventBody(), { at, signature: 'forged' });
    expect(attempt).toMatchObject({ number: 1, at: new Date(at), status: 401, nextAt: null });
    await sender.sendOnce(eventBody(), { signature: null });
    expect(to.arrived.map(({ headers }) => headers['x-signature'])).toEqual(['forged', undefined]);
    expect(sender.deadLetters).toEqual([]);
  });
});

describe('a service', () => {
  it('keeps connections, and has no more requests under way than it may', async () => {
    let underWay = 0;
    let most = 0;
    await using to = await endpoint((_, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(200).end();
      }, 3);
    });
    using sender = service(to.url, { concurrency: 4 });
    await Promise.all(Array.from({ length: 60 }, (_, n) => sender.deliver(eventBody(`evt_${n}`))));
    expect(most).toBe(4);
    expect(to.connections()).toBeLessThanOrEqual(8);
    expect(to.arrived).toHaveLength(60);
  });

  it('delivers any bytes, and names what it can read of them', async () => {
    await using to = await endpoint();
    using sender = service(to.url);
    const bodies = ['no JSON', 'null', '[]', '{"id":5}', '', '{"id":"evt_1"}'].map((text) => Buffer.from(text));
    const ends = await Promise.all(bodies.map((body) => sender.deliver(body)));
    expect(ends.map(({ attempts }) => attempts[0]?.id)).toEqual([null, null, null, null, null, 'evt_1']);
    expect(to.arrived.every(({ body, headers }) => verifySignature(body, String(headers['x-signature']), SECRET))).toBe(
      true,
    );
  });

  it.each([
    ['a secret', { secret: '' }],
    ['a concurrency', { concurrency: 0 }],
  ])('refuses %s that cannot work', (_, options) => {
    expect(() => service('http://127.0.0.1:1', options)).toThrow(ConfigurationError);
  });
});
