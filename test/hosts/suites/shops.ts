import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signBody, type EventType } from '../../../src/index.ts';
import { buildEvent } from '../../../src/testing/index.ts';
import { expectForgeryRefused, send, type SignedOrder } from '../deliveries.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { SECRET } from '../secret.ts';
import { startServer, type RunningServer } from '../server.ts';

const ASSETS = new URL('../../../src/page/assets/', import.meta.url);
const PASSWORD = 'a password of the operators';
export const OPERATOR = { authorization: `Basic ${Buffer.from(`operator:${PASSWORD}`).toString('base64')}` };
export const OPS_PASSWORD = { OPS_PASSWORD: PASSWORD };

export function orderEvent(type: EventType, order: string, second = 0, data: object = {}): SignedOrder {
  const created = new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
  const event = buildEvent(type, { created, data: { id: order, ...data } });
  const body = Buffer.from(JSON.stringify(event));
  return { id: event.id, body, headers: { 'Content-Type': 'application/json', 'X-Signature': signBody(body, SECRET) } };
}

export async function read(server: RunningServer, path: string): Promise<string> {
  const answer = await fetch(new URL(path, server.url), { headers: OPERATOR });
  const body = await answer.text();
  expect([path, answer.status]).toEqual([path, 200]);
  return body;
}

export async function expectOps(server: RunningServer): Promise<void> {
  expect((await fetch(new URL('/ops', server.url))).status).toBe(401);
  const overview = await read(server, '/ops');
  const links = [...overview.matchAll(/ (?:href|src)="(\/[^"]*)"/g)].map(([, to = '']) => to);
  expect(links).toEqual(expect.arrayContaining(['/ops/events', '/ops/assets/page.css', '/ops/assets/page.js']));
  expect(links.filter((to) => to !== '/ops' && !to.startsWith('/ops/'))).toEqual([]);
  for (const to of links.filter((link) => !/^\/ops\/(?:preferences|signout)/.test(link))) {
    const shown = await read(server, to);
    const [, asset] = /^\/ops\/assets\/(.+\.(?:css|js))$/.exec(to) ?? [];
    if (asset !== undefined) expect(shown).toContain(readFileSync(new URL(asset, ASSETS), 'utf8'));
  }
  const previewed = await act(server, '/ops/bulks', { act: 'rerun', state: 'dead' });
  expect([previewed.status, previewed.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(/^\/ops\/bulks\/\d+$/),
  ]);
  const live = await fetch(new URL('/ops/live', server.url), { headers: OPERATOR });
  expect(live.headers.get('content-type')).toContain('text/event-stream');
  await live.body?.cancel();
}

async function act(server: RunningServer, path: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await read(server, '/ops/maintenance')) ?? [];
  const url = new URL(path, server.url);
  return fetch(url, {
    method: 'POST',
    headers: { ...OPERATOR, origin: url.origin },
    body: new URLSearchParams({ ...fields, csrf }),
    redirect: 'manual',
  });
}

/** Although an operator's page is open. */
async function expectEnds(server: RunningServer): Promise<void> {
  const live = await fetch(new URL('/ops/live', server.url), { headers: OPERATOR });
  expect(await server.ended('SIGTERM')).toBe(0);
  await live.body?.cancel().catch(() => {});
}

