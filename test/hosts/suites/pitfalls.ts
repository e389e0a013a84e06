import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { part } from '../../helpers/parts.ts';
import { expectConsumed, expectStores, send, signedOrder } from '../deliveries.ts';
import { changed, example, inlineCode } from '../page.ts';
import type { Project } from '../project.ts';
import { startServer, type RunningServer } from '../server.ts';

export function pitfalls(project: () => Project): void {
  async function started(name: string, code: string, run: (server: RunningServer) => Promise<void>): Promise<void> {
    project().write(name, code);
    await using server = await startServer(project(), [process.execPath, name]);
    await run(server);
  }

  it('Hono keeps what middleware has read through it', () => {
    const reads =
      "app.use(async (c, next) => {\n  if (c.req.method === 'POST') await c.req.json();\n  await next();\n});\napp.all('/webhooks'";
    return started(
      'hono/read-before.mjs',
      changed(example('hono/server.mjs'), ["app.all('/webhooks'", reads]),
      expectStores,
    );
  });

  describe.each(['express', 'express4'])('a parser of %s', (folder) => {
    const json = inlineCode('express.json({');
    const raw = inlineCode('express.raw({');
    const parsers = {
      json,
      raw,
      'json-without-verify': json.replace(/, verify.*/, '})'),
      text: raw.replace('raw', 'text'),
      'with-its-limit': json.replace("limit: '1mb', ", ''),
    };
    type Parser = keyof typeof parsers;

    /** Each parser has a route and an inbox of its own. */
    const route = ([name, parser]: readonly [string, string]): string => `app.all('/${name}', ${parser}, webhookHandler(
      createReceiver({ secret: process.env.SIGNING_SECRET, inbox: sqliteInbox(process.env.HOOKBOX_DB + '-${name}') }),
    ));`;
    let server: RunningServer;
    beforeAll(async () => {
      const mounted = "app.all('/webhooks', webhookHandler(receiver));";
      const routes = Object.entries(parsers).map(route).join('\n');
      project().write(`${folder}/parsers.mjs`, changed(example('express/server.mjs'), [mounted, routes]));
      server = await startServer(project(), [process.execPath, `${folder}/parsers.mjs`]);
    });
    afterAll(() => server?.[Symbol.asyncDispose]());
    const behind = (name: Parser): RunningServer => ({
      ...server,
      url: new URL(`/${name}`, server.url).href,
      database: `${server.database}-${name}`,
    });

    it.each(['json', 'raw'] as const)('keeps the bytes: %s', (name) => expectStores(behind(name)));

    it.each(['json-without-verify', 'text'] as const)('loses the bytes: %s', (name) =>
      expectConsumed(behind(name), 'mount the webhook route before express.json()'),
    );

    it('stops at 100 kB and answers by itself', async () => {
      const { url } = behind('with-its-limit');
      expect(await send(url, signedOrder())).toMatchObject({ status: 200 });
      expect(await send(url, signedOrder(300_000))).toMatchObject({
        status: 413,
        text: expect.not.stringContaining('BODY_TOO_LARGE'),
      });
      const noJson = { ...signedOrder(), body: Buffer.from('{') };
      expect(await send(url, noJson)).toMatchObject({
        status: 400,
        text: expect.not.stringContaining('INVALID_BODY'),
      });
    });
  });

  it('the path of node:http may have a query', () =>
    started('node-http/query.mjs', example('node-http/server.mjs'), async ({ url }) => {
      expect(await send(`${url}?from=service`, signedOrder())).toMatchObject({ status: 200 });
      expect(await send(new URL('/other', url).href, signedOrder())).toMatchObject({ status: 404 });
    }));

  it.each([
    { express: '5', folder: 'express' },
    { express: '4', folder: 'express4' },
  ])('an async handler that throws behind webhookVerifier: Express $express', async ({ express, folder }) => {
    const code = `import express from 'express';
      import { webhookVerifier } from 'hookbox/express';

      const app = express();
      app.post('/webhooks', webhookVerifier({ secret: process.env.SIGNING_SECRET }), async () => {
        throw new Error('the queue is down');
      });
      app.listen(process.env.PORT);`;
    const answered = started(`${folder}/throws.mjs`, code, async ({ url }) => {
      expect(await send(url, signedOrder())).toMatchObject({ status: 500 });
    });
    if (express === '5') await answered;
    else await expect(answered).rejects.toThrow('fetch failed');
  });

  it("Fastify's bodyLimit does not apply to the plugin", () => {
    const code = changed(example('fastify/server.mjs'), ['fastify()', 'fastify({ bodyLimit: 1000 })']);
    return started('fastify/limit.mjs', code, expectStores);
  });

  it('a hook of Fastify that reads the payload may keep the bytes', () => {
    const hook = `fastify();
      app.addHook('preParsing', async (request, reply, payload) => {
        const { Readable } = await import('node:stream');
        request.rawBody = Buffer.concat(await payload.toArray());
        return Readable.from([request.rawBody]);
      })`;
    return started('fastify/kept.mjs', changed(example('fastify/server.mjs'), ['fastify()', hook]), expectStores);
  });

  it.each([
    { scope: 'a scope of its own', other: 200 },
    { scope: 'the app itself', other: 401 },
  ])('webhookVerifier of Fastify in $scope', async ({ scope, other }) => {
    const register =
      scope === 'the app itself'
        ? 'await app.register(verifier);'
        : `await app.register(async (scope) => {
             await scope.register(verifier);
             scope.post('/webhooks', async (request) => ({ type: request.webhookEvent.type }));
           });`;
    const code = `import fastify from 'fastify';
      import { webhookVerifier } from 'hookbox/fastify';

      const app = fastify();
      const verifier = webhookVerifier({ secret: process.env.SIGNING_SECRET });
      app.post('/orders', async (request) => request.body);
      ${register}
      await app.listen({ port: Number(process.env.PORT) });`;
    await started(`fastify/verifier-${other}.mjs`, code, async ({ url }) => {
      const { headers: _, ...unsigned } = signedOrder();
      const headers = { 'Content-Type': 'application/json' };
      const answer = await send(new URL('/orders', url).href, { ...unsigned, headers });
      expect(answer.status).toBe(other);
      if (other === 200) {
        expect(JSON.parse(answer.text)).toMatchObject({ id: unsigned.id });
        expect(await send(url, signedOrder())).toMatchObject({ status: 200, text: '{"type":"order.confirmed"}' });
      }
    });
  });

  it('a request that is cloned may be read before', async () => {
    const reads =
      'async (request) => {\n  const copy = request.clone();\n  await request.json();\n  return webhookHandler(receiver)(copy);\n} }';
    project().write('bun/clone.mjs', changed(example('bun/server.mjs'), ['webhookHandler(receiver) }', reads]));
    await using server = await startServer(project(), [part('.bin/bun'), 'bun/clone.mjs']);
    expect(await send(server.url, signedOrder(300_000))).toMatchObject({ status: 200 });
  });
}
