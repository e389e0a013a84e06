import { expect, it } from 'vitest';
import { RetryLaterError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimedEvent, ClaimRequest, Settlement } from '../../src/inbox/work.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { START } from '../helpers/virtual-clock.ts';

const DOWN = { name: 'RetryLaterError', message: 'the till is down', stack: null };
const HOUR_MS = 3_600_000;
const READY = { type: 'order.ready' };

/** An attempt that pauses its type for so long from `now` on. */
export function pausing(ms: number, now: number, dueAt = now): Settlement {
  return { outcome: 'retry', error: DOWN, dueAt, isUncounted: true, pauseUntil: now + ms };
}

export function testHandlersPause(open: () => Promise<Inbox>): void {
  const request: ClaimRequest = { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: START };
  const idsAt = async (inbox: Inbox, now: number, rest: Partial<ClaimRequest> = {}) =>
    (await inbox.claim({ ...request, ...rest, now }, 10)).map(({ id }) => id).toSorted();

  async function paused(ms: number): Promise<Inbox> {
    const inbox = await open();
    await store(inbox, orderEvent('one'));
    const [one] = await inbox.claim(request, 10);
    expect(await settleAll(inbox, [one], ms, START)).toEqual([true]);
    return inbox;
  }

  function settleAll(inbox: Inbox, events: readonly (ClaimedEvent | undefined)[], ms: number, now: number) {
    return Promise.all(events.flatMap((event) => (event ? inbox.settle(event.lease, pausing(ms, now), now) : [])));
  }

  it.each<Partial<ClaimRequest>>([
    {},
    { types: ['order.created', 'order.ready'] },
    { endpoints: ['default', 'shop-b'] },
  ])('the type waits at its endpoint until the end of the pause, and then is claimed again: %j', async (rest) => {
    const inbox = await paused(10_000);
    await store(inbox, orderEvent('two'), orderEvent('ready', READY), { ...orderEvent('there'), endpoint: 'shop-b' });
    expect(await idsAt(inbox, START + 1_000, rest)).toEqual(['ready', 'there']);
    expect(await inbox.nextDue({ ...request, ...rest, types: ['order.created'] })).toBe(START + 10_000);
    expect(await idsAt(inbox, START + 9_999, rest)).toEqual([]);
    expect(await idsAt(inbox, START + 10_000, rest)).toEqual(['one', 'two']);
    await store(inbox, orderEvent('three'));
    expect(await idsAt(inbox, START + 10_001, rest)).toEqual(['three']);
  });

  it('the attempt and its error stand, and no attempt is used up', async () => {
    const inbox = await paused(10_000);
    expect(await inbox.attempts({ endpoint: 'default', id: 'one' })).toMatchObject([
      { outcome: 'failed', error: DOWN },
    ]);
    expect(await inbox.claim({ ...request, now: START + HOUR_MS }, 1)).toMatchObject([{ attempt: 2, failures: 0 }]);
  });

  it.each([
    [1_000, 10_000],
    [10_000, 1_000],
  ])('of pauses of %i and %i ms, the later end counts', async (first, second) => {
    const inbox = await open();
    await store(inbox, orderEvent('one'), orderEvent('two'));
    const [one, two] = await inbox.claim(request, 10);
    await settleAll(inbox, [one], first, START);
    await settleAll(inbox, [two], second, START);
    expect(await idsAt(inbox, START + 9_999)).toEqual([]);
    expect(await idsAt(inbox, START + 10_000)).toEqual(['one', 'two']);
  });

  it('many attempts that end together pause the type once', async () => {
    const inbox = await open();
    const ids = Array.from({ length: 10 }, (_, n) => `evt_${n}`);
    await store(inbox, ...ids.map((id) => orderEvent(id)));
    const claimed = await inbox.claim(request, 10);
    await Promise.all(claimed.map(({ lease }, n) => inbox.settle(lease, pausing(1_000 + n, START), START)));
    expect(await idsAt(inbox, START + 1_008)).toEqual([]);
    expect(await idsAt(inbox, START + 1_009)).toEqual(ids);
  });

  it('an attempt that lost its lease, or is settled after the end, pauses nothing', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('one'));
    const [one] = await inbox.claim(request, 1);
    const [again] = await inbox.claim({ ...request, now: START + HOUR_MS }, 1);
    expect(await settleAll(inbox, [one], 2 * HOUR_MS, START)).toEqual([false]);
    await store(inbox, orderEvent('two'));
    expect(await idsAt(inbox, START + HOUR_MS + 1)).toEqual(['two']);
    if (again !== undefined) await inbox.settle(again.lease, pausing(10, START), START + HOUR_MS + 2);
    expect(await idsAt(inbox, START + HOUR_MS + 2)).toEqual(['one']);
  });

  it('the last attempt of an event pauses its type too', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('one'), orderEvent('two'));
    const [one] = await inbox.claim(request, 1);
    const dead = { outcome: 'dead', reason: 'failed', error: DOWN, pauseUntil: START + 10_000 } as const;
    if (one !== undefined) await inbox.settle(one.lease, dead, START);
    expect(await idsAt(inbox, START + 9_999)).toEqual([]);
    expect(await idsAt(inbox, START + 10_000)).toHaveLength(1);
  });

  it('every process is away for hours: the first claim afterwards gets the type', async () => {
    const inbox = await paused(10_000);
    expect(await idsAt(inbox, START + 5 * HOUR_MS)).toEqual(['one']);
  });

  it('a clock that is set back moves the end of the pause with it', async () => {
    const inbox = await paused(60_000);
    const back = START - 3 * HOUR_MS;
    expect(await idsAt(inbox, back)).toEqual([]);
    expect(await idsAt(inbox, back + 61_000)).toEqual(['one']);
  });

  it('a type that is too long to be paused waits for nothing', async () => {
    const inbox = await open();
    const long = { type: 'x'.repeat(200) };
    await store(inbox, orderEvent('one', long), orderEvent('two', long));
    const [one] = await inbox.claim(request, 1);
    expect(await settleAll(inbox, [one], 10_000, START)).toEqual([true]);
    expect(await idsAt(inbox, START + 1)).toHaveLength(2);
  });

  it('a newer event of the entity waits behind the paused one', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('first', { order: 'ord_1' }));
    const [first] = await inbox.claim(request, 1);
    await settleAll(inbox, [first], 10_000, START);
    await store(inbox, orderEvent('second', { order: 'ord_1', ...READY, createdAt: 1 }));
    expect(await idsAt(inbox, START + 1_000, { types: ['order.ready'] })).toEqual([]);
    expect(await idsAt(inbox, START + 10_000)).toEqual(['first']);
  });

  it('a processor pauses the type, and handles its events within about a second after the end', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('one'));
    const ran: [string, number][] = [];
    let downAt = 0;
    await using worker = createProcessor({
      inbox,
      logger: silent,
      processing: { retry: { attempts: 1 } },
      handlers: {
        'order.created': ({ id }, { attempt }) => {
          ran.push([`${id} ${attempt}`, Date.now() - downAt]);
          if (downAt > 0) return;
          downAt = Date.now();
          throw new RetryLaterError({ afterMs: 1_500, countAttempt: false, pauseType: true, message: 'down' });
        },
      },
    });
    await worker.start();
    const attempts = () => inbox.attempts({ endpoint: 'default', id: 'one' });
    await expect.poll(async () => (await attempts()).length, { timeout: 5_000 }).toBe(1);
    await store(inbox, orderEvent('two'));
    await expect.poll(() => ran.length, { timeout: 8_000 }).toBe(3);
    expect(ran.map(([run]) => run).toSorted()).toEqual(['one 1', 'one 2', 'two 1']);
    for (const [, at] of ran.slice(1)) {
      expect(at).toBeGreaterThanOrEqual(1_450);
      expect(at).toBeLessThan(5_000);
    }
  });

  it('inline: a delivery of the type is stored and answered 409, so that the service sends it again', async () => {
    const inbox = await open();
    let isDown = true;
    const ran: string[] = [];
    await using receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger: silent,
      processing: { mode: 'inline' },
      handlers: {
        'order.created': ({ id }) => {
          ran.push(id);
          if (isDown) throw new RetryLaterError({ afterMs: 1_000, countAttempt: false, pauseType: true });
        },
      },
    });
    const send = async (id: string) => {
      const { body } = orderEvent(id);
      return (await receiver.receive({ body, signature: signBody(body, SECRET) })).status;
    };
    expect(await send('one')).toBe(500);
    expect(await send('two')).toBe(409);
    expect(ran).toEqual(['one']);
    isDown = false;
    await expect.poll(() => send('two'), { timeout: 5_000, interval: 200 }).toBe(200);
    expect(await send('one')).toBe(200);
    expect(ran).toEqual(['one', 'two', 'one']);
  });
}
