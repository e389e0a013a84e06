import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as client from '../../src/client/index.ts';
import { createSandbox, type SandboxOptions, type Sandbox } from '../../src/sandbox/index.ts';

const { createClient, ConnectionError, OutageError, RateLimitExceededError, ServiceError } = client;
const KEY = 'sk_hunter2';

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('it succeeded'),
    (failure: unknown) => failure as Error,
  );
}

async function arrayOf<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}

function sandboxed(options: SandboxOptions = {}, more: Partial<client.ClientOptions> = {}) {
  const sandbox: Sandbox = createSandbox(options);
  onTestFinished(() => sandbox.close());
  const slept: number[] = [];
  const sleep = async (ms: number) => {
    slept.push(ms);
    await sandbox.advance(ms);
  };
  const service = createClient({ apiKey: sandbox.apiKey, fetch: sandbox.fetch, sleep, ...more });
  return { sandbox, service, slept };
}

/** A client of answers that are written here, one for each request. */
function answered(answers: readonly (Response | Error)[], more: Partial<client.ClientOptions> = {}) {
  const requests: Request[] = [];
  const slept: number[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    if (answer === undefined) throw new Error('no answer');
    return answer.clone();
  };
  const sleep = async (ms: number) => void slept.push(ms);
  return { service: createClient({ apiKey: KEY, fetch, sleep, ...more }), requests, slept };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}

const cartData = { data: { id: 'cart_1' }, messages: [] };

