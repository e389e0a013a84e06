import { createServer, request as nodeRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import type { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { peerOf } from '../../../src/page/safety/request-guard.ts';
import { openedPage } from './opened-page.ts';

const request = new Request('http://localhost/');

test.for([
  ['@hono/node-server', { incoming: { socket: { remoteAddress: '192.0.2.1' } }, outgoing: {} }],
  ['another server in between', { server: { incoming: { socket: { remoteAddress: '192.0.2.1' } } } }],
  ['Bun', { requestIP: (asked: Request) => (asked === request ? { address: '192.0.2.1', port: 1 } : null) }],
  ['Deno', { remoteAddr: { transport: 'tcp', hostname: '192.0.2.1', port: 1 } }],
] as const)('%s says where a request comes from', ([, env]) => {
  expect(peerOf(env, request)).toBe('192.0.2.1');
});

test.for([
  [undefined],
  [null],
  ['text'],
  [{}],
  [{ incoming: {} }],
  [{ incoming: { socket: {} } }],
  [{ requestIP: () => null }],
  [{ remoteAddr: { transport: 'unix', path: '/run/page.sock' } }],
  [{ SECRET: 'of a worker', remoteAddr: '127.0.0.1' }],
] as const)('nobody knows from %j', ([env]) => {
  expect(peerOf(env, request)).toBeNull();
});

/** Asks as an attacker does who says it is this machine. */
async function status(port: number, address: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const asked = nodeRequest({ host: address, port, path: '/ops/events', headers: { host: 'localhost', ...headers } });
  const answer = once(asked, 'response');
  asked.end();
  const [response] = (await answer) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

async function listening(handle: Parameters<typeof createServer>[1]): Promise<number> {
  const server = createServer(handle as never).listen(0, '::');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const mountings = {
  'on a server of its own': (app: Hono) => getRequestListener(app.fetch),
  'in an Express app': (app: Hono) => express().use(getRequestListener(app.fetch)),
} as const;

test.for(Object.entries(mountings))('an open page %s is for its own machine alone', async ([, mount]) => {
  const { app } = openedPage({ unsafeOpen: true });
  const port = await listening(mount(app) as never);
  expect(await status(port, '127.0.0.1')).toBe(200);
  expect(await status(port, '::1')).toBe(200);
  expect(await status(port, '127.0.0.1', { 'X-Forwarded-For': '127.0.0.1' })).toBe(403);
  // Every other address of this machine is one that others reach it at, and from which it comes then.
  const others = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const { address, internal, scopeid } of others) {
    if (!internal && !scopeid) expect(await status(port, address)).toBe(403);
  }
});

test('an open page whose server tells nothing says what to do', async () => {
  const { app } = openedPage({ unsafeOpen: true });
  const answer = await app.request('http://localhost/ops/events');
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain('second argument of fetch');
});