/** compiled.ts has the shop on Next.js. */
export function shops(project: () => Project): void {
  const start = (folder: string, env: Readonly<Record<string, string>> = {}): Promise<RunningServer> =>
    startServer(project(), [process.execPath, 'server.mjs'], {
      cwd: join(project().folder, folder),
      env: { ...OPS_PASSWORD, ...env },
    });
  const put = (folder: string, file: string, ...changes: Parameters<typeof changed>[1][]): void => {
    project().write(`${folder}/${file}`, changed(example(`${folder.replace(/-dies$/, '')}/${file}`), ...changes));
  };

  describe('Express, with its own tables', () => {
    const lines = {
      items: [
        { product_id: 'prd_tart', quantity: 1 },
        { product_id: 'prd_bun', quantity: 3 },
        { product_id: 'prd_bun', quantity: 1 },
      ],
    };
    const reserved = (server: RunningServer): Promise<unknown> =>
      read(server, '/reserved').then((body) => JSON.parse(body) as unknown);
    const wanted = [
      { product_id: 'prd_bun', quantity: 4 },
      { product_id: 'prd_tart', quantity: 1 },
    ];

    it('reserves what an order needs once, and gives it back once, whatever comes twice or late', async () => {
      put('shop-express', 'server.mjs');
      put('shop-express', 'orders.mjs');
      await using server = await start('shop-express');
      const events = [
        orderEvent('order.created', 'ord_kept', 1, lines),
        orderEvent('order.confirmed', 'ord_kept', 2),
        orderEvent('order.created', 'ord_again', 1, lines),
        orderEvent('order.cancelled', 'ord_again', 2),
        orderEvent('order.created', 'ord_kept', 1, lines), // another event with the same content
      ];
      // The cancellation arrives first.
      expect(await send(server.url, orderEvent('order.cancelled', 'ord_late', 2))).toMatchObject({ status: 200 });
      await expect.poll(() => read(server, '/orders')).toContain('ord_late');
      for (const event of [orderEvent('order.created', 'ord_late', 1, lines), ...events, ...events]) {
        expect(await send(server.url, event)).toMatchObject({ status: 200 });
      }
      const orders = async (): Promise<unknown> =>
        (JSON.parse(await read(server, '/orders')) as { id: string; status: string }[]).map(({ id, status }) => [
          id,
          status,
        ]);
      await expect.poll(orders).toEqual([
        ['ord_again', 'cancelled'],
        ['ord_kept', 'confirmed'],
        ['ord_late', 'cancelled'],
      ]);
      await expect.poll(() => read(server, '/ops/events?state=processed')).toContain('order.confirmed');
      await expect.poll(() => reserved(server)).toEqual(wanted);
      expect(JSON.parse(await read(server, '/ops/health/ready'))).toEqual({ ready: true });

      await expectForgeryRefused(server.url);
      await expectOps(server);
      await expectEnds(server);
    });

    it.each([
      // Within the transaction, and after the commit.
      [
        'before the commit',
        'if (line.run(',
        'if (process.env.DIES) process.kill(process.pid, "SIGKILL");\n    if (line.run(',
      ],
      [
        'after the commit',
        'reserve(database, event);\n    }),',
        'reserve(database, event);\n    }).then(() => process.env.DIES && process.kill(process.pid, "SIGKILL")),',
      ],
    ])('a process that dies %s has reserved nothing twice', async (_, from, to) => {
      put('shop-express-dies', 'server.mjs', ['inbox, handlers }', 'inbox, handlers, processing: { leaseMs: 300 } }']);
      put('shop-express-dies', 'orders.mjs', [from, to]);
      const event = orderEvent('order.created', 'ord_1', 1, lines);
      await using dying = await start('shop-express-dies', { DIES: 'yes' });
      await send(dying.url, event).catch(() => {}); // it may die before it answers
      expect(await dying.ended()).toBeNull();

      await using server = await start('shop-express-dies', { HOOKBOX_DB: dying.database });
      expect(await send(server.url, event)).toMatchObject({ status: 200 });
      await expect.poll(() => read(server, '/ops/events?state=processed')).toContain(event.id);
      expect(await reserved(server)).toEqual(wanted);
    });
  });

  describe('Hono, with a provider of messages', () => {
    const asked: { readonly key: unknown; readonly order: unknown; readonly text: unknown }[] = [];
    let answers: readonly number[] = [];
    const provider = createServer((request, response) => {
      void text(request).then((body) => {
        const { order, text: said } = JSON.parse(body) as { order: unknown; text: unknown };
        asked.push({ key: request.headers['idempotency-key'], order, text: said });
        response.writeHead(answers[asked.length - 1] ?? 200).end();
      });
    });
    beforeAll(() => once(provider.listen(0, '127.0.0.1'), 'listening'));
    afterAll(() => provider.close());

    it('tells customers: again where the provider was away, by an operator where it refused, and nothing that is out of date', async () => {
      put('shop-hono', 'server.mjs', ['inbox, handlers }', 'inbox, handlers, processing: { retry: { baseMs: 10 } } }']);
      put('shop-hono', 'messages.mjs');
      const MESSAGES_URL = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
      await using server = await start('shop-hono', { MESSAGES_URL });

      answers = [503, 200, 400, 200];
      const ready = orderEvent('order.ready', 'ord_1', 3);
      await send(server.url, ready);
      await send(server.url, ready);
      const told = { key: ready.id, order: 'ord_1', text: 'Your order is ready.' };
      await expect.poll(() => asked).toEqual([told, told]);
      await expect.poll(() => read(server, '/orders/ord_1')).toContain('processed');
      await send(server.url, orderEvent('order.confirmed', 'ord_1', 1));
      await expect.poll(() => read(server, '/orders/ord_1')).toMatch(/confirmed[^<]*processed/);
      expect(asked).toHaveLength(2);

      const refused = orderEvent('order.cancelled', 'ord_<b>2', 1);
      await send(server.url, refused);
      await expect.poll(() => read(server, '/ops/dead')).toContain('the provider of messages answers 400');
      const page = await read(server, `/orders/${encodeURIComponent('ord_<b>2')}`);
      expect(page).toMatch(/Order ord_&lt;b&gt;2[^]*order\.cancelled[^<]*: dead/);
      expect((await act(server, `/ops/events/default/${refused.id}/rerun`, {})).status).toBe(303);
      await expect.poll(() => asked.slice(2).map(({ key }) => key)).toEqual([refused.id, refused.id]);

      expect((await fetch(new URL('/orders/ord_3', server.url))).status).toBe(404);
      await expectForgeryRefused(server.url);
      await expectOps(server);
      await expectEnds(server);
    });
  });
}
