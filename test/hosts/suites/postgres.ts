import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { postgresUrl } from '../../helpers/postgres-url.ts';
import { schemaName } from '../../helpers/postgres.ts';
import { restApi } from '../aws-events.ts';
import { expectConsole } from '../console.ts';
import { expectForgeryRefused, send, signedOrder } from '../deliveries.ts';
import { startFunction } from '../function-host.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { startWorker } from './workers.ts';

const LAMBDA = 'aws-lambda/postgres.mjs';
const WORKER = 'cloudflare/worker-postgres.mjs';

/** On a database of its own, as a deploy makes it. */
export function postgres(project: () => Project): void {
  const database = schemaName();
  let server: Pool;
  let url: string;
  let shop: Pool;

  beforeAll(async () => {
    server = new Pool({ connectionString: await postgresUrl() });
    await server.query(`CREATE DATABASE ${database}`);
    url = (await postgresUrl()).replace(/[^/]*$/, database);
    shop = new Pool({ connectionString: url });
    shop.on('error', () => {});
    await using inbox = postgresInbox(url);
    await inbox.list();
    await shop.query('CREATE TABLE confirmed_orders (id text NOT NULL)');
  });
  beforeEach(() => shop.query('DELETE FROM confirmed_orders').then(() => {}));
  afterAll(async () => {
    await shop.end();
    await server.end();
  });

  const orders = async (): Promise<number> => (await shop.query('SELECT 1 FROM confirmed_orders')).rows.length;
  const connections = async (): Promise<number> => {
    const text = 'SELECT 1 FROM pg_stat_activity WHERE datname = $1';
    return (await server.query(text, [database])).rows.length - shop.totalCount;
  };

  describe('AWS Lambda', () => {
    const env = () => ({ AWS_LAMBDA_FUNCTION_NAME: 'webhooks', DATABASE_URL: url });

    it('handles before it answers, exactly once over all instances, with a connection for each', async () => {
      project().write(LAMBDA, example(LAMBDA));
      const order = signedOrder();
      const call = { name: 'handler', event: restApi(order), remainingMs: 10_000 };
      await using first = await startFunction(project(), LAMBDA, env());
      await using second = await startFunction(project(), LAMBDA, env());
      for (const host of [first, second, first]) expect(await host.call(call)).toMatchObject({ statusCode: 200 });
      expect(await orders()).toBe(1);
      // The connection of the set-up may still be ending.
      await expect.poll(connections).toBe(2);
    });

    it('goes on after Postgres has ended the connection of an instance that was frozen', async () => {
      project().write(LAMBDA, example(LAMBDA));
      await using host = await startFunction(project(), LAMBDA, env());
      const call = (event: unknown) => host.call({ name: 'handler', event, remainingMs: 10_000 });
      expect(await call(restApi(signedOrder()))).toMatchObject({ statusCode: 200 });
      await server.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [database]);
      expect(await call(restApi(signedOrder()))).toMatchObject({ statusCode: 200 });
      expect(await orders()).toBe(2);
    });
  });

  describe('Cloudflare Workers', () => {
    const runtime = () => ({
      config: 'cloudflare/wrangler-postgres.jsonc',
      // Miniflare needs a password, which the test server ignores.
      hyperdrive: url.replace('@', ':unused@'),
    });

    it('handle before they answer, exactly once, and leave no connection open', async () => {
      await using worker = await startWorker(project(), 'postgres', example(WORKER), runtime());
      const order = signedOrder();
      for (let n = 0; n < 3; n += 1) expect(await send(worker.url, order)).toMatchObject({ status: 200 });
      await expectForgeryRefused(worker.url);
      expect(await orders()).toBe(1);
      await expect.poll(connections).toBe(0);
    });

    it('take many at once, of the same events too', async () => {
      await using worker = await startWorker(project(), 'postgres', example(WORKER), runtime());
      const events = Array.from({ length: 8 }, () => signedOrder());
      await Promise.all([...events, ...events].map((order) => send(worker.url, order)));
      for (const order of events) expect(await send(worker.url, order)).toMatchObject({ status: 200 });
      expect(await orders()).toBe(events.length);
      expect(worker.output()).not.toMatch(/different request|hang|never generate/i);
      await expect.poll(connections).toBe(0);
    });

    it('answer 500 when the handler fails, and run it again it runs again at the next delivery', async () => {
      const code = changed(example(WORKER), [
        'await ctx.transaction',
        "if (ctx.attempt === 1) throw new Error('not yet');\n    await ctx.transaction",
      ]);
      await using worker = await startWorker(project(), 'postgres-failing', code, runtime());
      const order = signedOrder();
      expect(await send(worker.url, order)).toMatchObject({ status: 500 });
      await expectConsole(worker).toContain('handler failed');
      expect(await send(worker.url, order)).toMatchObject({ status: 200 });
      expect(await orders()).toBe(1);
      await expect.poll(connections).toBe(0);
    });
  });
}
