import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { expectConsumed, expectForgeryRefused, expectStores, forged, send, signedOrder } from '../deliveries.ts';
import { changed, example } from '../page.ts';
import { ROOT, type Project } from '../project.ts';
import { expectThread, tellingOfThreads } from '../ready-threads.ts';
import { run, startServer, type RunningServer } from '../server.ts';
import { expectStandalone } from './bundled.ts';
import { expectOps, OPS_PASSWORD, orderEvent, read } from './shops.ts';

/** As Nest's command makes it. */
const NEST_TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'dist',
  },
};

/** By the lines of the docs. */
function onFastify(main: string): string {
  const [imported = '', created = ''] = example('on Fastify: the same controller').trim().split('\n\n');
  return changed(
    main,
    ["import type { NestExpressApplication } from '@nestjs/platform-express';", imported],
    ['const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true });', created],
    ["app.useBodyParser('json', { limit: '1mb' });", ''],
  );
}

export function nest(project: () => Project): void {
  beforeAll(async () => {
    const main = example('nestjs/main.ts');
    const files = {
      'main.ts': main,
      'on-fastify.ts': onFastify(main),
      'without-raw-body.ts': changed(main, [', { rawBody: true }', '']),
      'without-raw-body-on-fastify.ts': changed(onFastify(main), [', { rawBody: true }', '']),
      'without-limit.ts': changed(main, ["app.useBodyParser('json', { limit: '1mb' });", '']),
    };
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    // As Nest's command makes a project, and as ES modules.
    for (const [folder, type] of Object.entries({ nestjs: 'commonjs', 'nestjs-modules': 'module' })) {
      project().write(`${folder}/package.json`, JSON.stringify({ type }));
      project().write(`${folder}/tsconfig.json`, JSON.stringify(NEST_TSCONFIG));
      for (const [name, code] of Object.entries(files)) project().write(`${folder}/${name}`, code);
      expect(await run([process.execPath, tsc, '-p', folder], project().folder)).toEqual({ code: 0, output: '' });
    }
  });

  it.each(['nestjs/dist/main.js', 'nestjs/dist/on-fastify.js', 'nestjs-modules/dist/main.js'])(
    'stores what is authentic, once, and refuses what is forged: %s',
    async (file) => {
      await using server = await startServer(project(), [process.execPath, file]);
      await expectStores(server);
    },
  );

  it.each(['without-raw-body', 'without-raw-body-on-fastify'])(
    'says at once what to change where the body was read before: %s',
    async (name) => {
      await using server = await startServer(project(), [process.execPath, `nestjs/dist/${name}.js`]);
      await expectConsumed(server, 'NestFactory.create(AppModule, { rawBody: true })');
    },
  );

  it("stops at Nest's own limit unless told otherwise", async () => {
    await using server = await startServer(project(), [process.execPath, 'nestjs/dist/without-limit.js']);
    const answer = await send(server.url, signedOrder(300_000));
    expect(answer).toMatchObject({ status: 413, text: expect.not.stringContaining('BODY_TOO_LARGE') });
  });
}

const API_ROUTE = 'nextjs/pages/api/webhooks.js';
const ROUTE_HANDLER = 'nextjs/app/webhooks/route.js';
const SHOP = [
  'lib/receiver.js',
  'lib/orders.js',
  'lib/page.js',
  'app/layout.js',
  'app/page.js',
  'app/ops/[[...path]]/route.js',
];
const SLOW = [
  "(event) => console.log('handled', event.id)",
  `async (event) => {
        console.log('begun', event.id);
        await new Promise((done) => setTimeout(done, Number(process.env.HANDLER_MS ?? 0)));
        console.log('handled', event.id);
      }`,
] as const;
/** The packages lie outside of the project, and nothing is built twice. */
const NEXT_CONFIG = `export default {
  output: 'standalone',
  outputFileTracingRoot: ${JSON.stringify(ROOT)},
  turbopack: { root: ${JSON.stringify(ROOT)} },
  experimental: { turbopackFileSystemCacheForBuild: false },
};`;
const BODY_PARSER_OFF = 'export const config = { api: { bodyParser: false } };';

