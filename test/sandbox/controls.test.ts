import { expect, test } from 'vitest';
import type { PlanLimits } from '../../src/sandbox/index.ts';
import { NEW_ORDER, Service } from './service.ts';

test('a key is found by its value until it expires or is deleted', async () => {
  await using service = new Service();
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

test('each try of a delivery is told of when its end is written down', async () => {
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

test('plain HTTP from elsewhere is refused, unless it is assumed to be right', async () => {
  const base = 'http://shop.example';
  await using usual = new Service();
  expect((await usual.call('GET', '/merchant', undefined, { base })).status).toBe(403);
  expect((await usual.sandbox.fetch(`${base}/checkout/none`)).status).toBe(403);
  await using open = new Service({ assumptions: { plainHttpAnywhere: true } });
  expect((await open.call('GET', '/merchant', undefined, { base })).status).toBe(200);
  expect((await open.sandbox.fetch(`${base}/checkout/none`)).status).toBe(404);
});

test('what there is not is refused: a fault of deliveries, a limit of a plan', async () => {
  await using service = new Service();
  expect(() => service.sandbox.faults.addToDeliveries('slow' as 'cut')).toThrow('is one of late, burst');
  expect(() => new Service({ plan: { perMinute: 5 } as PlanLimits })).toThrow('there is no limit "perMinute"');
});
