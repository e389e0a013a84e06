import { describe, expect } from 'vitest';
import type { Fault } from '../../src/sender/faults.ts';
import type { PlanLimits } from '../../src/sandbox/index.ts';
import { it, LOAF, NEW_ORDER, PIER, placeOrder, RYE, Service } from './service.ts';

const GOOD = { payment_method_id: 'pm_ok' };
const down = { to: async () => new Response(null, { status: 500 }), as: 'fetch' as const };

describe('controls for who looks at a sandbox', () => {
  it('orders: by state, page by page, counted, and one with its body', async ({ service }) => {
    const { orders } = service.sandbox;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await placeOrder(service));
    const [oldest = '', , middle = ''] = ids;
    orders.move(middle, 'cancelled');
    expect(orders.counts()).toEqual({ created: 4, confirmed: 0, ready: 0, completed: 0, cancelled: 1, failed: 0 });
    expect(orders.list(9, { status: 'cancelled' }).map(({ id }) => id)).toEqual([middle]);
    const first = orders.list(2, { status: 'created' }).map(({ id }) => id);
    const second = orders.list(9, { status: 'created', before: first[1] ?? '' }).map(({ id }) => id);
    expect([...first, ...second]).toEqual(ids.filter((id) => id !== middle).toReversed());
    expect(orders.list(9, { before: 'nobody' })).toEqual([]);

    await service.sandbox.advance('1 min');
    await service.data('POST', `/order/${oldest}/submit`, GOOD);
    const at = service.sandbox.now();
    const found = orders.find(oldest);
    expect(found).toMatchObject({ customerName: 'Ada Byron', isSubmitted: true, updatedAt: at, order: { id: oldest } });
    expect(found?.createdAt).toEqual(new Date(at.getTime() - 60_000));
    expect(found?.estimatedReadyAt).toEqual(new Date(at.getTime() + 21 * 60_000));
    expect(orders.find('nobody')).toBeNull();
  });

  it('deliveries: counted, one with its bytes, and what each is about', async () => {
    await using service = new Service({ webhooks: [down] });
    const { deliveries, stock } = service.sandbox;
    const id = await placeOrder(service);
    stock.set(PIER, RYE, 7);
    const [ofStock, ofOrder] = deliveries.list();
    expect(ofOrder).toMatchObject({ event: { type: 'order.created', about: id } });
    expect(ofStock).toMatchObject({ event: { type: 'inventory.updated', about: RYE } });
    expect(deliveries.counts()).toEqual({ waiting: 2, delivered: 0, dead: 0, dropped: 0 });
    const { body, ...rest } = deliveries.find(ofOrder?.id ?? 0) ?? { body: new Uint8Array() };
    expect(rest).toEqual(ofOrder);
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({ type: 'order.created', data: { id } });
    expect(deliveries.find(99)).toBeNull();
  });

  it('retries all dead letters of one endpoint, and nothing else', async () => {
    await using service = new Service({ webhooks: [down, down] });
    const { deliveries, webhooks } = service.sandbox;
    await placeOrder(service);
    await placeOrder(service);
    await service.sandbox.advance('40 h');
    await placeOrder(service);
    const [one = '', other = ''] = webhooks.list().map(({ id }) => id);
    expect(deliveries.counts()).toMatchObject({ dead: 4, waiting: 2 });
    expect(deliveries.retryDead(one)).toBe(2);
    expect(deliveries.retryDead(one)).toBe(0);
    expect(deliveries.list({ state: 'dead' }).map(({ endpoint }) => endpoint)).toEqual([other, other]);
    await service.sandbox.advance(0);
    const tries = deliveries.list({ endpoint: one }).map(({ state, tries }) => [state, tries]);
    // The first try, and the retry that follows at once.
    expect(tries).toEqual([
      ['waiting', 2],
      ['dead', 8],
      ['dead', 8],
    ]);
    expect(deliveries.retryDead('nobody')).toBe(0);
  });

  it('the clock: what is due next, in its order', async ({ service }) => {
    const { clock } = service.sandbox;
    expect(clock).toMatchObject({ kind: 'frozen' });
    expect(clock.due()).toEqual([]);
    const id = await placeOrder(service);
    await service.data('POST', `/order/${id}/submit`, GOOD);
    const now = service.sandbox.now().getTime();
    const due = clock.due();
    expect(due.map(({ what, at }) => [what, at.getTime() - now])).toEqual([
      ['delivery', 0],
      ['delivery', 0],
      ['order', 60_000],
    ]);
    expect(due.at(-1)?.id).toBe(id);
    expect(clock.due(1)).toHaveLength(1);
  });

  it('limits: what a key has used, the month for the whole account', async () => {
    await using service = new Service({ plan: 'Free' });
    const { limits, keys } = service.sandbox;
    const [first] = keys.list();
    const other = keys.create();
    await service.call('GET', '/merchant');
    await service.call('GET', '/merchant', undefined, { key: other.key });
    await service.call('GET', '/merchant', undefined, { key: other.key });
    const used = (id: string) => limits.use(id).map(({ length, used, most }) => [length, used, most]);
    expect(limits.plan).toBe('Free');
    expect(used(first?.id ?? '')).toEqual([
      ['second', 1, 5],
      ['ten seconds', 1, 10],
      ['month', 3, 1_000],
    ]);
    expect(used(other.id)).toEqual([
      ['second', 2, 5],
      ['ten seconds', 2, 10],
      ['month', 3, 1_000],
    ]);
    const [second] = limits.use(other.id);
    expect(second?.endsAt.getTime()).toBe(service.sandbox.now().getTime() + 1_000);
    await service.sandbox.advance('1 s');
    expect(used(other.id)[0]).toEqual(['second', 0, 5]);
    await using own = new Service({ plan: { perSecond: 3 } });
    expect(own.sandbox.limits.plan).toBeNull();
    await using none = new Service();
    expect([none.sandbox.limits.plan, none.sandbox.limits.use('any')]).toEqual(['Enterprise', []]);
  });

  it('faults of deliveries: listed in their order, and cleared', async ({ service }) => {
    const { faults } = service.sandbox;
    faults.addToDeliveries('cut', 2);
    faults.addToDeliveries('tampered-body');
    expect(faults.ofDeliveries()).toEqual([
      { id: '1', kind: 'cut', timesLeft: 2 },
      { id: '2', kind: 'tampered-body', timesLeft: 1 },
    ]);
    faults.removeFromDeliveries('1');
    expect(faults.ofDeliveries()).toMatchObject([{ kind: 'tampered-body' }]);
    faults.removeFromDeliveries();
    expect(faults.ofDeliveries()).toEqual([]);
    await placeOrder(service);
    expect(await service.types()).toEqual(['order.created']);
    const unknown = 'explode' as Fault['kind'];
    expect(() => faults.addToDeliveries(unknown)).toThrow("kind must be 'late', 'burst'");
    expect(() => faults.addToDeliveries('cut', 1.5)).toThrow('count must be a whole number');
  });

  it('makes secrets that sign, each another, and the same ones for the same seed', async ({ service }) => {
    await using again = new Service();
    const secrets = [service.sandbox.webhooks.newSecret(), service.sandbox.webhooks.newSecret()];
    expect(new Set(secrets).size).toBe(2);
    expect([again.sandbox.webhooks.newSecret(), again.sandbox.webhooks.newSecret()]).toEqual(secrets);
    const [endpoint] = service.sandbox.webhooks.list();
    expect(service.sandbox.webhooks.change(endpoint?.id ?? '', { secret: secrets[0] ?? '' })).toBe(true);
  });

  it('tells that something has changed', async ({ service }) => {
    const before = service.sandbox.version();
    await service.call('GET', '/merchant');
    expect(service.sandbox.version()).toBe(before);
    await placeOrder(service, LOAF);
    expect(service.sandbox.version()).toBeGreaterThan(before);
  });
});

