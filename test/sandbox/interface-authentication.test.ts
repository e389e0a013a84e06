import { describe, expect, it } from 'vitest';
import type { Permission } from '../../src/sandbox/service-operations.ts';
import { NEW_CART, NEW_ITEM, NEW_ORDER, Service } from './service.ts';

/** Section 4 with A8: each operation, what it needs, and a request that gets past the check of permissions. */
const OPERATIONS: readonly [method: string, path: string, permission: Permission, body?: object][] = [
  ['POST', '/cart', 'carts:write', NEW_CART],
  ['GET', '/cart/c', 'carts:read'],
  ['PUT', '/cart/c', 'carts:write', { status: 'Active' }],
  ['POST', '/cart/c/item', 'carts:write', NEW_ITEM],
  ['PUT', '/cart/c/item/i', 'carts:write', { quantity: 1 }],
  ['POST', '/order', 'orders:write', NEW_ORDER],
  ['POST', '/order/o/submit', 'orders:write', { payment_method_id: 'pm_ok' }],
  ['POST', '/payment-method/setup-intent', 'payment_methods:write', { merchant_id: 'mer_books' }],
  ['GET', '/payment-method', 'payment_methods:read'],
  ['GET', '/merchant', 'merchants:read'],
  ['GET', '/merchant/mer_bakery/category/cat_bread', 'merchants:read'],
  ['GET', '/product?latitude=0&longitude=0', 'products:read'],
  ['GET', '/v1/product?latitude=0&longitude=0', 'products:read'],
];

const ALL: readonly Permission[] = [
  'carts:read',
  'carts:write',
  'orders:write',
  'payment_methods:read',
  'payment_methods:write',
  'merchants:read',
  'products:read',
];

describe('section 5', () => {
  it.each(OPERATIONS)('5.1, 5.5: %s %s needs a key, alone in Authorization', async (method, path, _, body) => {
    await using service = new Service();
    const { apiKey } = service.sandbox;
    for (const key of [
      null,
      '',
      'nobody',
      `Bearer ${apiKey}`,
      apiKey.toLowerCase(),
      `${apiKey}x`,
      apiKey.slice(0, -1),
    ]) {
      const answer = await service.call(method, path, body, { key });
      expect(answer.status).toBe(401);
      expect(Object.keys(answer.body.error ?? {}).toSorted()).toEqual(['code', 'message', 'request_id']);
      expect(answer.body.error?.['code']).toBe('INVALID_API_KEY');
      expect(JSON.stringify(answer.body)).not.toContain(apiKey.slice(0, 12));
    }
  });

  it.each(OPERATIONS)('5.6: %s %s needs %s, and no other permission', async (method, path, permission, body) => {
    await using service = new Service();
    const { keys } = service.sandbox;
    const others = keys.create({ permissions: ALL.filter((one) => one !== permission) });
    const refused = await service.call(method, path, body, { key: others.key });
    expect(refused.status).toBe(403);
    expect(refused.body.error).toMatchObject({ code: 'INSUFFICIENT_PERMISSIONS', required_permission: permission });
    const only = keys.create({ permissions: [permission] });
    expect((await service.call(method, path, body, { key: only.key })).status).not.toBe(403);
  });

  it('5.2, 5.7: a key is shown once; both work while both exist', async () => {
    await using service = new Service();
    const { keys } = service.sandbox;
    const old = keys.create({ name: 'till', permissions: ['merchants:read'] });
    const works = async (key: string): Promise<boolean> => {
      return (await service.call('GET', '/merchant', undefined, { key })).status === 200;
    };
    const fresh = keys.rotate(old.id);
    expect(fresh).toMatchObject({ name: 'till', permissions: ['merchants:read'] });
    expect([await works(old.key), await works(fresh.key)]).toEqual([true, true]);
    keys.delete(old.id);
    expect([await works(old.key), await works(fresh.key)]).toEqual([false, true]);
    expect(JSON.stringify(keys.list())).not.toContain(fresh.key);
    expect(() => keys.delete(old.id)).toThrow('No api key has this id.');
    expect(() => keys.rotate(old.id)).toThrow('No api key has this id.');
  });

  it('5.5: a key expires by the clock of the sandbox', async () => {
    await using service = new Service();
    const { sandbox } = service;
    const { key } = sandbox.keys.create({ expiresAt: new Date(sandbox.now().getTime() + 60_000) });
    const status = async (): Promise<number> => (await service.call('GET', '/merchant', undefined, { key })).status;
    await sandbox.advance(59_999);
    expect(await status()).toBe(200);
    await sandbox.advance(1);
    expect(await status()).toBe(401);
  });

  it.each([
    'http://api.example.com',
    'http://10.0.0.7:3000',
    'http://localhost.example.com',
    'http://127.0.0.1.example',
  ])('5.4: plain HTTP is rejected, even with the right key: %s', async (base) => {
    await using service = new Service();
    const answer = await service.call('POST', '/cart', NEW_CART, { base });
    expect(answer.status).toBe(403);
    expect(answer.body.error?.['message']).toContain('HTTPS');
  });

  it.each([
    'https://api.example.com',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:8080',
    'http://sandbox',
  ])('5.4: %s is accepted', async (base) => {
    await using service = new Service();
    expect((await service.call('GET', '/merchant', undefined, { base })).status).toBe(200);
  });

  it('5.4: a name of this machine does not help who comes from elsewhere', async () => {
    await using service = new Service();
    const request = (): Request =>
      new Request('http://localhost/merchant', { headers: { Authorization: service.sandbox.apiKey } });
    const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });
    expect((await service.sandbox.fetch(request(), from('10.0.0.7'))).status).toBe(403);
    expect((await service.sandbox.fetch(request(), from('127.0.0.1'))).status).toBe(200);
  });

  it('a key with a permission that does not exist is not made', async () => {
    await using service = new Service();
    expect(() => service.sandbox.keys.create({ permissions: ['carts:eat' as Permission] })).toThrow(
      "permissions must be a list of 'carts:read'",
    );
  });
});
