import { assumptionsWith, type Assumptions } from '../../src/sandbox/assumptions.ts';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { LOAF, NEW_CART, NEW_ITEM, NEW_ORDER, placeOrder, Service, stockOf } from './service.ts';

const GOOD = { payment_method_id: 'pm_ok' };

/** Calls of every kind, with every byte of their answers. */
async function transcript(seed?: number): Promise<string> {
  const lines: unknown[] = [];
  const to = async (request: Request): Promise<Response> => {
    lines.push([request.headers.get('x-signature'), await request.text()]);
    return new Response(null, { status: lines.length % 5 === 0 ? 500 : 200 });
  };
  const webhooks = [{ to, secret: 'whsec_of_a_test', as: 'fetch' as const }];
  await using service = new Service({ webhooks, ...(seed !== undefined && { seed }) });
  const call = async (method: string, path: string, body?: object): Promise<string> => {
    const answer = await service.call(method, path, body);
    lines.push([answer.status, [...answer.headers], answer.body]);
    await service.sandbox.advance('90 s');
    const { data } = answer.body;
    return typeof data === 'string' ? data : ((data as { id?: string } | undefined)?.id ?? '');
  };
  lines.push(service.sandbox.apiKey, service.sandbox.keys.create().key);
  const cart = await call('POST', '/cart', NEW_CART);
  await call('POST', `/cart/${cart}/item`, NEW_ITEM);
  const order = await call('POST', '/order', { ...NEW_ORDER, customer: {} });
  await call('POST', `/order/${order}/submit`, { payment_method_id: 'pm_expired' });
  await call('POST', `/order/${order}/submit`, GOOD);
  await call('POST', '/payment-method/setup-intent', { merchant_id: 'mer_books' });
  await call('GET', '/nowhere');
  await service.sandbox.advance('2 d');
  return JSON.stringify(lines);
}

