import { getRequestListener } from '@hono/node-server';
import express from 'express';
import type { Hono } from 'hono';
import { once } from 'node:events';
import { createServer, request as nodeRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test, onTestFinished } from 'vitest';
import { ConfigurationError } from '../../../src/errors.ts';
import { createGuard, type GuardOptions, peerOf } from '../../../src/page/safety/request-guard.ts';
import { openedPage } from './opened-page.ts';

type Headers = Readonly<Record<string, string>>;

interface Asked {
  readonly openToAll?: boolean;
  readonly method?: string;
  readonly peer?: string | null;
}

/** Whether a request goes on. Node lets a request have the headers that a browser sets by itself. */
function passes(
  options: GuardOptions,
  headers: Headers,
  { openToAll = false, method = 'GET', peer = '127.0.0.1' }: Asked = {},
): boolean {
  const request = new Request('http://localhost/ops', { method, headers });
  return createGuard(options, openToAll)(request, peer) === null;
}

describe('the name that the page is asked under', () => {
  test.for([
    ['localhost', true],
    ['localhost:3223', true],
    ['LOCALHOST:3223', true],
    ['127.0.0.1', true],
    ['127.1.2.3:80', true],
    ['[::1]:3223', true],
    ['localhost.', true],
    ['evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example:3223', false],
    ['shop.localhost', false],
    ['192.168.0.7', false],
    ['0.0.0.0', false],
    ['[::]', false],
    // Parts of a URL that would make another host of what follows.
    ['localhost@evil.example', false],
    ['evil.example/localhost', false],
    ['evil.example#localhost', false],
    ['evil.example\\localhost', false],
    ['', false],
    ['a b', false],
  ] as const)('a page that is open to all takes %j: %s', ([host, expected]) => {
    expect(passes({}, { host }, { openToAll: true })).toBe(expected);
  });

  test.for([
    ['ops.shop.example', true],
    ['OPS.shop.example:8443', true],
    ['10.0.0.7:8080', true],
    ['10.0.0.7', false],
    ['10.0.0.7:8081', false],
    ['ops.shop.example.evil.example', false],
    ['localhost', false],
  ] as const)('a page with names takes %j: %s', ([host, expected]) => {
    const hosts = ['ops.shop.example', '10.0.0.7:8080'];
    expect(passes({ hosts }, { host })).toBe(expected);
    expect(passes({ hosts }, { host }, { openToAll: true })).toBe(expected);
  });

  test('a page with a login takes any, unless names are given', () => {
    expect(passes({}, { host: 'anything.example:99' })).toBe(true);
  });

  test.for([
    [[]],
    [['']],
    [['http://shop.example']],
    [['shop.example/ops']],
    [[undefined as unknown as string]],
  ] as const)('the names %j are refused when the page is made', ([hosts]) => {
    expect(() => createGuard({ hosts }, false)).toThrow(ConfigurationError);
  });
});

describe('a page that is open to all', () => {
  const from = (peer: string | null, headers: Headers = {}): boolean =>
    passes({}, { host: 'localhost:3223', ...headers }, { openToAll: true, peer });

  test.for([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:7f00:1', true],
    ['192.168.0.7', false],
    ['10.127.0.1', false],
    ['::ffff:192.168.0.7', false],
    ['::ffff:7f00', false],
    ['fe80::1', false],
    ['::', false],
    ['127.evil.example', false],
    ['', false],
    [null, false],
  ] as const)('takes a connection from %j: %s', ([peer, expected]) => {
    expect(from(peer)).toBe(expected);
    expect(passes({ hosts: ['ops.shop.example'] }, { host: 'ops.shop.example' }, { openToAll: true, peer })).toBe(
      expected,
    );
  });

  test.for([
    ['Forwarded', 'for=192.0.2.1'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['x-forwarded-host', 'localhost'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded', ''],
    ['X-Real-IP', '127.0.0.1'],
    ['Via', '1.1 proxy'],
    ['X-Client-IP', '127.0.0.1'],
  ] as const)('takes nothing that a proxy has passed on: %s', ([name, value]) => {
    expect(from('127.0.0.1', { [name]: value })).toBe(false);
    expect(passes({}, { host: 'ops.shop.example', [name]: value }, { peer: '192.0.2.1' })).toBe(true);
  });

  test('says what to do where the host does not tell where a request comes from', () => {
    const request = new Request('http://localhost/ops', { headers: { host: 'localhost' } });
    expect(createGuard({}, true)(request, null)).toMatch(
      /pass the second argument of fetch to the page\. Or set authorize/,
    );
  });
});

describe('a form', () => {
  const host = 'shop.example:8080';
  const same = { host, origin: 'http://shop.example:8080', 'sec-fetch-site': 'same-origin' };

  test.for([
    ['of the page itself', same, true],
    ['of an older browser', { host, origin: same.origin }, true],
    ['over HTTPS, which a proxy ends', { host, origin: 'https://shop.example:8080' }, true],
    ['that hides its origin, but not from the browser', { ...same, origin: 'null' }, true],
    ['without an origin', { host, 'sec-fetch-site': 'same-origin' }, true],
    ['of another site', { ...same, origin: 'http://evil.example' }, false],
    ['of a name that begins alike', { ...same, origin: 'http://shop.example:8080.evil.example' }, false],
    ['of another port', { ...same, origin: 'http://shop.example:8081' }, false],
    ['of a neighbour', { host, origin: same.origin, 'sec-fetch-site': 'same-site' }, false],
    ['of another site, says the browser', { host, origin: same.origin, 'sec-fetch-site': 'cross-site' }, false],
    ['that somebody typed', { host, origin: same.origin, 'sec-fetch-site': 'none' }, false],
    ['of a sandbox', { host, origin: 'null' }, false],
    ['of nobody', { host }, false],
    ['of a file', { host, origin: 'file://' }, false],
    ['of what is no origin', { host, origin: 'shop.example:8080' }, false],
  ] as const)('%s', ([, headers, expected]) => {
    expect(passes({}, headers, { method: 'POST' })).toBe(expected);
    expect(passes({}, headers, { method: 'DELETE' })).toBe(expected);
  });

  test('of the page’s own name is taken behind a proxy that asks under another, on no other port', () => {
    const hosts = ['ops.shop.example', '127.0.0.1'];
    const asked = (origin: string): boolean =>
      passes({ hosts }, { host: '127.0.0.1:3000', origin }, { method: 'POST' });
    expect(asked('https://ops.shop.example')).toBe(true);
    expect(asked('https://ops.shop.example:8443')).toBe(false);
    expect(asked('http://127.0.0.1:3001')).toBe(false);
    expect(asked('https://evil.example')).toBe(false);
  });
});

describe('what another site may ask for', () => {
  const host = 'shop.example';
  test.for([
    ['a link', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, true],
    ['a frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, false],
    ['a picture', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, false],
    ['a fetch', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, false],
    ['live updates', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, false],
    ['what the page itself fetches', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, true],
    [
      'what somebody typed',
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      true,
    ],
  ] as const)('%s: %s', ([, headers, expected]) => {
    expect(passes({}, { host, ...headers })).toBe(expected);
    expect(passes({}, { host, ...headers }, { method: 'HEAD' })).toBe(expected);
  });
});

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
