import { expect, it } from 'vitest';
import type { Permission } from '../../src/sandbox/service-operations.ts';
import { NEW_CART, NEW_ITEM, NEW_ORDER, Service, type Answer } from './service.ts';

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

it.each(OPERATIONS)('5.1, 5.5: %s %s needs a key, alone in Authorization', async (method, path, _, body) => {
  await using service = new Service();
  const { apiKey } = service.sandbox;
  for (const key of [null, '', 'nobody', `Bearer ${apiKey}`, apiKey.toLowerCase(), `${apiKey}x`, apiKey.slice(0, -1)]) {
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

it.each(['http://api.example.com', 'http://10.0.0.7:3000', 'http://localhost.example.com', 'http://127.0.0.1.example'])(
  '5.4: plain HTTP is rejected, even with the right key: %s',
  async (base) => {
    await using service = new Service();
    const answer = await service.call('POST', '/cart', NEW_CART, { base });
    expect(answer.status).toBe(403);
    expect(answer.body.error?.['message']).toContain('HTTPS');
  },
);

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

const LIST = ['GET', '/payment-method'] as const;

async function times(service: Service, count: number): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let n = 0; n < count; n += 1) answers.push(await service.call(...LIST));
  return answers;
}

function limitHeaders({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));
}

const statuses = (answers: readonly Answer[]): readonly number[] => [...new Set(answers.map(({ status }) => status))];

// The table of plans: per month, per second, per 10 seconds.
it.each([
  ['Free', 1_000, 5, 10],
  ['Developer', 50_000, 25, 100],
  ['Business', 500_000, 100, 500],
] as const)('8.2 %s: %d a month, %d a second, %d in 10 seconds', async (plan, _, perSecond, burst) => {
  await using service = new Service({ plan });
  for (let sent = 0; sent < burst; sent += perSecond) {
    expect(statuses(await times(service, perSecond))).toEqual([200]);
    const [refused] = (await times(service, 1)) as [Answer];
    expect(refused.status).toBe(429);
    await service.sandbox.advance('1 s');
  }
  const [refused] = (await times(service, 1)) as [Answer];
  expect(limitHeaders(refused)).toMatchObject({ 'x-ratelimit-limit': String(burst), 'x-ratelimit-remaining': '0' });
  await service.sandbox.advance('10 s');
  expect(statuses(await times(service, 1))).toEqual([200]);
});

it('8.2 Free: 1,000 a month, however slowly', async () => {
  await using service = new Service({ plan: { perMonth: 1_000 }, signedUpAt: new Date('2025-11-20T15:00:00Z') });
  expect(statuses(await times(service, 1_000))).toEqual([200]);
  const [refused] = (await times(service, 1)) as [Answer];
  // It is the first of January, and the month of somebody who signed up on a 20th ends then.
  const reset = Date.parse('2026-01-20T00:00:00Z') / 1_000;
  const wait = 19 * 86_400;
  expect(limitHeaders(refused)).toEqual({
    'x-ratelimit-limit': '1000',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(reset),
    'x-ratelimit-retry-after': String(wait),
  });
  expect(refused.body.error).toMatchObject({ limit: 1_000, remaining: 0, reset, retry_after: wait });
  const { key } = service.sandbox.keys.create();
  expect((await service.call(...LIST, undefined, { key })).status).toBe(429); // another key is no new month
  await service.sandbox.advance(wait * 1_000 - 1);
  expect(statuses(await times(service, 1))).toEqual([429]);
  await service.sandbox.advance(1);
  expect(statuses(await times(service, 1_000))).toEqual([200]);
});

it.each([
  ['2025-12-31T23:00:00Z', '2026-02-10T00:00:00Z', '2026-02-28T00:00:00Z'],
  ['2025-12-31T23:00:00Z', '2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z'],
  ['2025-12-05T00:00:00Z', '2025-12-31T23:59:59Z', '2026-01-05T00:00:00Z'],
  ['2024-02-29T10:00:00Z', '2028-02-28T23:59:59Z', '2028-02-29T00:00:00Z'],
])('8.3 signed up at %s, now %s: the month ends at %s', async (signedUp, now, end) => {
  await using service = new Service({
    plan: { perMonth: 5 },
    signedUpAt: new Date(signedUp),
    startAt: new Date(now),
  });
  const [answer] = (await times(service, 1)) as [Answer];
  expect(limitHeaders(answer)['x-ratelimit-reset']).toBe(String(Date.parse(end) / 1_000));
});