describe('a sandbox', () => {
  it('repeats itself byte for byte: the same seed and the same calls', async () => {
    const first = await transcript();
    expect(first.match(/"order\.|cart\.|inventory\./g)?.length).toBeGreaterThan(5);
    expect(await transcript(1)).toBe(first);
    expect(await transcript(2)).not.toBe(first);
  });

  it('stands in for fetch, in whatever way a client calls it', async () => {
    await using sandbox = createSandbox();
    const client: typeof fetch = sandbox.fetch;
    const headers = { Authorization: sandbox.apiKey };
    for (const where of ['http://sandbox/merchant', new URL('http://sandbox/merchant')]) {
      expect((await client(where, { headers })).status).toBe(200);
    }
    expect((await client(new Request('http://sandbox/merchant', { headers }))).status).toBe(200);
    // Wrappers of fetch do this.
    expect((await client(new Request('http://sandbox/merchant'), { headers })).status).toBe(200);
    const posted = client(new Request('http://sandbox/cart', { headers }), { method: 'POST', body: '{}' });
    expect((await posted).status).toBe(400);
    await expect(client('http://sandbox/merchant', { headers, signal: AbortSignal.abort() })).rejects.toThrow('abort');
    const order = { method: 'POST', headers, body: JSON.stringify(NEW_ORDER), signal: AbortSignal.abort() };
    await expect(client('http://sandbox/order', order)).rejects.toThrow('abort');
    await expect(client(new Request('http://sandbox/order', order))).rejects.toThrow('abort');
    expect(sandbox.orders.list()).toEqual([]); // an aborted request was never sent
  });

  it('goes on where it was when its file is opened again', async () => {
    const file = join(scratchFolder(), 'sandbox.db');
    const before = new Service({ file, plan: { perMonth: 5 } });
    const { apiKey } = before.sandbox;
    const id = await placeOrder(before);
    await before.data('POST', `/order/${id}/submit`, GOOD);
    await before.sandbox.advance('5 min');
    await before.sandbox.close();

    await using after = new Service({ file, plan: { perMonth: 5 }, seed: 9, startAt: new Date(0) });
    expect(after.sandbox.apiKey).toBe(apiKey);
    expect(after.sandbox.now().toISOString()).toBe('2026-01-01T00:05:00.000Z');
    expect(await stockOf(after, LOAF)).toBe(39);
    expect(await placeOrder(after)).not.toBe(id);
    const last = await after.call('GET', '/cart/x');
    expect(last.headers.get('x-ratelimit-remaining')).toBe('0');
    await after.sandbox.advance('1 d');
    expect(await after.types()).toEqual(['order.created', 'order.ready', 'order.completed']);
  });

  it('keeps what waits for a receiver while its file is looked at without one', async () => {
    const file = join(scratchFolder(), 'sandbox.db');
    const arrived: string[] = [];
    const to = async (request: Request) => {
      arrived.push(await request.text());
      return new Response(null, { status: 200 });
    };
    const before = new Service({ file, webhooks: [{ to }] });
    await placeOrder(before);
    await before.sandbox.close();
    const looking = createSandbox({ file });
    expect(looking.deliveries.list()).toMatchObject([{ state: 'waiting' }]);
    await looking.close();
    await using after = createSandbox({ file, webhooks: [{ to }] });
    await after.advance(0);
    expect(arrived).toHaveLength(1);
    await after.close();
    await using without = createSandbox({ file, webhooks: [] });
    expect(without.webhooks.list()).toEqual([]);
  });

  it('says in one way that it is closed', async () => {
    const sandbox = createSandbox();
    await sandbox.close();
    expect(() => sandbox.orders.list()).toThrow('The sandbox is closed.');
    expect(() => sandbox.faults.add({ kind: 'before' })).toThrow('The sandbox is closed.');
    await expect(sandbox.advance(0)).rejects.toThrow('The sandbox is closed.');
  });

  it.each([
    [{ webhook: [] }, 'unknown option `webhook`'],
    [{ db: 'shop.db' }, 'unknown option `db`'],
    [{ webhooks: { to: 'http://localhost:3000' } }, 'must be a list'],
    [{ startAt: '2026-01-01' }, 'startAt must be a valid Date'],
    [{ signedUpAt: new Date(NaN) }, 'signedUpAt must be a valid Date'],
  ])('refuses %o and says why', (options, why) => {
    expect(() => createSandbox(options as object)).toThrow(why);
  });

  it('refuses a clock that there is not', () => {
    expect(() => createSandbox({ clock: 'frozn' as 'frozen' })).toThrow("'frozen' or 'real'");
  });

  it('leaves no lock behind when an option cannot work', async () => {
    const file = join(scratchFolder(), 'sandbox.db');
    expect(() => createSandbox({ file, webhooks: [{ to: 'ftp://elsewhere' }] })).toThrow('https');
    await using service = new Service({ file });
    expect((await service.call('GET', '/merchant')).status).toBe(200);
  });

  it('answers what is under way when it closes, and 503 afterwards; closing twice is closing once', async () => {
    const service = new Service();
    let send: (text: string) => void = () => {};
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        send = (text) => {
          stream.enqueue(Buffer.from(text));
          stream.close();
        };
      },
    });
    const headers = { Authorization: service.sandbox.apiKey };
    const init = { method: 'POST', headers, body, duplex: 'half' } as const;
    const slow = service.sandbox.fetch(new Request('http://sandbox/cart', init));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await Promise.all([service.sandbox.close(), service.sandbox.close()]);
    send(JSON.stringify(NEW_CART));
    expect((await slow).status).toBe(503);
    expect((await service.call('GET', '/merchant')).status).toBe(503);
    expect((await service.call('GET', '/checkout/x')).status).toBe(503);
  });

  it('refuses a file of somebody else, and leaves it as it is', () => {
    const file = join(scratchFolder(), 'notes.txt');
    writeFileSync(file, 'not a database, but long enough that nobody takes it for an empty one'.repeat(20));
    expect(() => createSandbox({ file })).toThrow('SQLite');
    rmSync(file);
  });

  it.each([
    { seed: 1.5 },
    { seed: '1; DROP TABLE orders' as unknown as number },
    { startAt: new Date(NaN) },
    { signedUpAt: new Date(NaN) },
    { deliveryTimeoutMs: 0 },
  ])('refuses %o', (options) => {
    expect(() => createSandbox(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('runs by itself on a real clock', async () => {
    const assumptions = { confirmedAfterMs: 10, readyAfterMs: 10, completedAfterMs: 10 };
    await using service = new Service({ clock: 'real', assumptions });
    const id = await placeOrder(service);
    await service.data('POST', `/order/${id}/submit`, GOOD);
    await expect.poll(() => service.sandbox.orders.list()[0]?.status).toBe('completed');
  });
});

it('an assumption that is undefined keeps its value', async () => {
  const changes = { confirmedAfterMs: undefined } as unknown as Partial<Assumptions>;
  expect(assumptionsWith(changes)).toEqual(assumptionsWith());
});
