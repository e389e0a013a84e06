import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { part } from '../../helpers/parts.ts';
import { forged, send, signedOrder, type SignedOrder, expectForgeryRefused } from '../deliveries.ts';
import { fakeQueue, startFunction, type FunctionHost, type WebAnswer } from '../function-host.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { startServer, type Command } from '../server.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';

const VERCEL = { VERCEL: '1', VERCEL_ENV: 'production', VERCEL_REGION: 'fra1', NODE_ENV: 'production' };
const NETLIFY = { AWS_LAMBDA_FUNCTION_NAME: 'webhooks', AWS_REGION: 'eu-central-1', SITE_NAME: 'shop' };

async function post(host: FunctionHost, name: string, { body, headers }: SignedOrder): Promise<WebAnswer> {
  const web = { url: 'https://shop.example/webhooks', method: 'POST', headers, body };
  return (await host.call({ name, web })) as WebAnswer;
}

export function functions(project: () => Project): void {
  describe.each([
    { host: 'Vercel', file: 'vercel/api/webhooks.mjs', name: 'POST', env: VERCEL },
    { host: 'Netlify', file: 'netlify/functions/webhooks.mjs', name: 'default', env: NETLIFY },
  ])('$host', ({ file, name, env }) => {
    it('hands on what is authentic, each time, and refuses what is forged', async () => {
      project().write(file, example(file));
      await using host = await startFunction(project(), file, env);
      const order = signedOrder();
      const ok = { status: 200, text: JSON.stringify({ received: true, id: order.id }) };
      expect(await post(host, name, order)).toMatchObject(ok);
      expect(await post(host, name, order)).toMatchObject(ok);
      const message = JSON.stringify({ body: order.body.toString(), signature: order.headers['X-Signature'] });
      expect(host.queue.messages()).toEqual([message, message]);
      const unsigned = { ...order, headers: { 'Content-Type': 'application/json' } };
      for (const wrong of [forged(order), unsigned]) {
        expect(await post(host, name, wrong)).toMatchObject({ status: 401 });
      }
      expect(host.queue.messages()).toHaveLength(2);
    });

    it('fails when the queue is down, so that the service sends again', async () => {
      project().write(file, example(file));
      await using host = await startFunction(project(), file, env);
      host.queue.setDown(true);
      expect(await post(host, name, signedOrder())).toMatchObject({ status: 500, waitedFor: 0 });
      await expectConsole(host).toContain('reason=not-passed-on,');
      host.queue.setDown(false);
      expect(await post(host, name, signedOrder())).toMatchObject({ status: 200 });
    });

    it('fails when the queue is too slow, and hands on all the same', async () => {
      const slow = 'await new Promise((done) => setTimeout(done, 600));\n  await sqs.send(';
      const code = changed(example(file), ['secret:', 'deadlineMs: 200, secret:'], ['await sqs.send(', slow]);
      project().write(`slow/${file}`, code);
      await using host = await startFunction(project(), `slow/${file}`, env);
      expect(await post(host, name, signedOrder())).toMatchObject({ status: 503, waitedFor: 1 });
      await expectConsole(host).toContain('reason=not-passed-on-in-time');
      expect(host.queue.messages()).toHaveLength(1);
    });
  });

  describe('Vercel, a preview with an inbox in memory', () => {
    const FILE = 'vercel/api/preview.mjs';
    const SLOW = ['=> console.log(', '=> (await new Promise((done) => setTimeout(done, 600)), console.log('] as const;
    const HASTY = ['secret:', 'deadlineMs: 200,\n  secret:'] as const;
    const outlived = changed(example(FILE), HASTY, [SLOW[0], SLOW[1]], ['event.id)', 'event.id))']);

    it('handles before it answers, once', async () => {
      project().write(FILE, example(FILE));
      await using host = await startFunction(project(), FILE, VERCEL);
      const order = signedOrder();
      expect(await post(host, 'POST', order)).toMatchObject({ status: 200, waitedFor: 0 });
      await expectConsole(host).toBe(`handled ${order.id}\n`);
      expect(await post(host, 'POST', order)).toMatchObject({ status: 200 });
      await expectConsole(host).toBe(`handled ${order.id}\n`);
      expect(await post(host, 'POST', forged(order))).toMatchObject({ status: 401 });
    });

    it.each([
      { host: 'Vercel', env: VERCEL, name: 'POST', code: outlived },
      {
        host: 'Netlify, which finds it by itself',
        env: NETLIFY,
        name: 'default',
        code: changed(
          outlived,
          ["import { waitUntil } from '@vercel/functions';\n", ''],
          ['export const POST =', 'export default'],
          [', { waitUntil }', ''],
        ),
      },
    ])('gives a handler that outlives the deadline to waitUntil: $host', async ({ env, name, code }) => {
      project().write('preview/outlived.mjs', code);
      await using host = await startFunction(project(), 'preview/outlived.mjs', env);
      const order = signedOrder();
      expect(await post(host, name, order)).toMatchObject({ status: 503, waitedFor: 1 });
      await expectConsole(host).toContain(`handled ${order.id}`);
      expect(await post(host, name, order)).toMatchObject({ status: 200, waitedFor: 0 });
    });

    it('refuses to start unless losing events is meant', async () => {
      project().write('preview/lasting.mjs', changed(example(FILE), ['{ ephemeral: true }', '']));
      await expect(startFunction(project(), 'preview/lasting.mjs', VERCEL)).rejects.toThrow('EPHEMERAL_HOST');
    });
  });

  describe('Google Cloud Functions', () => {
    const FOLDER = 'google-cloud-functions';

    it('hands on what is authentic, each time, and refuses what is forged', async () => {
      project().write(`${FOLDER}/package.json`, '{ "type": "module", "main": "index.js" }');
      project().write(`${FOLDER}/index.js`, example(`${FOLDER}/index.js`));
      const queue = fakeQueue(project());
      const env = { ...queue.env, K_SERVICE: 'webhooks', NODE_ENV: 'production' };
      const cwd = join(project().folder, FOLDER);
      await using server = await startServer(project(), frameworkCommand(), { cwd, env, path: '/' });
      const order = signedOrder(300_000);
      const ok = { status: 200, text: JSON.stringify({ received: true, id: order.id }) };
      expect(await send(server.url, order)).toMatchObject(ok);
      expect(await send(server.url, order)).toMatchObject(ok);
      const attributes = { signature: order.headers['X-Signature'] };
      const message = JSON.stringify({ data: order.body.toString(), attributes });
      expect(queue.messages()).toEqual([message, message]);
      await expectForgeryRefused(server.url);
      const noJson = { ...forged(order), body: Buffer.from('{') };
      expect(await send(server.url, noJson)).toMatchObject({
        status: 400,
        text: expect.not.stringContaining('hookbox'),
      });

      queue.setDown(true);
      expect(await send(server.url, order)).toMatchObject({ status: 500 });
      queue.setDown(false);
      expect(await send(server.url, order)).toMatchObject({ status: 200 });
      expect(queue.messages()).toHaveLength(3);
    });
  });

  /** With the framework of test/parts instead of npx. */
  function frameworkCommand(): Command {
    const line = example('start it on your own machine').trim();
    const runnable = line.replace(
      'npx functions-framework',
      `'${process.execPath}' '${part('.bin/functions-framework')}'`,
    );
    expect(runnable).not.toBe(line);
    return ['bash', '-c', `exec ${runnable}`];
  }

  it('what comes out of the queue goes into an inbox', async () => {
    project().write('queue/take.mjs', example('queue/take.mjs'));
    const database = join(project().folder, 'queue/taken.db');
    await using host = await startFunction(project(), 'queue/take.mjs', { HOOKBOX_DB: database });
    const order = signedOrder();
    const take = (message: object): Promise<unknown> => host.call({ name: 'take', parameters: [message] });
    const { body, headers } = order;
    const signature = headers['X-Signature'];
    expect(await take({ body: body.toString(), signature })).toBe(true); // as it came through SQS
    expect(await take({ body, signature })).toBe(true); // through Pub/Sub
    expect(await take({ body: body.toString(), signature: forged(order).headers['X-Signature'] })).toBe(false);
    expect(await take({ body: '{}', signature })).toBe(false);
    await using inbox = sqliteInbox(database);
    expect((await inbox.list()).map(({ id }) => id)).toEqual([order.id]);
  });
}
