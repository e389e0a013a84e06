import { expect, describe, it } from 'vitest';
import { part } from '../../helpers/parts.ts';
import { expectConsumed, expectStores } from '../deliveries.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { startServer, type Command } from '../server.ts';

interface ServerCase {
  readonly name: string;
  readonly file: string;
  /** Beside another version of its framework. */
  readonly put?: string;
  readonly command: (file: string) => Command;
  readonly misMounted: readonly (readonly [from: string, to: string])[];
  readonly fix: string;
}

const node = (file: string): Command => [process.execPath, file];
const ANY_HOST = 'Mount the webhook route before body parsers.';

const EXPRESS: Omit<ServerCase, 'name' | 'command'> = {
  file: 'express/server.mjs',
  misMounted: [["app.all('/webhooks'", "app.use(express.json());\napp.all('/webhooks'"]],
  fix: 'mount the webhook route before express.json()',
};

const CASES: readonly ServerCase[] = [
  {
    name: 'Hono',
    file: 'hono/server.mjs',
    command: node,
    misMounted: [
      [
        "app.all('/webhooks'",
        "app.use(async (c, next) => {\n  await c.req.raw.text();\n  await next();\n});\napp.all('/webhooks'",
      ],
    ],
    fix: ANY_HOST,
  },
  { ...EXPRESS, name: 'Express 5', command: node },
  { ...EXPRESS, name: 'Express 4', put: 'express4/server.mjs', command: node },
  {
    name: 'Fastify',
    file: 'fastify/server.mjs',
    command: node,
    misMounted: [
      [
        'const app = fastify();',
        `const app = fastify();
        app.addHook('preParsing', async (request, reply, payload) => {
          const { Readable } = await import('node:stream');
          return Readable.from([Buffer.concat(await payload.toArray())]);
        });`,
      ],
    ],
    fix: 'eep the raw body as request.rawBody',
  },
  {
    name: 'node:http',
    file: 'node-http/server.mjs',
    command: node,
    misMounted: [
      [
        'return handle(request, response);',
        "return request.on('data', () => {}).on('end', () => handle(request, response));",
      ],
    ],
    fix: 'eep the raw body as request.rawBody',
  },
  {
    name: 'Koa',
    file: 'koa/server.mjs',
    command: node,
    misMounted: [
      [
        'const app = new Koa();',
        `const app = new Koa();
        app.use(async (ctx, next) => {
          const { text } = await import('node:stream/consumers');
          ctx.request.rawBody = await text(ctx.req);
          ctx.request.body = JSON.parse(ctx.request.rawBody);
          await next();
        });`,
      ],
    ],
    fix: 'Koa: mount the route before the body parser',
  },
  {
    name: 'Bun.serve',
    file: 'bun/server.mjs',
    command: (file) => [part('.bin/bun'), file],
    misMounted: [
      ['webhookHandler(receiver) }', 'async (request) => (await request.json(), webhookHandler(receiver)(request)) }'],
    ],
    fix: ANY_HOST,
  },
  {
    name: 'Deno.serve',
    file: 'deno/server.mjs',
    command: (file) => denoCommand(file),
    misMounted: [['return handle(request);', 'return request.json().then(() => handle(request));']],
    fix: ANY_HOST,
  },
];

/** The page's own command, with its permissions. */
function denoCommand(file: string): Command {
  const [deno, ...rest] = example('start it on Deno').trim().split(' ');
  expect([deno, rest.at(-1)]).toEqual(['deno', 'deno/server.mjs']);
  return [part('.bin/deno'), ...rest.slice(0, -1), file];
}

export function servers(project: () => Project): void {
  describe.each(CASES)('$name', ({ file, put = file, command, misMounted, fix }) => {
    it('stores what is authentic, once, and refuses what is forged', async () => {
      project().write(put, example(file));
      await using server = await startServer(project(), command(put));
      await expectStores(server);
    });

    it('says at once what to change where the body was read before', async () => {
      const other = put.replace('.mjs', '-mis-mounted.mjs');
      project().write(other, changed(example(file), ...misMounted));
      await using server = await startServer(project(), command(other));
      await expectConsumed(server, fix);
    });
  });
}
