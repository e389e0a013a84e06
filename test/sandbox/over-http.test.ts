import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { NEW_CART, NEW_ORDER, Service } from './service.ts';

async function served(service: Service): Promise<URL> {
  const server = serve({ fetch: service.sandbox.fetch, port: 0, hostname: '127.0.0.1' });
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function post(service: Service, url: URL, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { Authorization: service.sandbox.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });
}

test('an order over HTTP, and a setup intent at the address that was asked', async () => {
  await using service = new Service();
  const base = await served(service);
  const created = await post(service, new URL('/order', base), NEW_ORDER);
  expect(created.status).toBe(201);
  const intent = await post(service, new URL('/payment-method/setup-intent', base), { merchant_id: 'mer_books' });
  const { data } = (await intent.json()) as { data: { url: string } };
  expect(new URL(data.url).origin).toBe(base.origin);
  expect(await (await fetch(data.url)).text()).toContain('Signal Books');
});

test('a lost answer over HTTP: the client hears nothing, and what was asked for has happened', async () => {
  await using service = new Service();
  const base = await served(service);
  service.sandbox.faults.add({ kind: 'lost-answer', operation: 'createOrder' });
  const giveUp = new AbortController();
  const lost = post(service, new URL('/order', base), NEW_ORDER, giveUp.signal);
  await expect.poll(() => service.sandbox.orders.list().length).toBe(1);
  giveUp.abort(new Error('no patience any more'));
  await expect(lost).rejects.toThrow('no patience any more');
  const again = await post(service, new URL('/cart', base), NEW_CART);
  expect(again.status).toBe(201);
});

test('a client that goes away within its body has no effect, and nobody else notices', async () => {
  await using service = new Service();
  const base = await served(service);
  const socket = connect(Number(base.port), base.hostname);
  const head = `POST /order HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${service.sandbox.apiKey}\r\nContent-Length: 5000\r\n\r\n`;
  socket.write(`${head}{"customer":`);
  await once(socket, 'ready');
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  socket.destroy();
  expect((await post(service, new URL('/cart', base), NEW_CART)).status).toBe(201);
  expect(service.sandbox.orders.list()).toEqual([]);
});

test('bytes that come one by one are one body', async () => {
  await using service = new Service();
  const base = await served(service);
  const socket = connect(Number(base.port), base.hostname);
  const text = JSON.stringify(NEW_CART);
  const head = `POST /cart HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${service.sandbox.apiKey}\r\nConnection: close\r\n`;
  for (const byte of `${head}Content-Length: ${text.length}\r\n\r\n${text}`) {
    socket.write(byte);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  const chunks = await socket.toArray();
  expect(Buffer.concat(chunks as Buffer[]).toString()).toMatch(/^HTTP\/1\.1 201 /);
});
