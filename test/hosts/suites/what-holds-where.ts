import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { restApi } from '../aws-events.ts';
import { send, signedOrder, type SignedOrder } from '../deliveries.ts';
import { startFunction, type FunctionHost } from '../function-host.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { run, startServer } from '../server.ts';

const SERVER = 'node-http/server.mjs';
const LAMBDA = { AWS_LAMBDA_FUNCTION_NAME: 'webhooks' };

/** The handler fails once; its effect would fail the second time. */
const FUNCTION = `import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/aws-lambda';
import { sqliteInbox } from 'hookbox/sqlite';

let runs = 0;
const receiver = createReceiver({
  secret: process.env.SIGNING_SECRET,
  inbox: sqliteInbox(process.env.HOOKBOX_DB, { ephemeral: true }),
  handlers: {
    'order.confirmed': async (event, ctx) => {
      runs += 1;
      if (runs === 1) throw new Error('not yet');
      await ctx.transaction((db) => db.exec('CREATE TABLE effect (n)'));
      console.log('handled', event.id);
    },
  },
});
export const handler = webhookHandler(receiver);`;

export function whatHoldsWhere(project: () => Project): void {
  it.each([
    { host: 'AWS Lambda', env: LAMBDA },
    { host: 'Vercel', env: { VERCEL: '1', VERCEL_ENV: 'production' } },
    { host: 'Cloud Run or Cloud Functions', env: { K_SERVICE: 'webhooks' } },
    { host: 'Heroku', env: { DYNO: 'web.1' } },
  ])('sqliteInbox refuses to start: $host', async ({ host, env }) => {
    project().write(SERVER, example(SERVER));
    const { code, output } = await run([process.execPath, SERVER], project().folder, { ...env, PORT: '0' });
    expect(code).toBe(1);
    expect(output).toContain(`sqliteInbox would lose events on ${host}`);
    expect(output).toContain("code: 'EPHEMERAL_HOST'");
  });

  describe('with ephemeral: true', () => {
    it('AWS Lambda: handled before 2xx, exactly once in an instance', async () => {
      project().write('ephemeral/index.mjs', FUNCTION);
      const instance = (name: string): Promise<FunctionHost> => {
        const HOOKBOX_DB = join(project().folder, `ephemeral/${name}.db`);
        return startFunction(project(), 'ephemeral/index.mjs', { ...LAMBDA, HOOKBOX_DB });
      };
      const deliver = (host: FunctionHost, order: SignedOrder): Promise<unknown> =>
        host.call({ name: 'handler', event: restApi(order), remainingMs: 10_000 });
      const order = signedOrder();
      await using first = await instance('first');
      await using second = await instance('second');
      for (const host of [first, second]) {
        expect(await deliver(host, order)).toMatchObject({ statusCode: 500 });
        expect(await deliver(host, order)).toMatchObject({ statusCode: 200 });
        expect(await deliver(host, order)).toMatchObject({ statusCode: 200 });
        await expectConsole(host).toContain(`handled ${order.id}`);
        expect(host.output().match(/^handled/gm)).toHaveLength(1);
      }
    });

    it.each([
      { mode: 'background', shows: 'events are stored but not handled' },
      { mode: 'inline', shows: 'handled evt_' },
    ])('Heroku: $mode', async ({ mode, shows }) => {
      const handlers = "handlers: { '*': (event) => console.log('handled', event.id) }";
      const code = changed(
        example(SERVER),
        ["?? 'hookbox.db')", "?? 'hookbox.db', { ephemeral: true })"],
        [
          'inbox }',
          mode === 'inline' ? `inbox, ${handlers}, processing: { mode: 'inline' } }` : `inbox, ${handlers} }`,
        ],
      );
      project().write(`heroku/${mode}.mjs`, code);
      const command = [process.execPath, `heroku/${mode}.mjs`] as const;
      await using server = await startServer(project(), command, { env: { DYNO: 'web.1' } });
      expect(await send(server.url, signedOrder())).toMatchObject({ status: 200 });
      await expectConsole(server).toContain(shows);
    });
  });
}
