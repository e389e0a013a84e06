import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as valibot from 'valibot';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { EventSchemas, ReceiverOptions } from '../../../src/index.ts';
import { imported, type Modules } from '../imported.ts';
import type { Installed } from '../installed.ts';
import { run } from '../run.ts';

const secret = 'a signing secret';

/** What a merchant gives when something is created: secrets, connections, schemas, options; and the page in each host. */
export function creatingSuite(installed: () => Installed): void {
  const folder = (): string => installed().frameworks.folder;
  let hookbox: Modules['hookbox'];
  let sqlite: Modules['hookbox/sqlite'];
  let testing: Modules['hookbox/testing'];
  beforeAll(async () => {
    hookbox = await imported(folder(), 'hookbox');
    sqlite = await imported(folder(), 'hookbox/sqlite');
    testing = await imported(folder(), 'hookbox/testing');
  });

  it('a list of secrets works with one of them unset, and with none of them nothing starts', async () => {
    const { inbox } = testing.testInbox();
    const { NO_NEW, NO_OLD } = process.env;
    const receiver = hookbox.createReceiver({ secret: [secret, NO_OLD], inbox, logger: false });
    expect(await testing.deliverTo(receiver, testing.buildEvent('order.ready'), { secret })).toMatchObject({
      status: 200,
    });
    await receiver.close();
    expect(() => hookbox.createReceiver({ secret: [NO_NEW, NO_OLD], inbox })).toThrow(hookbox.ConfigurationError);
  });

  it('a connection in memory is taken with ephemeral: true, and reaches handlers as it is', async () => {
    const { default: Database } = await imported(folder(), 'better-sqlite3');
    const database = new Database(':memory:');
    onTestFinished(() => void database.close());
    database.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)');
    expect(() => sqlite.sqliteInbox({ database })).toThrow('ephemeral');
    const { inbox, clock, handledAll } = testing.testInbox({
      inbox: sqlite.sqliteInbox({ database }, { ephemeral: true }),
    });
    const receiver = hookbox.createReceiver({
      secret,
      inbox,
      clock,
      logger: false,
      handlers: {
        '*': (event, ctx) => ctx.transaction((db) => db.prepare('INSERT INTO orders VALUES (?)').run(event.id)),
      },
    });
    await receiver.start();
    await testing.deliverTo(receiver, { ...testing.buildEvent('order.ready'), id: 'evt_1' }, { secret });
    expect(await handledAll()).toMatchObject([{ state: 'processed' }]);
    await receiver.close();
    expect(database.prepare('SELECT id FROM orders').all()).toEqual([{ id: 'evt_1' }]);
  });

  it.each([
    ['an option that there is not', () => ({ secret, inbox: testing.testInbox().inbox, handlrs: {} }), 'handlrs'],
    ['an inbox that is a path', () => ({ secret, inbox: 'shop.db' }), 'inbox'],
    [
      'a type that is misspelt',
      () => ({ secret, inbox: testing.testInbox().inbox, handlers: { 'order.crated'() {} } }),
      'order.created',
    ],
  ])('JavaScript is refused with a sentence: %s', (_, options, said) => {
    const create = (): unknown => Reflect.apply(hookbox.createReceiver, undefined, [options()]);
    expect(create).toThrow(hookbox.ConfigurationError);
    expect(create).toThrow(said);
  });

  it.each([
    ['a missing source', undefined, 'HOOKBOX_DB'],
    ['a connection of another library', { database: { prepare() {}, exec() {} } }, 'better-sqlite3'],
  ])('JavaScript is refused with a sentence: %s', (_, source, said) => {
    const open = (): unknown => Reflect.apply(sqlite.sqliteInbox, undefined, [source]);
    expect(open).toThrow(hookbox.ConfigurationError);
    expect(open).toThrow(said);
  });

  describe('types of your own', () => {
    const events: EventSchemas = {
      'loyalty.earned': z.object({ points: z.number().transform((points) => points * 2) }),
      'loyalty.spent': valibot.object({ points: valibot.number() }),
    };

    it.each(['loyalty.earned', 'loyalty.spent'])(
      'are checked by zod and valibot before a handler: %s',
      async (type) => {
        const { inbox, clock, handledAll } = testing.testInbox();
        const seen: unknown[] = [];
        const handlers = { [type]: (event: { readonly data: object }) => void seen.push(event.data) };
        const options: ReceiverOptions = { secret, inbox, clock, logger: false, events, handlers };
        const receiver = hookbox.createReceiver(options);
        await receiver.start();
        for (const points of [5, 'rosebud']) {
          const event = { id: `evt_${points}`, type, created: new Date().toISOString(), data: { points } };
          await testing.deliverTo(receiver, JSON.stringify(event), { secret });
        }
        const states = (await handledAll()).map(({ id, state }) => [id, state]);
        expect(states).toEqual([
          ['evt_5', 'processed'],
          ['evt_rosebud', 'dead'],
        ]);
        expect(seen).toEqual([{ points: type === 'loyalty.earned' ? 10 : 5 }]);
        await receiver.close();
      },
    );

    it('are built as schemas allow, and each event is about an order of its own', () => {
      const build = (type: string, data: object): { readonly data: object } =>
        Reflect.apply(testing.buildEvent, undefined, [type, { data }, { events }]);
      expect(build('loyalty.spent', { points: 5 }).data).toEqual({ points: 5 });
      expect(() => build('loyalty.spent', { points: 'rosebud' })).toThrow('does not fit the schema of loyalty.spent');
      const orders = [1, 2].map(() => testing.buildEvent('order.ready').data.id);
      expect(new Set(orders).size).toBe(2);
      expect(testing.buildEvent('order.ready', { data: { id: 'ord_1' } }).data.id).toBe('ord_1');
    });
  });

  describe('the page', () => {
    const page = async () => {
      const { opsPage } = await imported(folder(), 'hookbox/ops/page');
      const { default: Database } = await imported(folder(), 'better-sqlite3');
      const inbox = sqlite.sqliteInbox({ database: new Database(':memory:') }, { ephemeral: true });
      onTestFinished(() => inbox.close());
      return opsPage({ inbox }, { unsafeOpen: true });
    };
    /** With the URLs of its links, which say where it thinks that it is. */
    const expectAt = (html: string): void => {
      expect(html).toContain('Overview');
      const links = [...html.matchAll(/ (?:href|src)="(\/[^"]*)"/g)].map(([, to = '']) => to);
      expect(links.length).toBeGreaterThan(8);
      expect(links.filter((to) => !/^\/ops(?:\/|$)/.test(to))).toEqual([]);
    };

    it.each(['hookbox/node', 'hookbox/express', 'hookbox/fastify'] as const)('mounts by %s', async (name) => {
      const { pageHandler } = await imported(folder(), name);
      const mounted = pageHandler(await page());
      let listener = mounted as RequestListener;
      if (name === 'hookbox/express') {
        const { default: express } = await imported(folder(), 'express');
        listener = express().use('/ops', mounted as RequestListener) as never;
      }
      if (name === 'hookbox/fastify') {
        const { default: fastify } = await imported(folder(), 'fastify');
        const app = fastify();
        await app.register(mounted as never, { prefix: '/ops' });
        await app.ready();
        listener = (request, response) => app.routing(request, response);
      }
      expectAt(await (await fetch(`${await listening(listener)}/ops`)).text());
    });

    it('mounts by hookbox/fetch', async () => {
      const { pageHandler } = await imported(folder(), 'hookbox/fetch');
      const requestIP = () => ({ address: '127.0.0.1' });
      const show = pageHandler(await page()) as (request: Request, server: object) => Promise<Response>;
      expectAt(await (await show(new Request('http://localhost/ops'), { requestIP })).text());
    });
  });

  it('check does not condemn the parser that docs/adapters.md recommends', async () => {
    const { default: express } = await imported(folder(), 'express');
    const { webhookHandler } = await imported(folder(), 'hookbox/express');
    const receiver = hookbox.createReceiver({ secret, inbox: testing.testInbox().inbox, logger: false });
    const app = express();
    app.use(express.json({ limit: '1mb', verify: (request, _, rawBody) => void Object.assign(request, { rawBody }) }));
    app.all('/webhooks', webhookHandler(receiver));
    const url = `${await listening(app as never)}/webhooks`;
    const command = join(folder(), 'node_modules/.bin/hookbox');
    writeFileSync(join(folder(), 'secret.txt'), secret);
    const probes = ['raw-bytes', 'forged-malformed-json'];
    const args = ['check', url, '--secret-file', 'secret.txt', '--only', ...probes];
    expect(await run(command, args, folder())).toMatchObject({ code: 0 });
    await receiver.close();
  });
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
