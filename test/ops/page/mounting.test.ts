import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as onExpress from '../../../adapters/express.ts';
import * as onFastify from '../../../adapters/fastify.ts';
import * as onFetch from '../../../adapters/fetch.ts';
import * as onHono from '../../../adapters/hono.ts';
import * as onNode from '../../../adapters/node.ts';
import { opsPage, type OpsPageOptions, type Page } from '../../../src/page/operators-page.tsx';
import { createSandbox } from '../../../src/sandbox/index.ts';
import { sandboxPage } from '../../../src/sandbox/page/sandbox-page.tsx';
import { invalidIncoming, later } from '../../helpers/incoming-event.ts';
import { ADA, openedPage, signedIn, tokenIn } from './opened-page.ts';
import { tagsOf, textIn } from './read-html.ts';

interface Row {
  readonly host: string;
  readonly adapter: string;
  readonly mount: string;
}

const ROWS: readonly Row[] = [
  ...readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8').matchAll(
    /^\| (?<host>[^|]+?) +\| `hookbox\/(?<adapter>\w+)` +\| (?<code>.+?) +\|$/gm,
  ),
].flatMap(({ groups: { host = '', adapter = '', code = '' } = {} }) =>
  [...code.matchAll(/`([^`]+)`/g)].map(([, mount = '']) => ({ host, adapter, mount })),
);

type Code = (values: Readonly<Record<string, unknown>>) => unknown;

async function codeOf(code: string): Promise<Code> {
  const source = `export const run = ({ app, express, page, pageHandler, request, response, server }) => { ${code} };`;
  const { run } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as { run: Code };
  return run;
}

type Host = (run: Code, page: Page) => Promise<Server> | Server;

const HOSTS: Readonly<Record<string, Host>> = {
  express(run, page) {
    const app = express();
    run({ app, page, pageHandler: onExpress.pageHandler });
    return createServer(app as never);
  },
  async fastify(run, page) {
    const app = fastify();
    run({ app, page, pageHandler: onFastify.pageHandler });
    await app.ready();
    return app.server;
  },
  hono(run, page) {
    const app = new Hono();
    run({ app, page, pageHandler: onHono.pageHandler });
    return createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  },
  node(run, page) {
    return createServer((request, response) => run({ request, response, page, pageHandler: onNode.pageHandler }));
  },
  fetch(run, page) {
    const fetch = (request: Request, server: unknown): Response | Promise<Response> =>
      run({ request, server, page, pageHandler: onFetch.pageHandler }) as Promise<Response>;
    return createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;
  },
};

async function served({ adapter, mount }: Pick<Row, 'adapter' | 'mount'>, page: Page): Promise<string> {
  return listening(await (HOSTS[adapter] as Host)(await codeOf(mount), page));
}

const servers = new Map<string, Server>();

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  servers.set(origin, server);
  return origin;
}

async function pageOn(options: Partial<OpsPageOptions> = {}): Promise<Page> {
  const { inbox } = openedPage();
  await inbox.accept(invalidIncoming({ id: ID, body: JSON.stringify({ id: ID }) }), later());
  return opsPage({ inbox }, { ...('unsafeOpen' in options ? {} : { basic: [ADA] }), ...options });
}

const ID = 'evt/events?1 ä%2F';

const get = (url: string, headers: Readonly<Record<string, string>> = {}, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { redirect: 'manual', ...init, headers: { ...signedIn(ADA), ...headers } });

async function html(url: string): Promise<string> {
  const answer = await get(url);
  const text = await answer.text();
  expect([answer.status, url]).toEqual([200, url]);
  return text;
}

function ledTo(page: string): string[] {
  const all = tagsOf(page).flatMap(({ attributes }) => [attributes['href'], attributes['src'], attributes['action']]);
  const shown = all.filter((to) => to?.startsWith('/') === true && !/\/(?:preferences|signout)(?:\?|$)/.test(to));
  return [...new Set(shown)] as string[];
}

async function post(url: string, page: string, fields: Readonly<Record<string, string>> = {}): Promise<Response> {
  const body = new URLSearchParams({ ...fields, csrf: tokenIn(page) });
  return get(url, { origin: new URL(url).origin }, { method: 'POST', body });
}

async function expectMounted(origin: string, base: string): Promise<void> {
  const overview = await html(`${origin}${base}`);
  const links = ledTo(overview);
  expect(links.filter((to) => to !== base && !to.startsWith(`${base}/`))).toEqual([]);
  expect(links.length).toBeGreaterThan(8);
  for (const to of links.filter((link) => link.includes('/assets/'))) await html(`${origin}${to}`);

  const events = await html(`${origin}${base}/events?state=dead`);
  const event = ledTo(events).find((to) => to.startsWith(`${base}/events/`)) ?? '';
  const shown = await html(`${origin}${event}`);
  expect(textIn(shown, 'main')).toContain(ID);
  const act = ledTo(shown).find((to) => to.endsWith('/rerun')) ?? '';
  const done = await post(`${origin}${act}`, shown, { reason: 'a test & more' });
  expect([done.status, done.headers.get('location')]).toEqual([303, `${event}?done=still-invalid`]);
}

test('docs/operations.md says for each adapter with a page how it is mounted', () => {
  expect([...new Set(ROWS.map(({ adapter }) => adapter))].toSorted()).toEqual(Object.keys(HOSTS).toSorted());
});

// What is written into a file of Next.js is tried there (test/hosts/suites/compiled.ts).
describe.each(ROWS.filter(({ host }) => !host.startsWith('Next.js')))('$host: $mount', (row) => {
  test('shows and does everything below its path', async () => {
    const origin = await served(row, await pageOn());
    await expectMounted(origin, '/ops');
    for (const to of ledTo(await html(`${origin}/ops`))) await html(`${origin}${to}`);
    const bulk = await post(`${origin}/ops/bulks`, await html(`${origin}/ops/maintenance`), {
      act: 'rerun',
      state: 'dead',
    });
    expect([bulk.status, bulk.headers.get('location')]).toEqual([303, '/ops/bulks/1']);
    expect((await get(`${origin}/ops/events/of/none/at-all`)).status).toBe(404);
  });

  test('streams, and ends when the browser goes', async () => {
    const origin = await served(row, await pageOn());
    for (let n = 0; n < 3; n += 1) {
      const gone = new AbortController();
      const answer = await get(`${origin}/ops/live`, {}, { signal: gone.signal });
      expect(answer.headers.get('content-type')).toContain('text/event-stream');
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toContain('retry:');
      gone.abort();
    }
    const exported = await (await get(`${origin}/ops/maintenance/export`)).text();
    expect(exported).toContain('evt/events');
    const head = await get(`${origin}/ops/events`, {}, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('closes while pages are open', async () => {
    const origin = await served(row, await pageOn());
    const answers = await Promise.all(Array.from({ length: 3 }, () => get(`${origin}/ops/live`)));
    expect(await get(`${origin}/ops/events`)).toMatchObject({ status: 200 });
    const server = servers.get(origin) as Server;
    const closed = once(server, 'close');
    server.close();
    for (const answer of answers) expect(await answer.text()).toContain('retry:');
    await closed;
  });

  test('takes a file that is uploaded', async () => {
    const origin = await served(row, await pageOn());
    const exported = await (await get(`${origin}/ops/maintenance/export`)).text();
    const form = new FormData();
    form.set('csrf', tokenIn(await html(`${origin}/ops/maintenance`)));
    form.set('file', new File([exported], 'events.jsonl'));
    const answer = await get(`${origin}/ops/maintenance/import`, { origin }, { method: 'POST', body: form });
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      '/ops/maintenance?done=imported&figures=0.1.0',
    ]);
  });

  test('without a login is for its own machine', async () => {
    const origin = await served(row, await pageOn({ unsafeOpen: true }));
    expect((await fetch(`${origin}/ops/events`)).status).toBe(200);
    expect((await fetch(`${origin}/ops/events`, { headers: { 'X-Forwarded-For': '127.0.0.1' } })).status).toBe(403);
  });
});

describe('in Express', () => {
  const on = async (mount: string, options: Partial<OpsPageOptions> = {}): Promise<string> => {
    const page = await pageOn(options);
    const app = express();
    (await codeOf(mount))({ app, page, pageHandler: onExpress.pageHandler, express });
    return listening(createServer(app as never));
  };

  test.for([
    ["app.use('/admin', express.Router().use('/ops', pageHandler(page)))", '/admin/ops'],
    ["app.use('/t/:tenant/ops', pageHandler(page))", '/t/a%22b/ops'],
    ["app.use('/events/dead', pageHandler(page))", '/events/dead'],
    ['app.use(pageHandler(page))', ''],
    ["app.all('/ops{/*rest}', pageHandler(page))", '/ops'],
    ["app.use(express.urlencoded(), express.json()); app.use('/ops', pageHandler(page))", '/ops'],
    ["app.use(express.urlencoded({ extended: true })); app.use('/ops', pageHandler(page))", '/ops'],
    ["app.use(express.raw({ type: '*/*' })); app.use('/ops', pageHandler(page))", '/ops'],
  ] as const)('%s', async ([mount, base]) => expectMounted(await on(mount), base));

  test('the paths beside it are those of the app', async () => {
    const origin = await on(
      "app.use('/ops', pageHandler(page)); app.use((asked, answer) => answer.send(asked.url + asked.originalUrl))",
    );
    expect(await (await fetch(`${origin}/opera?x`)).text()).toBe('/opera?x/opera?x');
    expect((await get(`${origin}/ops/none`)).status).toBe(404);
  });

  test('what others have put on the answer goes out with it, and what keeps it safe stays', async () => {
    const origin = await on(
      "app.use((asked, answer, next) => { answer.set('X-Shop', 'ours'); answer.set('Content-Security-Policy', 'none'); next(); });" +
        "app.use('/ops', pageHandler(page))",
    );
    const { headers } = await get(`${origin}/ops`);
    expect([headers.get('x-shop'), headers.get('content-security-policy')]).toEqual([
      'ours',
      expect.stringContaining("default-src 'none'"),
    ]);
  });
});

test('in Fastify, what hooks have put on the answer goes out with it, and forms need no parser', async () => {
  const page = await pageOn();
  const app = fastify();
  app.addHook('onRequest', async (_request, reply) => void reply.header('X-Shop', 'ours'));
  await app.register(onFastify.pageHandler(page), { prefix: '/t/:tenant/ops' });
  app.get('/other', async () => 'the app');
  await app.ready();
  const origin = await listening(app.server);
  expect((await get(`${origin}/t/7/ops/events`)).headers.get('x-shop')).toBe('ours');
  expect(await (await fetch(`${origin}/other`)).text()).toBe('the app');
  await expectMounted(origin, '/t/7/ops');
});

describe('where nobody says where it is mounted', () => {
  const at = async (options: Partial<OpsPageOptions> = {}): Promise<string> => {
    const show = onNode.pageHandler(await pageOn(options));
    return listening(
      createServer((request: IncomingMessage, response: ServerResponse) => void show(request, response)),
    );
  };

  test.for(['', '/ops', '/a/b%20c/ops', '/ops/'])('it finds out: %j', async (base) => {
    await expectMounted(await at(), base.replace(/\/$/, ''));
  });

  test('its links never lead to another host', async () => {
    const origin = await at();
    for (const path of ['//evil.example/ops', '/%5C%5Cevil.example/ops', '//evil.example/ops/events']) {
      expect(ledTo(await html(`${origin}${path}`)).filter((to) => /^\/[/\\]/.test(to))).toEqual([]);
    }
  });

  test('it goes by the base that it is told, whether or not a proxy has taken it away', async () => {
    const origin = await at({ base: '/events/ops/' });
    await expectMounted(origin, '/events/ops');
    expect(ledTo(await html(`${origin}/dead`))).toContain('/events/ops/events');
    expect((await get(`${origin}/events/opera`)).status).toBe(404);
  });

  test('connect and its kind take the path away, and keep the whole', async () => {
    const show = onNode.pageHandler(await pageOn());
    const server = createServer((request: IncomingMessage & { originalUrl?: string }, response) => {
      request.originalUrl = request.url ?? '';
      request.url = (request.url ?? '').replace(/^\/audit\/ops\/?/, '/');
      void show(request, response);
    });
    await expectMounted(await listening(server), '/audit/ops');
  });
});

test("the sandbox's dashboard is mounted alike", async () => {
  const sandbox = createSandbox();
  onTestFinished(() => sandbox.close());
  const app = express().use('/dashboard', onExpress.pageHandler(sandboxPage(sandbox, { basic: [ADA] })));
  const origin = await listening(createServer(app as never));
  for (const to of ledTo(await html(`${origin}/dashboard`))) {
    expect(to).toMatch(/^\/dashboard(?:\/|$)/);
    await html(`${origin}${to}`);
  }
});
