import { describe, expect, it } from 'vitest';
import { verifySignature } from '../../src/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { PERMISSIONS } from '../../src/sandbox/service-operations.ts';
import { sandboxPage } from '../../src/sandbox/page/sandbox-page.tsx';
import { serveApp } from '../adapters/served-app.ts';
import { partOf, textOf } from '../ops/page/read-html.ts';
import { buttonsOf, FormUser, ORIGIN, readForm } from './dashboard-forms.ts';
import { LOAF, NEW_ORDER, PIER, placeOrder, Service } from './service.ts';

const KEY = /sbx_[\w-]{32}/;
const SECRET = /whsec_[\w-]{32}/;

describe('with plain forms alone', () => {
  it.each(PERMISSIONS)('a key with %s alone is shown with a request that it may send', async (permission) => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const made = await user.send(await user.open('/keys'), 'Create a key', { permissions: [permission] });
    const line = /curl .*/.exec(made.text)?.[0] ?? '';
    const [, method = 'GET', url = ''] = /^curl (?:-X (\w+) )?"([^"]+)"/.exec(line) ?? [];
    const [, key = ''] = /-H "Authorization: (sbx_[\w-]{32})"/.exec(line) ?? [];
    const [, body] = / -d '([^']+)'/.exec(line) ?? [];
    const headers = { Authorization: key, 'Content-Type': 'application/json' };
    const path = url.replace(/^http:\/\/[^/]+/, '');
    const answer = await sandbox.fetch(`http://sandbox${path}`, { method, headers, ...(body && { body }) });
    // A cart is made first.
    expect([line, answer.status]).toEqual([line, permission === 'carts:read' ? 404 : method === 'GET' ? 200 : 201]);
  });

  it('a key is made, an endpoint registered, an order moved, its webhook dead-lettered and retried', async () => {
    let isDown = true;
    const seen: { readonly body: string; readonly signature: string | null }[] = [];
    const receiver = async (request: Request) => {
      seen.push({ body: await request.text(), signature: request.headers.get('x-signature') });
      return new Response(null, { status: isDown ? 500 : 200 });
    };
    await using served = await serveApp({ fetch: receiver });
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);

    const made = await user.send(await user.open('/keys'), 'Create a key', {
      name: 'curl',
      permissions: ['orders:write', 'merchants:read'],
      expires: '30 d',
    });
    expect([made.status, made.path]).toEqual([200, '/keys']);
    const key = KEY.exec(made.text)?.[0] ?? '';
    const keys = await user.open('/keys');
    expect(keys.text).toMatch(/curl key_\w+ orders:write, merchants:read .*31 Jan 00:00/);
    expect(keys.html).not.toMatch(KEY);

    const registered = await user.send(await user.open('/webhooks'), 'Register an endpoint', { url: served.url });
    const secret = SECRET.exec(registered.text)?.[0] ?? '';
    expect((await user.open('/webhooks')).html).not.toMatch(SECRET);

    const headers = { Authorization: key, 'Content-Type': 'application/json' };
    const body = JSON.stringify(NEW_ORDER);
    const placed = await sandbox.fetch('http://sandbox/order', { method: 'POST', headers, body });
    const { data } = (await placed.json()) as { data: { id: string } };
    expect((await sandbox.fetch('http://sandbox/payment-method', { headers })).status).toBe(403);

    const board = await user.open('');
    expect(buttonsOf(board.html)).toEqual(
      expect.arrayContaining([`Confirm order ${data.id}`, `Cancel order ${data.id}`, `Fail order ${data.id}`]),
    );
    expect(buttonsOf(board.html)).not.toContain(`Complete order ${data.id}`);
    const moved = await user.send(board, `Move order ${data.id}`, {}, `Confirm order ${data.id}`);
    expect(moved.said).toContain('The status of the order was changed');
    expect(sandbox.orders.find(data.id)?.status).toBe('confirmed');
    expect(buttonsOf(moved.html)).toContain(`Mark ready order ${data.id}`);

    const waited = await user.send(await user.open('/clock'), 'Advance the clock by another duration', { by: '40 h' });
    expect(waited.said).toBe('The clock advanced by 1 d 16 h, and all work that was due is done.');
    const dead = await user.open('/deliveries?state=dead');
    expect(dead.text).toMatch(/order\.confirmed .* dead answered 500 7 attempts for order\.confirmed Retry/);

    isDown = false;
    const [first] = sandbox.deliveries.list({ state: 'dead' });
    const retried = await user.send(dead, `Retry delivery ${first?.id}`);
    expect(retried.said).toContain('The delivery will be retried.');
    expect(retried.text).toContain('state waiting');
    const all = await user.open('/deliveries');
    const [endpoint] = sandbox.webhooks.list();
    const rest = await user.send(all, `Retry all dead letters for ${endpoint?.id}`);
    expect(rest.said).toMatch(/^\d dead letters? will be retried/);
    const sent = await user.send(rest, 'Send due deliveries');
    expect(sent.said).toBe('All due work is done.');
    expect(sandbox.deliveries.counts()).toMatchObject({ dead: 0, waiting: 0 });
    expect((await user.open(`/deliveries/${first?.id}`)).text).toMatch(/8 .* 200 manual/);
    for (const { body, signature } of seen) expect(verifySignature(Buffer.from(body), signature, secret)).toBe(true);
  });

  it('keys are rotated and deleted; the old one works until then', async () => {
    await using service = new Service();
    const user = new FormUser(service.sandbox);
    const [old] = service.sandbox.keys.list();
    const rotated = await user.send(await user.open('/keys'), `Rotate the key ${old?.id}`);
    const key = KEY.exec(rotated.text)?.[0] ?? '';
    const statusOf = async (key: string): Promise<number> =>
      (await service.call('GET', '/merchant', undefined, { key })).status;
    expect([await statusOf(service.sandbox.apiKey), await statusOf(key)]).toEqual([200, 200]);
    const form = readForm((await user.open('/keys')).html, 'Delete the key first');
    const deleted = await user.post({ ...form, action: `/dashboard/keys/${old?.id}/delete` });
    expect(deleted.said).toContain('The key was deleted');
    expect([await statusOf(service.sandbox.apiKey), await statusOf(key)]).toEqual([401, 200]);
  });

  it('endpoints are changed, given another secret, and removed', async () => {
    await using sandbox = createSandbox({ allowRemote: true });
    const user = new FormUser(sandbox);
    const asked = { url: 'https://shop.example/a', signing: 'own', secret: ' of the shop ', events: ['order.ready'] };
    const registered = await user.send(await user.open('/webhooks'), 'Register an endpoint', asked);
    expect(registered.said).toContain('The endpoint was registered.');
    expect(registered.html).not.toContain('of the shop');
    const [{ id } = { id: '' }] = sandbox.webhooks.list();
    expect(sandbox.webhooks.list()).toMatchObject([{ url: asked.url, isSigned: true, events: ['order.ready'] }]);
    const one = await user.open(`/webhooks/${id}`);
    const changes = { url: 'https://shop.example/b', events: ['order.ready', 'cart.abandoned'] };
    expect((await user.send(one, 'Change the endpoint', changes)).said).toBe('The endpoint was changed.');
    expect(sandbox.webhooks.list()).toMatchObject([changes]);
    expect((await user.send(one, 'Replace the secret')).text).toMatch(SECRET);
    const stale = await user.open(`/webhooks/${id}`);
    expect((await user.send(one, 'Remove the endpoint')).said).toContain(
      'The endpoint and its pending deliveries were removed',
    );
    expect(sandbox.webhooks.list()).toEqual([]);
    for (const act of ['Change the endpoint', 'Replace the secret', 'Remove the endpoint']) {
      expect([act, (await user.send(stale, act)).status]).toEqual([act, 404]);
    }
    expect((await user.open(`/webhooks/${id}`)).status).toBe(404);
  });

  it('stock is set, and faults are set and cleared', async () => {
    await using service = new Service();
    const { sandbox } = service;
    const user = new FormUser(sandbox);
    const set = `Set the stock of Country loaf at ${PIER}`;
    expect((await user.send(await user.open('/stock'), set, { quantity: '3' })).said).toBe('The stock is now 3.');
    expect(
      sandbox.stock.list().find(({ productId, locationId }) => productId === LOAF && locationId === PIER),
    ).toMatchObject({ quantity: 3 });

    const faults = await user.open('/faults');
    await user.send(faults, 'Add Outage before', { operation: 'createOrder', times: '2', status: '500' });
    await user.send(faults, 'Add Slow answer', { ms: '5', operation: 'getCart' });
    await user.send(faults, 'Add Cut connection', { times: '4' });
    await user.send(faults, 'Add Late');
    expect(sandbox.faults.list()).toMatchObject([
      { kind: 'before', operation: 'createOrder', timesLeft: 2, status: 500 },
      { kind: 'slow', ms: 5, operation: 'getCart', timesLeft: 1 },
    ]);
    expect((await service.call('POST', '/order', NEW_ORDER)).status).toBe(500);
    const set2 = await user.open('/faults');
    expect(set2.text).toMatch(
      /Outage before Create Order status 500 × 1 End .* Cut connection next deliveries × 4 End/,
    );
    for (const path of ['', '/keys']) {
      const chips = textOf(partOf((await user.open(path)).html, 'active-faults'));
      expect([path, chips]).toEqual([path, 'Outage before × 1 Slow answer × 1 Cut connection × 4 Late × 1']);
    }
    await user.send(set2, 'End Outage before, Create Order');
    expect(sandbox.faults.list()).toMatchObject([{ kind: 'slow' }]);
    await user.send(set2, 'End Cut connection, next deliveries');
    expect(sandbox.faults.ofDeliveries()).toMatchObject([{ kind: 'late' }]);
    await user.send(set2, 'End all faults');
    for (const gone of ['End Slow answer, Get Cart Details', 'End Late, next deliveries']) {
      const { status, text } = await user.send(set2, gone);
      expect([status, text]).toEqual([409, expect.stringContaining('The fault is not active any more. Nothing was')]);
    }
    expect([sandbox.faults.list(), sandbox.faults.ofDeliveries()]).toEqual([[], []]);
  });

  it('an order is placed, with a payment or without, and an event is sent about it', async () => {
    await using sandbox = createSandbox({ webhooks: [{ to: async () => new Response(), as: 'fetch' }] });
    const user = new FormUser(sandbox);
    const place = async (fields: Record<string, string>) =>
      user.send(await user.open('/place-order'), 'Place an order', { offer: `${PIER} ${LOAF}`, ...fields });
    const paid = await place({ quantity: '2', customer: 'Ada', fulfillment: 'Delivery' });
    expect([paid.said, paid.text]).toEqual([
      'The order was placed.',
      expect.stringMatching(/created submitted customer Ada .* with pm_ok: charged/),
    ]);
    expect((await place({ payment: 'pm_declined' })).said).toContain('the payment was declined');
    expect((await place({ payment: '' })).text).toContain('not submitted');
    const [newest] = sandbox.orders.list();

    const sent = await user.send(await user.open('/send-event?type=order.failed'), 'Send an event');
    expect(sent.said).toContain('will be delivered to 1 endpoint.');
    const [delivery] = sandbox.deliveries.list();
    const { type, data } = JSON.parse(Buffer.from(sandbox.deliveries.find(delivery?.id ?? 0)?.body ?? []).toString());
    expect([type, data.id, data.status]).toEqual(['order.failed', newest?.id, 'failed']);
    const own = { type: 'loyalty.earned', data: '{"points": 5}' };
    expect((await user.send(await user.open('/send-event?type=own'), 'Send an event', own)).path).toMatch(
      /^\/deliveries/,
    );
    expect(sandbox.deliveries.list()[0]?.event.type).toBe('loyalty.earned');
  });

  it('deliveries are grouped by event: a line with the newest outcome, and the attempts inside', async () => {
    await using sandbox = createSandbox({
      webhooks: [
        { to: async () => new Response(), as: 'fetch' },
        { to: async () => new Response(null, { status: 500 }), as: 'fetch' },
      ],
    });
    const user = new FormUser(sandbox);
    const id = sandbox.events.send({ type: 'order.ready', data: { id: 'ord_1' } });
    await sandbox.advance('6 min');
    const { html } = await user.open('/deliveries');
    expect(textOf(partOf(html, `event-${id}`))).toMatch(
      /^order\.ready ord_1 00:00 2 endpoints waiting 1 delivered 1 answered 500 4 attempts for order\.ready 00:20$/,
    );
    expect(textOf(partOf(html, `inside-event-${id}`))).toMatch(
      /^Delivery 2 waiting .* 00:00 answered 500 00:00 answered 500 00:05 answered 500 00:20 next attempt Delivery 1 delivered .* 00:00 answered 200$/,
    );
    expect((await user.open('/deliveries/1')).text).toContain('other deliveries Delivery 2 waiting');
  });

  it('shows the plan and its limits, what is due next, and an order with its charges', async () => {
    await using service = new Service({ plan: 'Free' });
    const user = new FormUser(service.sandbox);
    const id = await placeOrder(service);
    await service.data('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' });
    expect((await user.open('/keys')).text).toMatch(
      /The plan is Free\..*2 of 5 per second 2 of 10 per ten seconds 2 of 1,000 per month/,
    );
    const clock = await user.open('/clock');
    expect(clock.text).toMatch(new RegExp(`\\(in 1 min\\) order ${id}`));
    expect((await user.send(clock, 'Advance the clock by a step', {}, '+ 1 minute')).said).toContain('1 min');
    expect((await user.open(`/orders/${id}`)).text).toMatch(/state confirmed submitted .* with pm_ok: charged/);
  });
});

