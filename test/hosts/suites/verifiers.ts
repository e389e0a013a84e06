import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { expectForgeryRefused, send, signedOrder } from '../deliveries.ts';
import { changed, example } from '../page.ts';
import { ROOT, type Project } from '../project.ts';
import { run, startServer } from '../server.ts';

const FILES = ['hono/verify.ts', 'express/verify.ts', 'fastify/verify.ts', 'node-http/verify.ts'];
const ON_EXPRESS_4 = 'express4/verify.ts';

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  },
  files: FILES,
};

export function verifiers(project: () => Project): void {
  beforeAll(() => {
    for (const file of FILES) project().write(file, example(file));
    project().write(ON_EXPRESS_4, example('express/verify.ts'));
  });

  it('compile', async () => {
    project().write('tsconfig.verifiers.json', JSON.stringify(TSCONFIG));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const compiled = await run([process.execPath, tsc, '-p', 'tsconfig.verifiers.json'], project().folder);
    expect(compiled).toEqual({ code: 0, output: '' });
  });

  it.each([...FILES, ON_EXPRESS_4])('%s lets through what is authentic', async (file) => {
    await using server = await startServer(project(), [process.execPath, file]);
    const order = signedOrder(0, 'order.created');
    expect(await send(server.url, order)).toMatchObject({ status: 200, text: '{"received":true}' });
    await expectConsole(server).toBe('42.5\n');
    expect(await send(server.url, order)).toMatchObject({ status: 200 });
    expect(await send(server.url, signedOrder(0, 'order.teleported'))).toMatchObject({ status: 200 });
    await expectForgeryRefused(server.url);
    expect(server.output().match(/^42\.5$/gm)).toHaveLength(2);
  });

  describe('req.body stays undefined, even if express.json() follows', () => {
    it.each(['express', 'express4'])('%s', async (folder) => {
      const code = changed(
        example('express/verify.ts'),
        ['process.env.SIGNING_SECRET }), ', 'process.env.SIGNING_SECRET }), express.json(), '],
        ['received: true', 'body: String(req.body)'],
      );
      project().write(`${folder}/json-after.ts`, code);
      await using server = await startServer(project(), [process.execPath, `${folder}/json-after.ts`]);
      expect(await send(server.url, signedOrder())).toMatchObject({ status: 200, text: '{"body":"undefined"}' });
    });

    it('and request.body of Fastify', async () => {
      const code = changed(
        example('fastify/verify.ts'),
        ['({ webhookEvent: event })', '({ webhookEvent: event, body })'],
        ['received: true', 'body: String(body)'],
      );
      project().write('fastify/body.ts', code);
      await using server = await startServer(project(), [process.execPath, 'fastify/body.ts']);
      expect(await send(server.url, signedOrder())).toMatchObject({ status: 200, text: '{"body":"undefined"}' });
    });
  });
}