export function next(project: () => Project): void {
  const cli = [process.execPath, join(ROOT, 'test/parts/node_modules/next/dist/bin/next')] as const;
  const start = (path: string, env: Readonly<Record<string, string>> = {}): ReturnType<typeof startServer> =>
    startServer(project(), [...cli, 'start'], { cwd: folder(), path, env: { NEXT_TELEMETRY_DISABLED: '1', ...env } });
  const folder = (): string => join(project().folder, 'nextjs');

  beforeAll(async () => {
    const shop = SHOP.map((name) => `nextjs/${name}`);
    for (const name of [API_ROUTE, ROUTE_HANDLER, ...shop]) project().write(name, example(name));
    project().write('nextjs/instrumentation.js', changed(example('nextjs/instrumentation.js'), SLOW));
    project().write('nextjs/pages/api/parsed.js', changed(example(API_ROUTE), [BODY_PARSER_OFF, '']));
    const reads = 'export async function POST(request) {\n  await request.json();';
    const parsed = changed(example(ROUTE_HANDLER), ['export function POST(request) {', reads]);
    project().write('nextjs/app/parsed/route.js', parsed);
    project().write('nextjs/next.config.js', NEXT_CONFIG);
    project().write('nextjs/package.json', '{ "type": "module" }');
    project().write('nextjs/jsconfig.json', '{}'); // otherwise it uses hookbox's own, with another JSX
    const env = { NEXT_TELEMETRY_DISABLED: '1', SIGNING_SECRET: undefined, HOOKBOX_DB: '/no such folder/hookbox.db' };
    const built = await run([...cli, 'build'], folder(), env);
    expect(built.code, built.output).toBe(0);
    expect(built.output).not.toContain('warning');
  }, 240_000);

  it('builds without the secret and without the inbox', () => {
    expect(existsSync(join(folder(), '.next/BUILD_ID'))).toBe(true);
  });

  let both: RunningServer;
  beforeAll(async () => {
    both = await start('/', tellingOfThreads(project()));
  });
  afterAll(() => both?.[Symbol.asyncDispose]());

  describe.each([
    { path: '/webhooks', parsed: '/parsed', fix: 'Mount the webhook route before body parsers.' },
    { path: '/api/webhooks', parsed: '/api/parsed', fix: BODY_PARSER_OFF.replace(';', '') },
  ])('$path', ({ path, parsed, fix }) => {
    let server: RunningServer;
    beforeAll(() => {
      server = { ...both, url: new URL(path, both.url).href };
    });

    it('stores what is authentic, once and in the thread of its inbox, and refuses what is forged', async () => {
      await send(server.url, forged(signedOrder())); // creates the receiver, which takes a moment
      await expectForgeryRefused(server.url);
      await expectThread(server);
    });

    it('says at once what to change where the body was read before', () =>
      expectConsumed({ ...server, url: new URL(parsed, server.url).href }, fix));

    it('handles beside the routes', async () => {
      const order = signedOrder();
      await send(server.url, order);
      await expectConsole(server).toContain(`handled ${order.id}`);
      await expectConsole(server).not.toContain('not handled');
    });
  });

  it('is a shop, which keeps its orders in its own table and shows them, and the page of its operators', async () => {
    await using server = await start('/webhooks', OPS_PASSWORD);
    const created = orderEvent('order.created', 'ord_<b>1', 1, { total: 30.05, currency: 'EUR' });
    expect(await send(server.url, created)).toMatchObject({ status: 200 });
    expect(await send(server.url, created)).toMatchObject({ status: 200 });
    const orders = async (): Promise<string[]> =>
      [...(await read(server, '/')).matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) =>
        line.replaceAll('<!-- -->', ''),
      );
    await expect.poll(orders).toEqual(['ord_&lt;b&gt;1: 30.05 EUR']);
    await expectOps(server);
    expect(server.output()).not.toMatch(/SQLite|thread/); // the pages read the file beside the inbox
  });

  it('runs as `output: standalone` where nothing of its project is', () => expectStandalone(project(), folder()));

  it.each([
    { by: 'Next.js', env: {}, finishes: false },
    { by: 'the worker', env: { NEXT_MANUAL_SIG_HANDLE: '1' }, finishes: true },
  ])('SIGTERM is heeded by $by: a running handler finishes: $finishes', async ({ env, finishes }) => {
    await using server = await start('/webhooks', { ...env, HANDLER_MS: '1000' });
    const order = signedOrder();
    expect(await send(server.url, order)).toMatchObject({ status: 200 });
    await expectConsole(server).toContain(`begun ${order.id}`);
    await server[Symbol.asyncDispose]();
    const handled = expectConsole(server);
    await (finishes ? handled : handled.not).toContain(`handled ${order.id}`);
  });
}