describe('what comes out of order', () => {
  it('a form that comes twice does its act once, and shows the same secret', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const key = readForm((await user.open('/keys')).html, 'Create a key', { name: 'double' });
    const [one, other] = await Promise.all([user.post(key), user.post(key)]);
    expect(sandbox.keys.list()).toHaveLength(2);
    expect(KEY.exec(one.text)?.[0]).toBe(KEY.exec(other.text)?.[0]);

    const clock = await user.open('/clock');
    const hour = readForm(clock.html, 'Advance the clock by a step', {}, '+ 1 hour');
    const before = sandbox.now().getTime();
    const [first, second] = await Promise.all([user.post(hour), user.post(hour)]);
    expect(sandbox.now().getTime() - before).toBe(3_600_000);
    expect(first.said).toContain('The clock advanced by 1 h');
    expect(second.said).toContain('The form was submitted twice');
    await user.post(readForm(clock.html, 'Advance the clock by a step', {}, '+ 1 minute'));
    await user.post(readForm((await user.open('/clock')).html, 'Advance the clock by a step', {}, '+ 1 hour'));
    expect(sandbox.now().getTime() - before).toBe(2 * 3_600_000 + 60_000);
  });

  it('a form that was refused may come again', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const form = readForm((await user.open('/stock')).html, `Set the stock of Country loaf at ${PIER}`, {
      quantity: '2.5',
    });
    for (let n = 0; n < 2; n += 1) {
      const refused = await user.post(form);
      expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(/whole number.*Nothing was done\./)]);
    }
  });

  it('a key without a name is told by its id', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const made = await user.send(await user.open('/keys'), 'Create a key', { name: '  ' });
    const { id = '' } = sandbox.keys.list().at(-1) ?? {};
    expect(made.text).toContain(`The key ${id}. Copy it now. It will not be shown again.`);
  });

  it('a form that was refused is shown as it was filled in, but for a secret', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const filled: readonly (readonly [string, string, Record<string, string | string[]>])[] = [
      ['/keys', 'Create a key', { name: 'my "key"', permissions: ['carts:read', 'orders:write'], expires: 'soon' }],
      ['/webhooks', 'Register an endpoint', { url: 'http://shop.example/', events: ['order.ready'], signing: 'none' }],
      ['/clock', 'Advance the clock by another duration', { by: 'tomorrow' }],
      ['/faults', 'Add Slow answer', { operation: 'getCart', times: '3', ms: '2.5' }],
      ['/faults', 'Add Burst', { times: '0' }],
      ['/place-order', 'Place an order', { quantity: '0', customer: 'Ada', payment: 'pm_declined' }],
      ['/send-event', 'Send an event', { type: 'loyalty.earned', data: '[1]' }],
    ];
    const fieldsOf = (...read: Parameters<typeof readForm>) =>
      readForm(...read)
        .body.filter(([name]) => name !== 'sight')
        .toSorted(([one], [other]) => one.localeCompare(other));
    for (const [path, form, fields] of filled) {
      const sight = await user.open(path);
      const sent = fieldsOf(sight.html, form, fields);
      const answer = await user.send(sight, form, fields);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('Nothing was done.')]);
      expect(fieldsOf(answer.html, form)).toEqual(sent);
      expect((await user.send(answer, form, fields)).status).toBe(400);
    }
    const secret = { url: 'https://a.example', secret: 'a secret of mine' };
    const refused = await user.send(await user.open('/webhooks'), 'Register an endpoint', secret);
    expect([refused.status, refused.html.includes('a secret of mine')]).toEqual([400, false]);
  });

  it('a form that is out of date moves nothing: the order has moved meanwhile', async () => {
    await using service = new Service();
    const { orders } = service.sandbox;
    const user = new FormUser(service.sandbox);
    const id = await placeOrder(service);
    const board = await user.open('');
    orders.move(id, 'confirmed');
    orders.move(id, 'ready');
    for (const button of ['Confirm', 'Cancel']) {
      const late = await user.send(board, `Move order ${id}`, {}, `${button} order ${id}`);
      expect(late.status).toBe(409);
      expect(late.text).toContain(
        'The status of the order has changed to ready since you opened the page. Nothing was done.',
      );
    }
    expect(orders.find(id)?.status).toBe('ready');
    const { action, body } = readForm((await user.open('')).html, `Move order ${id}`);
    const illegal = await user.post({ action, body: [...body, ['to', 'created']] });
    expect([illegal.status, orders.find(id)?.status]).toEqual([409, 'ready']);
    const nowhere = await user.post({ action, body: [...body, ['to', 'toString']] });
    expect([nowhere.status, orders.find(id)?.status]).toEqual([400, 'ready']);
  });

  it('what was delivered, deleted or never there is said to be so', async () => {
    await using service = new Service();
    const user = new FormUser(service.sandbox);
    await placeOrder(service);
    const key = readForm((await user.open('/keys')).html, 'Delete the key first');
    const any = { body: key.body };
    const gone = [
      '/keys/key_x/rotate',
      '/keys/key_x/delete',
      '/webhooks/we_x/change',
      '/webhooks/we_x/secret',
      '/webhooks/we_x/delete',
      '/deliveries/99/retry',
    ];
    for (const path of gone) {
      const form = {
        action: `/dashboard${path}`,
        body: [...any.body, ['events', 'order.ready']] as [string, string][],
      };
      expect([path, (await user.post(form)).status]).toEqual([path, 404]);
    }
    for (const path of ['/orders/ord_x', '/deliveries/99', '/deliveries/x', '/webhooks/we_x', '/nowhere']) {
      expect([path, (await user.open(path)).status]).toEqual([path, 404]);
    }
    const waiting = await user.post({ ...any, action: '/dashboard/deliveries/1/retry' });
    expect(waiting.said).toContain('is waiting for its first attempt');
  });

  it('webhooks go to other machines only where the sandbox allows it', async () => {
    const remote = { url: 'https://shop.example/hooks', signing: 'none', events: ['order.ready'] };
    await using local = createSandbox();
    const user = new FormUser(local);
    const refused = await user.send(await user.open('/webhooks'), 'Register an endpoint', remote);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('shop.example is another machine.')]);
    const here = { ...remote, url: 'http://127.0.0.1:3000/hooks' };
    await user.send(await user.open('/webhooks'), 'Register an endpoint', here);
    const [endpoint] = local.webhooks.list();
    const moved = await user.send(await user.open(`/webhooks/${endpoint?.id}`), 'Change the endpoint', {
      url: remote.url,
    });
    expect(moved.status).toBe(400);
    expect(local.webhooks.list()).toMatchObject([{ url: here.url }]);
    expect(() => createSandbox({ webhooks: [{ to: remote.url }] })).toThrow('allowRemote: true');

    await using open = createSandbox({ allowRemote: true, webhooks: [{ to: remote.url }] });
    const other = new FormUser(open);
    await other.send(await other.open('/webhooks'), 'Register an endpoint', remote);
    expect(open.webhooks.list()).toMatchObject([{ url: remote.url }, { url: remote.url }]);
  });

  it('nothing is left undone silently: what cannot work is refused in words', async () => {
    await using sandbox = createSandbox({ allowRemote: true });
    const user = new FormUser(sandbox);
    const asked: readonly (readonly [string, string, Record<string, string | string[]>, string])[] = [
      ['/keys', 'Create a key', { permissions: [] }, 'Select at least one permission.'],
      ['/keys', 'Create a key', { expires: 'soon' }, 'not "soon"'],
      ['/keys', 'Create a key', { expires: '999999999999 d' }, 'Nothing was done.'],
      ['/webhooks', 'Register an endpoint', { url: 'http://shop.example/' }, 'must use https'],
      ['/webhooks', 'Register an endpoint', { url: 'javascript:alert(1)' }, 'must use https'],
      ['/webhooks', 'Register an endpoint', { url: 'https://a.example', events: [] }, 'Select at least one event type'],
      ['/webhooks', 'Register an endpoint', { url: 'https://a.example', secret: 'mine' }, 'You entered a secret'],
      ['/webhooks', 'Register an endpoint', { url: 'https://a.example', signing: 'own' }, 'secret'],
      ['/clock', 'Advance the clock by another duration', { by: 'tomorrow' }, 'not "tomorrow"'],
      ['/clock', 'Advance the clock by another duration', { by: '9999999999 d' }, 'Nothing was done.'],
      ['/faults', 'Add Slow answer', { ms: '' }, 'ms must be a whole number'],
      ['/faults', 'Add Lost answer', { kind: 'decline', operation: 'getCart' }, 'unknown option `operation`'],
      ['/faults', 'Add Outage before', { times: '0' }, 'times must be'],
      ['/faults', 'Add Late', { times: '0' }, 'how many times it occurs: 1 or more'],
      ['/faults', 'Add Late', { kind: '__proto__' }, 'Select a fault'],
      ['/place-order', 'Place an order', { quantity: '1000' }, 'exceeds the stock'],
      ['/place-order', 'Place an order', { offer: 'loc_x prod_x' }, 'No location has this id'],
      ['/place-order', 'Place an order', { payment: 'pm_x' }, 'No payment method has this id'],
      ['/send-event', 'Send an event', { data: '{' }, 'not valid JSON'],
      ['/send-event', 'Send an event', { type: 'x'.repeat(256) }, 'type must be a string of 1 to 255 characters'],
      ['/stock', `Set the stock of Country loaf at ${PIER}`, { product: 'prod_x' }, 'No product has this'],
      [
        '/stock',
        `Set the stock of Country loaf at ${PIER}`,
        { quantity: '99999999999' },
        'at least 0 and at most 2147483647',
      ],
    ];
    for (const [path, form, fields, why] of asked) {
      const answer = await user.send(await user.open(path), form, fields);
      expect([400, 404, 422], `${form} ${JSON.stringify(fields)}`).toContain(answer.status);
      expect(answer.text).toContain(why);
    }
    expect([sandbox.keys.list().length, sandbox.webhooks.list(), sandbox.faults.list()]).toEqual([1, [], []]);
    expect([sandbox.orders.list(), sandbox.deliveries.list()]).toEqual([[], []]);
  });
});