it('8.4 the headers are those of the window with least left', async () => {
  await using service = new Service({ plan: 'Free', startAt: new Date('2026-01-01T00:00:01.300Z') });
  const now = Date.parse('2026-01-01T00:00:00Z') / 1_000;
  const answers = await times(service, 5);
  expect(answers.map((answer) => limitHeaders(answer)['x-ratelimit-remaining'])).toEqual(['4', '3', '2', '1', '0']);
  expect(limitHeaders(answers[4] as Answer)).toEqual({
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(now + 2),
  });
  await service.sandbox.advance('1 s');
  const later = await times(service, 2);
  expect(limitHeaders(later[1] as Answer)).toEqual({
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '3',
    'x-ratelimit-reset': String(now + 3),
  });
  const more = await times(service, 1);
  expect(limitHeaders(more[0] as Answer)).toMatchObject({ 'x-ratelimit-remaining': '2' });
  await service.sandbox.advance('1 s');
  const [burst] = (await times(service, 1)) as [Answer];
  expect(limitHeaders(burst)).toEqual({
    'x-ratelimit-limit': '10',
    'x-ratelimit-remaining': '1',
    'x-ratelimit-reset': String(now + 10),
  });
});

it('8.5 the body of a 429', async () => {
  await using service = new Service({ plan: { perSecond: 1 } });
  const [, refused] = (await times(service, 2)) as [Answer, Answer];
  const { code, message, request_id, ...rest } = refused.body.error ?? {};
  expect(code).toBe('RATE_LIMIT_EXCEEDED');
  expect([typeof message, typeof request_id]).toEqual(['string', 'string']);
  const reset = Date.parse('2026-01-01T00:00:01Z') / 1_000;
  expect(rest).toEqual({ limit: 1, remaining: 0, reset, retry_after: 1 });
  expect(limitHeaders(refused)['x-ratelimit-retry-after']).toBe('1');
});

it('8.5 reset is ISO 8601 in the body where that is set, and Unix in the header', async () => {
  await using service = new Service({ plan: { perSecond: 1 }, assumptions: { resetAsIso: true } });
  const [, refused] = (await times(service, 2)) as [Answer, Answer];
  expect(refused.body.error?.['reset']).toBe('2026-01-01T00:00:01.000Z');
  expect(limitHeaders(refused)['x-ratelimit-reset']).toMatch(/^\d+$/);
});

it.each([
  ['perMinute', '60 s'],
  ['perHour', '60 min'],
  ['perDay', '24 h'],
] as const)('8.1 a window %s, off unless set', async (name, length) => {
  await using service = new Service({ assumptions: { [name]: 3 } });
  const answers = await times(service, 4);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  await service.sandbox.advance(length);
  expect(statuses(await times(service, 1))).toEqual([200]);
});

it('8.1 each key has its own windows', async () => {
  await using service = new Service({ plan: { perSecond: 1 } });
  const { key } = service.sandbox.keys.create();
  expect(statuses(await times(service, 1))).toEqual([200]);
  expect((await service.call(...LIST, undefined, { key })).status).toBe(200);
  expect((await service.call(...LIST, undefined, { key })).status).toBe(429);
});

it('401 is not counted, nor what is refused; whatever else is answered is', async () => {
  await using service = new Service({ plan: { perSecond: 3 } });
  await service.call(...LIST, undefined, { key: 'nobody' });
  expect((await service.call('GET', '/nowhere')).status).toBe(404);
  expect((await service.call('POST', '/cart', {})).status).toBe(400);
  expect((await times(service, 1))[0]?.status).toBe(200);
  for (const { status } of await times(service, 3)) expect(status).toBe(429);
  const limits = await service.call(...LIST, undefined, { key: 'nobody' });
  expect(limitHeaders(limits)).toEqual({});
});

it('without a limit there are no such headers', async () => {
  await using service = new Service();
  expect(limitHeaders((await times(service, 1))[0] as Answer)).toEqual({});
});

it.each([{ plan: 'Gold' as 'Free' }, { plan: { perSecond: 0 } }, { assumptions: { perDay: -1 } }])(
  'limits that cannot work are refused: %o',
  (options) => {
    expect(() => new Service(options)).toThrow(/plan|perDay/);
  },
);
