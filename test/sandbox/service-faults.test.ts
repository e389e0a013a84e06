import { describe, expect } from 'vitest';
import type { ServiceFault } from '../../src/sandbox/index.ts';
import { it, CAKE, NEW_CART, NEW_ORDER, placeOrder, Service, stockOf } from './service.ts';

const GOOD = { payment_method_id: 'pm_ok' };

/** 7.3 has no code for these. */
const OUTAGE = { error: { message: expect.any(String), request_id: expect.any(String) } };

describe('faults of the service', () => {
  it.each([500, 502, 503, 504] as const)('before the effect: %d, and nothing has happened', async (status) => {
    await using service = new Service();
    service.sandbox.faults.add({ kind: 'before', operation: 'createOrder', status });
    const answer = await service.call('POST', '/order', NEW_ORDER);
    expect(answer).toMatchObject({ status, body: OUTAGE });
    expect(await service.types()).toEqual([]);
    expect(service.sandbox.orders.list()).toEqual([]);
    expect((await service.call('POST', '/order', NEW_ORDER)).status).toBe(201);
  });

  it('after the effect: 504, and it has happened, with its event', async ({ service }) => {
    service.sandbox.faults.add({ kind: 'after', operation: 'createOrder' });
    expect(await service.call('POST', '/order', NEW_ORDER)).toMatchObject({ status: 504, body: OUTAGE });
    expect(await service.types()).toEqual(['order.created']);
    expect(service.sandbox.orders.list()).toHaveLength(1);
  });

  it('after the effect waits for one: what is refused does not use it up', async ({ service }) => {
    const id = await placeOrder(service);
    service.sandbox.faults.add({ kind: 'after', operation: 'submitOrder' });
    const submit = (body: object) => service.call('POST', `/order/${id}/submit`, body);
    expect((await submit({})).status).toBe(400);
    expect((await submit({ payment_method_id: 'pm_declined' })).status).toBe(422);
    expect((await submit(GOOD)).status).toBe(504);
    expect((await submit(GOOD)).body.error).toMatchObject({ resource_state: 'submitted' });
  });

  it('an answer that never comes: the client gives up, and it has happened', async ({ service }) => {
    service.sandbox.faults.add({ kind: 'lost-answer' });
    const impatient = { signal: AbortSignal.timeout(20) };
    await expect(service.call('POST', '/cart', NEW_CART, impatient)).rejects.toThrow(/timeout/);
    await service.sandbox.advance('1 h');
    expect(await service.types()).toEqual(['cart.abandoned']);
  });

  it('an answer that never comes does not keep the sandbox from closing', async () => {
    const service = new Service();
    service.sandbox.faults.add({ kind: 'lost-answer', operation: 'listMerchants' });
    const answer = service.call('GET', '/merchant');
    await service.sandbox.close();
    expect((await answer).status).toBe(503);
    expect((await service.call('GET', '/merchant')).status).toBe(503);
  });

  it('a slow answer: the effect is late too', async ({ service }) => {
    service.sandbox.faults.add({ kind: 'slow', operation: 'createCart', ms: 50 });
    const began = performance.now();
    const answer = service.call('POST', '/cart', NEW_CART);
    await service.sandbox.advance('1 h');
    expect((await answer).status).toBe(201);
    expect(performance.now() - began).toBeGreaterThan(45);
    expect(await service.types()).toEqual([]); // it was not there an hour ago
  });

  it('a client that has given up on a slow answer has no effect', async ({ service }) => {
    service.sandbox.faults.add({ kind: 'slow', operation: 'createOrder', ms: 40 });
    const impatient = { signal: AbortSignal.timeout(5) };
    await expect(service.call('POST', '/order', NEW_ORDER, impatient)).rejects.toThrow(/timeout/);
    service.sandbox.faults.add({ kind: 'slow', operation: 'listMerchants', ms: 80 });
    await service.call('GET', '/merchant');
    expect(service.sandbox.orders.list()).toEqual([]);
  });

  it.each([
    ['declined', 'generic_decline'],
    ['insufficient_funds', 'insufficient_funds'],
    ['expired', 'expired_card'],
  ] as const)('a good payment method is declined: %s', async (outcome, decline_reason) => {
    await using service = new Service();
    const id = await placeOrder(service, CAKE);
    service.sandbox.faults.add({ kind: 'decline', outcome });
    const declined = await service.call('POST', `/order/${id}/submit`, GOOD);
    expect(declined.body.error).toMatchObject({ code: 'PAYMENT_FAILED', decline_reason });
    expect(service.sandbox.faults.list()).toEqual([]);
    expect((await service.call('POST', `/order/${id}/submit`, GOOD)).status).toBe(200);
  });

  it('an order fails instead of moving on, and gives its stock back', async ({ service }) => {
    const id = await placeOrder(service, CAKE);
    service.sandbox.faults.add({ kind: 'fail-order' });
    await service.data('POST', `/order/${id}/submit`, GOOD);
    await service.sandbox.advance('1 h');
    expect(await service.types()).toEqual([
      'order.created',
      'inventory.updated',
      'inventory.out_of_stock',
      'inventory.updated',
      'order.failed',
    ]);
    expect(await stockOf(service, CAKE)).toBe(1);
  });

  it('as often as it says, and for its operation alone', async ({ service }) => {
    service.sandbox.faults.add({ kind: 'before', operation: 'listMerchants', times: 2 });
    const statuses: number[] = [];
    for (const path of ['/payment-method', '/merchant', '/merchant', '/merchant']) {
      statuses.push((await service.call('GET', path)).status);
    }
    expect(statuses).toEqual([200, 503, 503, 200]);
  });

  it('are taken back', async ({ service }) => {
    const { faults } = service.sandbox;
    const id = faults.add({ kind: 'before' });
    faults.add({ kind: 'slow', ms: 5 });
    faults.remove(id);
    expect(faults.list()).toMatchObject([{ kind: 'slow', ms: 5, timesLeft: 1, operation: null }]);
    faults.remove();
    expect(faults.list()).toEqual([]);
  });

  it.each([
    { kind: 'earthquake' },
    { kind: 'before', operation: 'eatCake' },
    { kind: 'before', status: 404 },
    { kind: 'before', times: 0 },
    { kind: 'slow' },
    { kind: 'slow', ms: -1 },
    { kind: 'decline', outcome: 'ok' },
    { kind: 'decline', operation: 'createCart' },
    { kind: 'fail-order', operation: 'submitOrder' },
    { kind: 'before', op: 'createCart' },
  ])('%o cannot be', async (fault) => {
    await using service = new Service();
    expect(() => service.sandbox.faults.add(fault as ServiceFault)).toThrow('fault:');
  });
});