describe('controls for who runs a sandbox', () => {
  it('a key is found by its value until it expires or is deleted', async ({ service }) => {
    const { keys, apiKey, now } = service.sandbox;
    const { key, id } = keys.create({ name: 'shop', expiresAt: new Date(now().getTime() + 60_000) });
    expect(keys.find(key)).toMatchObject({ id, name: 'shop' });
    expect(keys.find(`${key}x`)).toBeNull();
    await service.sandbox.advance('1 min');
    expect(keys.find(key)).toBeNull();
    const first = keys.find(apiKey);
    keys.delete(first?.id ?? '');
    expect(keys.find(apiKey)).toBeNull();
  });

  it('the key that follows one that has expired works, and as long as that one did', async ({ service }) => {
    const { keys, now } = service.sandbox;
    const old = keys.create({ expiresAt: new Date(now().getTime() + 60_000) });
    await service.sandbox.advance('2 min');
    const { key } = keys.rotate(old.id);
    expect((await service.call('GET', '/merchant', undefined, { key })).status).toBe(200);
    await service.sandbox.advance('1 min');
    expect((await service.call('GET', '/merchant', undefined, { key })).status).toBe(401);
  });

  it('each try of a delivery is told of when its end is written down', async () => {
    const told: [delivery: number, state: string | undefined, tries: number][] = [];
    let answers = 500;
    await using service = new Service({
      webhooks: [{ to: () => new Response(null, { status: answers }), as: 'fetch' }],
      onTry(id) {
        const { deliveries } = service.sandbox;
        told.push([id, deliveries.list()[0]?.state, deliveries.tries(id).length]);
      },
    });
    await service.data('POST', '/order', NEW_ORDER);
    await service.sandbox.advance(0);
    answers = 200;
    await service.sandbox.advance('5 min');
    expect(told).toEqual([
      [1, 'waiting', 1],
      [1, 'waiting', 2],
      [1, 'delivered', 3],
    ]);
  });

  it('plain HTTP from elsewhere is refused, unless it is assumed to be right', async () => {
    const base = 'http://shop.example';
    await using usual = new Service();
    expect((await usual.call('GET', '/merchant', undefined, { base })).status).toBe(403);
    const statuses = ({ sandbox }: Service) =>
      Promise.all(
        ['/checkout/none', '/interface', '/openapi.json'].map(
          async (path) => (await sandbox.fetch(base + path)).status,
        ),
      );
    expect(await statuses(usual)).toEqual([403, 403, 403]);
    await using open = new Service({ assumptions: { plainHttpAnywhere: true } });
    expect((await open.call('GET', '/merchant', undefined, { base })).status).toBe(200);
    expect(await statuses(open)).toEqual([404, 200, 200]);
    const { servers } = (await (await open.sandbox.fetch(`${base}/openapi.json`)).json()) as { servers: object[] };
    expect(servers).toMatchObject([{ url: base, description: 'accepts plain HTTP from any machine' }]);
  });

  it('what there is not is refused: a fault of deliveries, a limit of a plan', async ({ service }) => {
    expect(() => service.sandbox.faults.addToDeliveries('slow' as 'cut')).toThrow("kind must be 'late', 'burst'");
    expect(() => new Service({ plan: { perMinute: 5 } as PlanLimits })).toThrow('plan: unknown option `perMinute`');
  });
});