describe('a sandbox that is away', () => {
  it('is said to be closed, on every screen and by every form', async () => {
    const sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const clock = await user.open('/clock');
    const keys = await user.open('/keys');
    await sandbox.close();
    for (const path of ['', '/orders', '/deliveries', '/webhooks', '/keys', '/stock', '/clock', '/faults']) {
      const { status, text } = await user.open(path);
      expect([path, status, text]).toEqual([path, 503, expect.stringContaining('The sandbox is closed.')]);
    }
    expect((await user.send(clock, 'Advance the clock by a step', {}, '+ 1 hour')).status).toBe(503);
    expect((await user.send(keys, 'Create a key')).status).toBe(503);
  });

  it('does not keep an answer waiting for a receiver that answers late', async () => {
    const answered = Promise.withResolvers<Response>();
    await using sandbox = createSandbox({ webhooks: [{ to: async () => answered.promise, as: 'fetch' }] });
    const user = new FormUser(sandbox);
    sandbox.stock.set(PIER, LOAF, 20);
    const late = await user.send(await user.open('/clock'), 'Advance the clock by a step', {}, '+ 1 minute');
    expect(late.said).toContain('The clock is still advancing');
    answered.resolve(new Response());
    await sandbox.advance(0);
    expect(sandbox.deliveries.counts()).toMatchObject({ delivered: 1 });
  });
});

describe('mounted elsewhere', () => {
  it('finds out where it is, and leads nowhere else', async () => {
    await using service = new Service();
    await placeOrder(service);
    const at = { incoming: { socket: { remoteAddress: '::1' } } };
    const page = sandboxPage(service.sandbox, { base: '/behind/a/proxy/' });
    const html = await (await page.request(`${ORIGIN}/`, {}, at)).text();
    expect(html).toContain('href="/behind/a/proxy/assets/sandbox.css"');
    const paths = Array.from(html.matchAll(/(?:href|action|src)="([^"]*)"/g), ([, to]) => to);
    expect(paths.filter((to) => !/^(?:\/behind\/a\/proxy(?:\/|$)|#main$|#icon-\w+$|data:,$)/.test(to ?? ''))).toEqual(
      [],
    );
    const own = await (await sandboxPage(service.sandbox).request(`${ORIGIN}/keys`, {}, at)).text();
    expect(own).toContain('action="/keys"');
  });
});
