import { Agent } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { deliver } from '../../src/sender/deliver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { endpoint, eventBody, nobody, SECRET, type Behaviour, type Endpoint } from './endpoint.ts';

const body = eventBody();
const options = { secret: SECRET };

describe('deliver', () => {
  it('posts the exact bytes with their signature', async () => {
    await using to = await endpoint((_, response) => response.writeHead(202, { 'X-A': 'b' }).end('taken'));
    const answer = await deliver(to.url, body, options);
    expect(answer).toMatchObject({ status: 202, headers: { 'x-a': 'b' }, body: 'taken' });
    expect(to.arrived).toHaveLength(1);
    const [{ method, headers, body: bytes } = { headers: {} as Record<string, string> }] = to.arrived;
    expect(method).toBe('POST');
    expect(bytes?.equals(body)).toBe(true);
    expect(headers['x-signature']).toBe(signBody(body, SECRET));
    expect(headers['content-type']).toBe('application/json');
    expect(headers['content-length']).toBe(String(body.byteLength));
  });

  it('sends another signature, or none', async () => {
    await using to = await endpoint();
    await deliver(to.url, body, { ...options, signature: 'abc' });
    await deliver(to.url, body, { ...options, signature: null });
    expect(to.arrived.map(({ headers }) => headers['x-signature'])).toEqual(['abc', undefined]);
  });

  it('does not follow a redirect', async () => {
    await using elsewhere = await endpoint();
    await using to = await endpoint((_, response) => response.writeHead(307, { Location: elsewhere.url }).end());
    expect(await deliver(to.url, body, options)).toMatchObject({ status: 307 });
    expect(elsewhere.arrived).toEqual([]);
  });

  it('fails after the time-out', async () => {
    await using to = await endpoint(() => null);
    const startedAt = performance.now();
    const delivery = deliver(to.url, body, { ...options, timeoutMs: 150 });
    await expect(delivery).rejects.toMatchObject({ code: 'TIMEOUT', message: 'no answer within 0.15 s' });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(145);
  });

  it('waits ten seconds unless told otherwise', async () => {
    await using to = await endpoint(() => null);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const delivery = deliver(to.url, body, options).catch((failure: unknown) => failure);
      await vi.waitFor(() => expect(to.arrived).toHaveLength(1), { interval: 1, timeout: 20_000 });
      vi.advanceTimersByTime(9_000);
      await Promise.resolve();
      vi.advanceTimersByTime(1_001);
      expect(await delivery).toMatchObject({ code: 'TIMEOUT', message: 'no answer within 10 s' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('says when the connection is refused', async () => {
    const delivery = deliver(await nobody(), body, options);
    await expect(delivery).rejects.toMatchObject({ code: 'REFUSED', message: 'the connection was refused' });
  });

  it('says when the receiver cuts the connection before the answer', async () => {
    await using to = await endpoint((_, response) => response.destroy());
    await expect(deliver(to.url, body, options)).rejects.toMatchObject({ code: 'CUT' });
  });

  const unfinished: readonly (readonly [string, string, Behaviour])[] = [
    [
      'does not end',
      'the response body did not end within 0.15 s',
      (_, response) => response.writeHead(202).write('half'),
    ],
    [
      'is cut',
      'the response body was cut off',
      (_, response) => {
        response.writeHead(202, { 'Content-Length': 100 });
        response.write('half', () => response.destroy());
      },
    ],
  ];
  it.each(unfinished)('is answered once the status is there: the body %s', async (_, note, behaviour) => {
    await using to = await endpoint(behaviour);
    const answer = await deliver(to.url, body, { ...options, timeoutMs: 150 });
    expect(answer).toMatchObject({ status: 202, body: 'half', note });
    const whole = await endpoint();
    expect((await deliver(whole.url, body, options)).note).toBeNull();
    await whole.close();
  });

  it('says when the answer is no HTTP', async () => {
    const server = createServer((socket) => socket.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // of a server that listens on TCP
    await expect(deliver(`http://127.0.0.1:${port}`, body, options)).rejects.toMatchObject({ name: 'DeliveryError' });
    server.close();
  });

  it('keeps no more than 64 KiB of an answer', async () => {
    await using to = await endpoint((_, response) => response.end('x'.repeat(1_000_000)));
    expect((await deliver(to.url, body, options)).body).toHaveLength(64 * 1024);
  });

  async function staleConnection(): Promise<{
    readonly to: Endpoint;
    readonly agent: Agent;
    readonly seen: () => number;
  }> {
    let seen = 0;
    const to = await endpoint((_, response) => {
      seen += 1;
      if (seen === 2) response.destroy();
      else response.writeHead(200).end();
    });
    const agent = new Agent({ keepAlive: true });
    await deliver(to.url, body, { ...options, agent });
    return { to, agent, seen: () => seen };
  }

  it('sends again when a kept connection is reset', async () => {
    const { to, agent, seen } = await staleConnection();
    expect(await deliver(to.url, body, { ...options, agent })).toMatchObject({ status: 200 });
    expect(seen()).toBe(3);
    agent.destroy();
    await to.close();
  });

  it('does not, where one delivery is to be one request', async () => {
    const { to, agent, seen } = await staleConnection();
    const delivery = deliver(to.url, body, { ...options, agent, resend: false });
    await expect(delivery).rejects.toMatchObject({ code: 'CUT' });
    expect(seen()).toBe(2);
    agent.destroy();
    await to.close();
  });

  it('sends again over a fresh connection when all idle ones were closed meanwhile', async () => {
    const agent = new Agent({ keepAlive: true });
    const first = await endpoint();
    await Promise.all([1, 2, 3].map(() => deliver(first.url, body, { ...options, agent })));
    await first.close();
    // Before this turn of the event loop ends, the agent does not know that its connections are closed.
    await expect(deliver(first.url, body, { ...options, agent })).rejects.toMatchObject({ code: 'REFUSED' });
    agent.destroy();
  });
});

describe('the faults of a delivery', () => {
  it.each([0, 0.5, 1])('cut: the body never arrives whole (%d of it)', async (where) => {
    await using to = await endpoint();
    const delivery = deliver(to.url, body, { ...options, fault: { kind: 'cut', where } });
    const until = Math.min(Math.floor(body.byteLength * where), body.byteLength - 1);
    const message = `the connection was cut after ${until} of ${body.byteLength} bytes`;
    await expect(delivery).rejects.toMatchObject({ code: 'CUT', message });
    await vi.waitFor(() => expect(to.cut()).toBe(1), { timeout: 20_000 });
    expect(to.arrived).toEqual([]);
  });

  it('slow-body: it takes its time and arrives whole', async () => {
    await using to = await endpoint();
    const startedAt = performance.now();
    const answer = await deliver(to.url, body, { ...options, fault: { kind: 'slow-body', ms: 200 } });
    expect(answer.status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(190);
    expect(to.arrived[0]?.body.equals(body)).toBe(true);
  });

  it('slow-body: too slow is too late', async () => {
    await using to = await endpoint();
    const delivery = deliver(to.url, body, { ...options, timeoutMs: 100, fault: { kind: 'slow-body', ms: 1_000 } });
    await expect(delivery).rejects.toMatchObject({ code: 'TIMEOUT' });
    await vi.waitFor(() => expect(to.cut()).toBe(1), { timeout: 20_000 });
  });

  it('slow-body: an answer before its end counts, and the rest is not sent', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n'));
      socket.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // of a server that listens on TCP
    const to = `http://127.0.0.1:${port}`;
    const startedAt = performance.now();
    const answer = await deliver(to, body, { ...options, fault: { kind: 'slow-body', ms: 5_000 } });
    expect(answer.status).toBe(413);
    const closed = once(server, 'close');
    server.close();
    await closed; // no connection is left
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });

  it('lost-answer: the receiver has taken it, and the sender does not know', async () => {
    await using to = await endpoint();
    const delivery = deliver(to.url, body, { ...options, fault: { kind: 'lost-answer' } });
    await expect(delivery).rejects.toMatchObject({ code: 'LOST', message: 'the answer was lost on the way' });
    expect(to.arrived).toHaveLength(1);
    await delay(20); // nothing comes after it
    expect(to.arrived).toHaveLength(1);
  });

  it('lost-answer: without an answer it is a time-out like any other', async () => {
    await using to = await endpoint(() => null);
    const delivery = deliver(to.url, body, { ...options, timeoutMs: 100, fault: { kind: 'lost-answer' } });
    await expect(delivery).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});