describe('on the sandbox', () => {
  it('every operation opens the envelope', async () => {
    const { sandbox, service } = sandboxed();
    const { data: merchants, total } = await service.listMerchants({ size: 1, sort: ['name,desc'] });
    expect(merchants).toHaveLength(1);
    expect(total).toBe(3);
    const { data: found } = await service.searchProducts({ latitude: 37.77, longitude: -122.42, query: 'loaf' });
    expect(found).toEqual(expect.arrayContaining([expect.objectContaining({ id: 'prod_country_loaf' })]));
    const body = { user_id: 'usr_1', location_id: 'loc_bakery_pier', fulfillment_method: 'Pickup' } as const;
    const { data: cart } = await service.createCart(body);
    const item = { product_id: 'prod_country_loaf', product_name: 'Country loaf', quantity: 2 };
    const { data: itemId } = await service.addCartItem(cart, item);
    expect(await service.updateCartItem(cart, itemId, { quantity: 3 })).toMatchObject({ data: true, messages: [] });
    const { data: read } = await service.getCart(cart);
    expect(read).toMatchObject({ id: cart, status: 'Active', items: [{ id: itemId, quantity: 3 }] });
    expect((await service.updateCart(cart, { status: 'Submitted' })).data).toBe(true);
    const { data: order } = await service.createOrder({
      customer: { name: 'Ada' },
      items: [{ product_id: 'prod_country_loaf', quantity: 1 }],
      location_id: 'loc_bakery_pier',
      fulfillment_method: 'Pickup',
    });
    const { data: submitted } = await service.submitOrder(order.id, { payment_method_id: 'pm_ok' });
    expect(submitted).toMatchObject({ id: order.id, total: order.total });
    expect(sandbox.orders.list()).toHaveLength(1);
    expect((await service.createSetupIntent({ merchant_id: 'mer_bakery' })).data.url).toMatch(/^http/);
    const { data: methods } = await service.listPaymentMethods({ merchant_id: 'mer_bakery' });
    expect(methods.map(({ id }) => id)).toContain('pm_ok');
    const { data: category } = await service.getCategory('mer_bakery', 'cat_bread');
    expect(category).toMatchObject({ id: 'cat_bread', merchant_id: 'mer_bakery' });
  });

  it('merchants() reads every page once, also while the listing changes', async () => {
    const { service } = sandboxed();
    const all = await arrayOf(service.merchants({ size: 1 }));
    expect(all.map(({ name }) => name)).toHaveLength(3);
    const pages = [['a', 'b'], ['b', 'c'], ['c']].map((ids) =>
      json(200, { data: ids.map((id) => ({ id })), total: 2 }),
    );
    const shifting = answered(pages);
    expect((await arrayOf(shifting.service.merchants())).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(shifting.requests.map(({ url }) => new URL(url).search)).toEqual(['?page=0', '?page=1', '?page=2']);
  });

  it('a GET and a PUT are repeated after an outage, whether or not it had an effect', async () => {
    const { sandbox, service, slept } = sandboxed();
    const { data: id } = await service.createCart({
      user_id: 'u',
      location_id: 'loc_bakery_pier',
      fulfillment_method: 'Pickup',
    });
    sandbox.faults.add({ kind: 'before', operation: 'getCart', status: 500, times: 2 });
    expect((await service.getCart(id)).data.id).toBe(id);
    expect(slept).toHaveLength(2);
    sandbox.faults.add({ kind: 'before', operation: 'updateCart', status: 502 });
    expect((await service.updateCart(id, { status: 'Cancelled' })).data).toBe(true);
  });

  it.each(['before', 'after'] as const)('a POST is not repeated after an outage %s its effect', async (kind) => {
    const { sandbox, service, slept } = sandboxed();
    const order = {
      customer: {},
      items: [{ product_id: 'prod_country_loaf', quantity: 1 }],
      location_id: 'loc_bakery_pier',
      fulfillment_method: 'Pickup',
    } as const;
    sandbox.faults.add({ kind, operation: 'createOrder' });
    const failure = await failureOf(service.createOrder(order));
    expect(failure).toBeInstanceOf(OutageError);
    expect(failure).toMatchObject({ isEffectUnknown: true, requestId: expect.stringMatching(/^req_/) });
    expect(slept).toEqual([]);
    expect(sandbox.orders.list()).toHaveLength(kind === 'after' ? 1 : 0);
    // The caller accepts a second order.
    sandbox.faults.add({ kind, operation: 'createOrder' });
    await service.createOrder(order, { retryUnknownEffect: true });
    expect(sandbox.orders.list()).toHaveLength(kind === 'after' ? 3 : 1);
  });

  it('an answer that never comes is a timeout whose effect is unknown', async () => {
    const { sandbox, service } = sandboxed({}, { timeoutMs: 50 });
    sandbox.faults.add({ kind: 'lost-answer', operation: 'createSetupIntent' });
    const failure = await failureOf(service.createSetupIntent({ merchant_id: 'mer_bakery' }));
    expect(failure).toMatchObject({ name: 'ConnectionError', code: 'TIMEOUT', isEffectUnknown: true });
    sandbox.faults.add({ kind: 'lost-answer', operation: 'listMerchants' });
    expect((await service.listMerchants()).total).toBe(3);
  });

  it('a 429 is repeated after the wait that the service asks for, for a POST as well', async () => {
    const { service, slept } = sandboxed({ plan: { perSecond: 2 } });
    const carts = [1, 2, 3, 4, 5].map(() =>
      service.createCart({ user_id: 'u', location_id: 'loc_bakery_pier', fulfillment_method: 'Pickup' }),
    );
    const answers = await Promise.all(carts);
    expect(new Set(answers.map(({ data }) => data)).size).toBe(5);
    expect(slept.length).toBeGreaterThan(0);
    expect(slept.every((ms) => ms === 1_000)).toBe(true);
    expect(answers[0]?.limit).toMatchObject({ limit: 2, remaining: expect.any(Number), resetAt: expect.any(Date) });
  });

  it('an error of each code has its class and its fields', async () => {
    const { sandbox, service } = sandboxed();
    const mine = sandbox.keys.create({ permissions: ['carts:read'] });
    const weak = createClient({ apiKey: mine.key, fetch: sandbox.fetch });
    const order = { customer: {}, location_id: 'loc_bakery_pier', fulfillment_method: 'Pickup' } as const;
    const loaf = { product_id: 'prod_country_loaf', quantity: 1 };
    const { data: placed } = await service.createOrder({ ...order, items: [loaf] });
    const stranger = createClient({ apiKey: 'unknown', fetch: sandbox.fetch });
    const cases: readonly (readonly [Promise<unknown>, keyof typeof client, object])[] = [
      [stranger.getCart('c'), 'InvalidApiKeyError', { status: 401 }],
      [weak.listMerchants(), 'InsufficientPermissionsError', { status: 403, requiredPermission: 'merchants:read' }],
      [service.createOrder({ ...order, items: [] }), 'ValidationError', { details: [{ field: 'items' }] }],
      [service.createOrder(order as unknown as client.NewOrder), 'MissingRequiredFieldError', { field: 'items' }],
      [service.getCart('c'), 'ResourceNotFoundError', { resourceType: 'cart', resourceId: 'c' }],
      [
        service.createOrder({ ...order, items: [{ ...loaf, quantity: 1_000_000 }] }),
        'InsufficientInventoryError',
        { productId: 'prod_country_loaf', requestedQuantity: 1_000_000, availableQuantity: expect.any(Number) },
      ],
      [
        service.submitOrder(placed.id, { payment_method_id: 'pm_declined' }),
        'PaymentFailedError',
        { declineReason: expect.any(String), paymentError: expect.any(String) },
      ],
    ];
    for (const [work, name, fields] of cases) {
      const failure = await failureOf(work);
      expect(failure).toMatchObject({
        name,
        isEffectUnknown: false,
        requestId: expect.stringMatching(/^req_/),
        ...fields,
      });
      expect(failure).toBeInstanceOf(Reflect.get(client, name));
      expect(failure).toBeInstanceOf(ServiceError);
    }
    await service.submitOrder(placed.id, { payment_method_id: 'pm_ok' });
    const again = await failureOf(service.submitOrder(placed.id, { payment_method_id: 'pm_ok' }));
    expect(again).toMatchObject({ name: 'ResourceConflictError', status: 409, resourceState: 'submitted' });
  });
});

describe('on answers from the tables of the interface', () => {
  it.each([
    ['seconds in the header', json(429, {}, { 'X-RateLimit-Retry-After': '2' }), 2_000, null],
    ['fields inside error', json(429, { error: { retry_after: 3, reset: 1_767_225_600, limit: 5 } }), 3_000, 5],
    ['fields beside error', json(429, { retry_after: 4, reset: '2026-01-01T00:00:00Z', error: {} }), 4_000, null],
    ['the standard header', json(429, {}, { 'Retry-After': '5' }), 5_000, null],
  ])('a 429 with %s', async (_, answer, retryAfterMs, limit) => {
    const { service, requests, slept } = answered([answer, answer, json(200, cartData)]);
    expect((await service.getCart('c')).data.id).toBe('cart_1');
    expect(slept).toEqual([retryAfterMs, retryAfterMs]);
    expect(requests).toHaveLength(3);
    const failure = await failureOf(answered([answer], { retry: { attempts: 1 } }).service.getCart('c'));
    expect(failure).toBeInstanceOf(RateLimitExceededError);
    expect(failure).toMatchObject({ retryAfterMs, limit });
    if (limit !== null) expect(failure).toMatchObject({ resetAt: new Date('2026-01-01') });
  });

  it('a wait above maxWaitMs fails at once, and a 429 without a wait backs off', async () => {
    const long = answered([json(429, { error: { retry_after: 61 } })]);
    expect(await failureOf(long.service.getCart('c'))).toMatchObject({ retryAfterMs: 61_000 });
    expect(long.requests).toHaveLength(1);
    const silent = answered([json(429, {})], { retry: { attempts: 4, baseMs: 100, maxMs: 150 } });
    await failureOf(silent.service.getCart('c'));
    expect(silent.requests).toHaveLength(4);
    expect(silent.slept.every((ms, n) => ms <= (n === 0 ? 100 : 150))).toBe(true);
  });

  it.each([400, 401, 403, 404, 409, 422, 418])('a %d is never repeated', async (status) => {
    const { service, requests } = answered([json(status, { error: { code: 'NEW_CODE', message: 'no' } })]);
    const failure = await failureOf(service.listMerchants());
    expect(failure).toMatchObject({ name: 'UnexpectedAnswerError', status, message: 'no' });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['a page of a proxy', new Response('<html>', { status: 502 }), OutageError],
    ['a success without JSON', new Response('<html>'), client.UnexpectedAnswerError],
    ['a success without data', json(200, { messages: [] }), client.UnexpectedAnswerError],
    ['a success without a body', new Response(null, { status: 204 }), client.UnexpectedAnswerError],
    ['a redirect', Response.redirect('https://elsewhere.example/'), client.UnexpectedAnswerError],
    ['an error that is a list', json(500, []), OutageError],
  ])('%s is an error that says whether a POST may have acted', async (_, answer, type) => {
    const { service, requests } = answered([answer]);
    const failure = await failureOf(service.createSetupIntent({ merchant_id: 'm' }));
    expect(failure).toBeInstanceOf(type);
    expect(failure).toMatchObject({ isEffectUnknown: answer.status < 300 || answer.status >= 500 });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.redirect).toBe('manual');
  });

  it('messages and limits are read, and half a limit is none', async () => {
    const messages = [{ context: 'cart', level: 'Warning', text: 'soon gone', data: {} }];
    const headers = { 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset': '1767225600' };
    const { service } = answered([json(200, { data: [], messages, total: 0 }, headers)]);
    expect(await service.listMerchants()).toEqual({
      data: [],
      messages,
      total: 0,
      limit: { limit: 5, remaining: 4, resetAt: new Date('2026-01-01') },
    });
    const half = answered([json(200, { data: true }, { 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': 'many' })]);
    expect(await half.service.getCart('c')).toEqual({ data: true, messages: [], limit: null });
  });

  it('waitForLimit waits by the clock of the service, and not without it', async () => {
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
    const used = {
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1767225630',
      Date: date,
    };
    const waiting = answered([json(200, cartData, used), json(200, cartData)], { waitForLimit: true });
    await waiting.service.getCart('c');
    expect(waiting.slept).toEqual([]);
    await waiting.service.getCart('c');
    expect(waiting.slept).toHaveLength(1);
    expect(waiting.slept[0]).toBeGreaterThan(20_000);
    expect(waiting.slept[0]).toBeLessThanOrEqual(30_000);
    const eager = answered([json(200, cartData, used)]);
    await eager.service.getCart('c');
    await eager.service.getCart('c');
    expect(eager.slept).toEqual([]);
  });

  it('a path parameter stays in its segment, and a query in its value', async () => {
    const { service, requests } = answered([json(200, cartData)], { baseUrl: 'https://service.example/v1/' });
    await service.getCart('a/../b?c#d é');
    expect(requests[0]?.url).toBe('https://service.example/v1/cart/a%2F..%2Fb%3Fc%23d%20%C3%A9');
    await service.listMerchants({ sort: ['name,asc', 'id'], page: 0, size: undefined as never });
    expect(new URL(requests[1]?.url ?? '').search).toBe('?sort=name%2Casc&sort=id&page=0');
    for (const id of ['', '.', '..', undefined, 5, '\ud800']) {
      await expect(service.getCart(id as string)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    }
    await expect(service.createOrder(undefined as never)).rejects.toThrow('createOrder: the body must be an object');
    await expect(service.getCart('c', { retry: 1 } as never)).rejects.toThrow('unknown option `retry`');
    expect(requests).toHaveLength(2);
  });

  it('the key is asked for each time, sent without a scheme, and never shown', async () => {
    const keys = [KEY, 'sk_second', 'bad\nkey'];
    const outage = json(503, { error: { message: 'down' } });
    const { service, requests } = answered([outage, json(200, cartData)], { apiKey: async () => keys.shift() ?? '' });
    await service.getCart('c');
    expect(requests.map(({ headers }) => headers.get('authorization'))).toEqual([KEY, 'sk_second']);
    const failure = await failureOf(service.getCart('c'));
    expect(failure).toMatchObject({ code: 'INVALID_OPTION' });
    expect(String(failure)).not.toContain('bad');
    const down = answered([new TypeError('fetch failed', { cause: { code: 'ECONNRESET', key: KEY } })]);
    const lost = await failureOf(down.service.createCart({}));
    expect(lost).toMatchObject({
      code: 'CONNECTION_FAILED',
      message: 'The connection to the service failed: ECONNRESET.',
    });
    expect(JSON.stringify(lost) + String(lost)).not.toContain(KEY);
  });

  it.each([
    ['ECONNREFUSED', 'connect', 2],
    ['ENOTFOUND', 'getaddrinfo', 2],
    ['EHOSTUNREACH', 'connect', 2],
    ['EHOSTUNREACH', 'read', 1],
    ['ECONNRESET', 'read', 1],
  ])('a POST that failed with %s of %s is sent %d times', async (code, syscall, times) => {
    const failed = new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code, syscall }) });
    const { service, requests } = answered([failed, json(201, { data: 'cart_2' })]);
    const end = await service.createCart({}).then(
      ({ data }) => data,
      (failure: unknown) => failure,
    );
    if (times === 2) expect(end).toBe('cart_2');
    else expect(end).toMatchObject({ code: 'CONNECTION_FAILED', isEffectUnknown: true });
    expect(requests).toHaveLength(times);
  });

  it('a mistake in an own fetch is named, and its text is not shown', async () => {
    const { service } = answered([new RangeError(KEY)], { retry: { attempts: 1 } });
    expect(await failureOf(service.listMerchants())).toMatchObject({
      message: 'The connection to the service failed: RangeError.',
    });
  });

  it('a key that does not come is bounded by the time and the signal, and its failure ends no process', async () => {
    const hanging = { apiKey: () => new Promise<string>(() => {}), timeoutMs: 20, retry: { attempts: 1 } };
    const late = await failureOf(answered([json(200, cartData)], hanging).service.createCart({}));
    expect(late).toMatchObject({ code: 'TIMEOUT', isEffectUnknown: false });
    const stop = new AbortController();
    const { promise: key, reject } = Promise.withResolvers<string>();
    const stopped = answered([json(200, cartData)], { apiKey: () => key, signal: stop.signal });
    const pending = failureOf(stopped.service.getCart('c'));
    stop.abort(new Error('enough'));
    expect(await pending).toMatchObject({ message: 'enough' });
    reject(new Error('no key')); // an unhandled rejection would fail the run
    await failureOf(stopped.service.getCart('c'));
    expect(stopped.requests).toEqual([]);
  });

  it.each([
    ['of the call', () => ({}), (signal: AbortSignal) => ({ signal })],
    ['of the client', (signal: AbortSignal) => ({ signal }), () => ({})],
  ])('a signal %s ends the request and the waits', async (_, ofClient, ofCall) => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const hanging = createClient({ apiKey: KEY, fetch: () => new Promise(() => {}), ...ofClient(stop.signal) });
    const pending = failureOf(hanging.getCart('c', ofCall(stop.signal)));
    stop.abort(reason);
    expect(await pending).toBe(reason);
    const never = { sleep: () => new Promise(() => {}), ...ofClient(stop.signal) };
    expect(await failureOf(answered([json(500, {})], never).service.getCart('c', ofCall(stop.signal)))).toBe(reason);
  });
});

describe('options', () => {
  const fine = { apiKey: KEY, baseUrl: 'https://service.example' };
  it.each<[string, unknown]>([
    ['no address', { apiKey: KEY }],
    ['plain http', { ...fine, baseUrl: 'http://service.example' }],
    ['a password in the address', { ...fine, baseUrl: 'https://u:hunter2@service.example' }],
    ['a query in the address', { ...fine, baseUrl: 'https://service.example?key=hunter2' }],
    ['no address at all', { ...fine, baseUrl: 'hunter2' }],
    ['no key', { baseUrl: fine.baseUrl }],
    ['an empty key', { ...fine, apiKey: '' }],
    ['a key with a line break', { ...fine, apiKey: 'hunter2\n' }],
    ['no attempts', { ...fine, retry: { attempts: 0 } }],
    ['an unknown retry option', { ...fine, retry: { times: 3 } }],
    ['no time', { ...fine, timeoutMs: 0 }],
  ])('%s is refused in a sentence that does not repeat it', (_, options) => {
    const create = () => createClient(options as client.ClientOptions);
    expect(create).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(create).not.toThrow(/hunter2/);
  });

  it.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000/v1'])(
    '%s is this machine',
    (baseUrl) => {
      expect(() => createClient({ apiKey: KEY, baseUrl })).not.toThrow();
    },
  );
});

describe('over a real connection', () => {
  it('sends JSON, reads an answer that comes in pieces, and gives up one that stops', async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (body) => {
        seen.push([request.method, request.url, request.headers['content-type'], body]);
        response.writeHead(201, { 'content-type': 'application/json' });
        response.write('{"data":"ca');
        if (seen.length === 1) setTimeout(() => response.end('rt_1","messages":[]}'), 20);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const service = createClient({ apiKey: KEY, baseUrl: `http://127.0.0.1:${port}/v1`, timeoutMs: 300 });
    expect((await service.createCart({ user_id: 'u' })).data).toBe('cart_1');
    expect(seen).toEqual([['POST', '/v1/cart', 'application/json', '{"user_id":"u"}']]);
    const failure = await failureOf(service.createCart({}));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ code: 'TIMEOUT', isEffectUnknown: true });
  });

  it('a port where nothing listens is a connection error without an effect', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => void server.close(resolve));
    const service = createClient({
      apiKey: KEY,
      baseUrl: `http://127.0.0.1:${port}`,
      retry: { attempts: 2, baseMs: 1 },
    });
    expect(await failureOf(service.createCart({}))).toMatchObject({
      code: 'CONNECTION_FAILED',
      isEffectUnknown: false,
    });
  });
});
