import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PermanentError } from '../../src/errors.ts';
import type { HandlerContext, Handlers } from '../../src/processing/handlers.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { systemClock, type Clock } from '../../src/host/clock.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { HELD, lateOnce } from '../helpers/late-once.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { orderEvent, type OrderEventParts } from '../helpers/order-event.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

export interface InlineStore {
  readonly inbox: Inbox;
  elsewhere(): Inbox;
}

/** `open` gives an empty inbox for each test. */
export function testInline(name: string, open: () => InlineStore | Promise<InlineStore>): void {
  describe(name, () => {
    let store: InlineStore;
    let inbox: Inbox;
    let rejections: unknown[];

    beforeEach(async () => {
      store = await open();
      inbox = store.inbox;
      rejections = [];
      const note = (reason: unknown): void => void rejections.push(reason);
      process.on('unhandledRejection', note);
      onTestFinished(async () => {
        await inbox.close();
        process.off('unhandledRejection', note);
        expect(rejections).toEqual([]);
      });
    });

    type Inline = Partial<Omit<ReceiverOptions, 'processing'>> & {
      readonly processing?: ReceiverOptions['processing'];
    };

    function receiving(handlers: Handlers, { processing, ...options }: Inline = {}): Receiver {
      return createReceiver({
        secret: SECRET,
        inbox,
        logger: silent,
        ...options,
        handlers,
        processing: { mode: 'inline', ...processing },
      });
    }

    function delivery(id: string, parts: OrderEventParts = {}) {
      return signed(orderEvent(id, parts).body);
    }

    function signed(body: Uint8Array) {
      return { body, signature: signBody(body, SECRET) };
    }

    async function known(id = 'evt_1') {
      return inbox.get({ endpoint: 'default', id });
    }

    async function outcomes(id = 'evt_1') {
      return (await inbox.attempts({ endpoint: 'default', id })).map(({ outcome }) => outcome);
    }

    function gated() {
      const ends: PromiseWithResolvers<void>[] = [];
      const contexts: HandlerContext[] = [];
      const handler = (_event: unknown, context: HandlerContext): Promise<void> => {
        const end = Promise.withResolvers<void>();
        ends.push(end);
        contexts.push(context);
        return end.promise;
      };
      return { ends, contexts, handler };
    }

    const outlived = (receiver: Receiver, { ends }: ReturnType<typeof gated>) =>
      lateOnce(receiver, delivery('evt_1'), () => ends.length > 0);

    async function begun({ ends }: ReturnType<typeof gated>, count = 1): Promise<void> {
      while (ends.length < count) await sleep(2);
    }

    describe('a delivery in inline mode', () => {
      it('is answered 200 as processed once its handler has succeeded', async () => {
        const seen: unknown[] = [];
        await using receiver = receiving({
          'order.created': async ({ id }, { attempt, superseded, delivery: { verified } }) => {
            await sleep(20);
            seen.push({ id, attempt, superseded, verified, state: (await known())?.state });
          },
        });
        expect(await receiver.receive(delivery('evt_1'))).toEqual({
          kind: 'processed',
          id: 'evt_1',
          status: 200,
          headers: {},
          body: { received: true, duplicate: false, id: 'evt_1' },
        });
        expect(seen).toEqual([{ id: 'evt_1', attempt: 1, superseded: false, verified: true, state: 'processing' }]);
        expect((await known())?.state).toBe('processed');
      });

      it('needs no start(), and start() begins nothing', async () => {
        const handler = vi.fn();
        await using web = createReceiver({ secret: SECRET, inbox, logger: silent });
        await web.receive(delivery('stored before'));
        await using receiver = receiving({ '*': handler });
        await receiver.start();
        await sleep(1_100);
        expect(handler).not.toHaveBeenCalled();
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed' });
        expect(handler).toHaveBeenCalledTimes(1);
      });

      it.each([
        ['throws', () => Promise.reject(new Error('out of stock'))],
        ['throws at once', thrower(new Error('out of stock'))],
        ['throws undefined', thrower(undefined)],
        ['throws a PermanentError', thrower(new PermanentError('no such order'))],
      ])('whose handler %s is answered 500, and stays stored', async (_, handler) => {
        await using receiver = receiving({ '*': handler });
        const outcome = await receiver.receive(delivery('evt_1'));
        expect(outcome).toMatchObject({ kind: 'failed', status: 500, body: { error: { code: 'HANDLER_FAILED' } } });
        expect(JSON.stringify(outcome.body)).not.toMatch(/out of stock|no such order/);
        expect(await outcomes()).toEqual(['failed']);
        expect((await known())?.body).toEqual(Buffer.from(orderEvent('evt_1').body));
      });

      it('whose handler commits with ctx.transaction and throws later is processed', async () => {
        await using receiver = receiving({
          '*': async (_event, context) => {
            await context.transaction(() => {});
            throw new Error('late');
          },
        });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed', status: 200 });
        expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([
          { error: { message: 'late' } },
        ]);
      });
    });

    describe('a handler that outlives the deadline', () => {
      it('is answered 503 with Retry-After, while it goes on under its lease', async () => {
        const gate = gated();
        const receiver = receiving({ '*': gate.handler }, { ...HELD, processing: { leaseMs: 150 } });
        const outcome = await outlived(receiver, gate);
        expect(outcome).toMatchObject({ kind: 'timeout', status: 503, body: { error: { code: 'TIMEOUT' } } });
        expect(outcome.headers['Retry-After']).toMatch(/^\d+$/);
        // Longer than its lease would last without being renewed.
        await sleep(400);
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'busy', status: 409 });
        expect(gate.contexts[0]?.signal.aborted).toBe(false);
        gate.ends[0]?.resolve();
        await receiver.close();
        expect(await outcomes()).toEqual(['processed']);
      });

      it('makes the next delivery a duplicate once it has succeeded', async () => {
        const gate = gated();
        await using receiver = receiving({ '*': gate.handler }, HELD);
        expect(await outlived(receiver, gate)).toMatchObject({ kind: 'timeout' });
        gate.ends[0]?.resolve();
        await expect.poll(() => outcomes(), { interval: 5 }).toEqual(['processed']);
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(gate.ends).toHaveLength(1);
      });

      it('lets the next delivery run it again at once when it has failed, long before its lease would have run out', async () => {
        const gate = gated();
        await using receiver = receiving({ '*': gate.handler }, HELD);
        expect(await outlived(receiver, gate)).toMatchObject({ kind: 'timeout' });
        gate.ends[0]?.reject(new Error('in the end'));
        await expect.poll(() => outcomes(), { interval: 5 }).toEqual(['failed']);
        const again = receiver.receive(delivery('evt_1'));
        await begun(gate, 2);
        gate.ends[1]?.resolve();
        expect(await again).toMatchObject({ kind: 'processed' });
        expect(await outcomes()).toEqual(['failed', 'processed']);
      });

      it('has its signal aborted when it outlives timeoutMs', async () => {
        await using receiver = receiving(
          {
            '*': (_event, { signal }) =>
              new Promise((_resolve, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason as Error));
              }),
          },
          { processing: { timeoutMs: 50 } },
        );
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'failed', status: 500 });
        expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([
          { error: { name: 'TimeoutError' } },
        ]);
      });
    });

    describe('a live lease', () => {
      it('has another delivery of its event answered 409 with Retry-After', async () => {
        const gate = gated();
        await using receiver = receiving({ '*': gate.handler });
        const first = receiver.receive(delivery('evt_1'));
        await begun(gate);
        const busy = await receiver.receive(delivery('evt_1'));
        expect(busy).toMatchObject({ kind: 'busy', status: 409, body: { error: { code: 'BUSY' } } });
        expect(busy.headers['Retry-After']).toMatch(/^\d+$/);
        gate.ends[0]?.resolve();
        expect(await first).toMatchObject({ kind: 'processed' });
        expect(gate.ends).toHaveLength(1);
      });

      it('has another event of its entity answered 409, which is stored; and no other entity', async () => {
        const gate = gated();
        await using receiver = receiving({ 'order.created': gate.handler, 'order.ready': () => {} });
        const first = receiver.receive(delivery('evt_1', { order: 'a' }));
        await begun(gate);
        const next = delivery('evt_2', { order: 'a', type: 'order.ready', createdAt: 1 });
        expect(await receiver.receive(next)).toMatchObject({ kind: 'busy' });
        expect((await known('evt_2'))?.state).toBe('pending');
        expect(await receiver.receive(delivery('evt_3', { order: 'b', type: 'order.ready' }))).toMatchObject({
          kind: 'processed',
        });
        gate.ends[0]?.resolve();
        await first;
        expect(await receiver.receive(next)).toMatchObject({ kind: 'processed', body: { duplicate: true } });
      });

      it('of another process counts just the same', async () => {
        const gate = gated();
        await using elsewhere = store.elsewhere();
        await using one = receiving({ '*': gate.handler });
        await using other = receiving({ '*': () => {} }, { inbox: elsewhere });
        const first = one.receive(delivery('evt_1'));
        await begun(gate);
        expect(await other.receive(delivery('evt_1'))).toMatchObject({ kind: 'busy' });
        gate.ends[0]?.resolve();
        await first;
        expect(await other.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate' });
      });

      it('of its entity holds nobody back with ordering: false', async () => {
        const gate = gated();
        await using receiver = receiving(
          { 'order.created': gate.handler, 'order.ready': () => {} },
          { ordering: false },
        );
        const first = receiver.receive(delivery('evt_1', { order: 'a' }));
        await begun(gate);
        expect(await receiver.receive(delivery('evt_2', { order: 'a', type: 'order.ready' }))).toMatchObject({
          kind: 'processed',
        });
        gate.ends[0]?.resolve();
        await first;
      });

      it('that a process left behind by dying holds until it runs out, and no longer', async () => {
        await using dead = receiving({}, {});
        await dead.receive(delivery('evt_1'));
        const request = { endpoints: '*', now: Date.now(), leaseMs: 1_000, types: '*', ordered: true } as const;
        expect(await inbox.claimOne({ endpoint: 'default', id: 'evt_1' }, request)).toMatchObject({ attempt: 1 });
        await using receiver = receiving({ '*': () => {} });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'busy' });
        await sleep(1_020);
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed' });
        expect(await outcomes()).toEqual(['crashed', 'processed']);
      });
    });

    describe('a lease of another process that seems to have run out', () => {
      const hour = 3_600_000;
      let slept: number;
      const clock: Clock = { ...systemClock, now: () => Date.now() + slept };

      beforeEach(async () => {
        slept = 0;
        await using dead = receiving({}, {});
        await dead.receive(delivery('evt_1'));
      });

      async function heldElsewhere(leaseMs = 15_000): Promise<void> {
        const request = { endpoints: '*', now: Date.now(), leaseMs, types: '*', ordered: true } as const;
        expect(await inbox.claimOne({ endpoint: 'default', id: 'evt_1' }, request)).toMatchObject({ attempt: 1 });
      }

      it('after a sleep has the delivery wait for its holder to renew it, and not for ever', async () => {
        await using receiver = receiving({ '*': () => {} }, { clock, processing: { leaseMs: 300 } });
        await heldElsewhere();
        slept = hour;
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'busy' });
        expect(await outcomes()).toEqual([]);
        await sleep(350);
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed' });
        expect(await outcomes()).toEqual(['crashed', 'processed']);
      });

      it('has run out where it is but long since the last delivery', async () => {
        await using receiver = receiving({ '*': () => {} }, { clock });
        await heldElsewhere();
        slept = hour;
        const now = performance.now.bind(performance);
        vi.spyOn(performance, 'now').mockImplementation(() => now() + hour);
        onTestFinished(() => void vi.restoreAllMocks());
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed' });
      });
    });

    it('a lease that could not be renewed is renewed a second later', async () => {
      const gate = gated();
      const clock = new VirtualClock();
      const renewedAt: number[] = [];
      const renew: Inbox['renew'] = (...given) => {
        renewedAt.push(clock.now() - START);
        return renewedAt.length === 1 ? Promise.reject(new Error('the disk is full')) : inbox.renew(...given);
      };
      await using receiver = receiving({ '*': gate.handler }, { inbox: { ...inbox, renew }, clock });
      const first = receiver.receive(delivery('evt_1'));
      await begun(gate);
      await clock.advance(12_000);
      expect(renewedAt).toEqual([5_000, 6_000, 11_000]);
      gate.ends[0]?.resolve();
      await first;
    });

    describe('a redelivery', () => {
      it('of an event that failed runs it again, however often it has failed: no backoff, and no budget', async () => {
        let failures = 0;
        await using receiver = receiving(
          {
            '*': () => {
              failures += 1;
              if (failures <= 30) throw new Error('not yet');
            },
          },
          { processing: { retry: { attempts: 2, baseMs: 3_600_000 } } },
        );
        for (let n = 1; n <= 30; n += 1)
          expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ status: 500 });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({
          kind: 'processed',
          status: 200,
          body: { duplicate: true },
        });
        expect(await outcomes()).toHaveLength(31);
      });

      it('of one that failed with a PermanentError runs it again, too', async () => {
        let fails = true;
        await using receiver = receiving({
          '*': () => {
            if (fails) throw new PermanentError('no such order');
          },
        });
        await receiver.receive(delivery('evt_1'));
        expect(await known()).toMatchObject({ state: 'dead', deadReason: 'failed' });
        fails = false;
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'processed' });
        expect(await known()).toMatchObject({ state: 'processed', deadReason: null });
      });

      it('of a processed one is a duplicate and runs nothing, also after it was pruned', async () => {
        const handler = vi.fn();
        await using receiver = receiving({ '*': handler });
        await receiver.receive(delivery('evt_1'));
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(await inbox.prune('*', Date.now() + 1_000, 10)).toBe(1);
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(handler).toHaveBeenCalledTimes(1);
      });

      it('many times at once runs it once', async () => {
        const gate = gated();
        await using receiver = receiving({ '*': gate.handler });
        const kinds: string[] = [];
        const deliveries = Array.from({ length: 20 }, async () => {
          kinds.push((await receiver.receive(delivery('evt_1'))).kind);
        });
        await expect.poll(() => kinds.length, { interval: 5 }).toBe(19);
        for (const end of gate.ends) end.resolve();
        await Promise.all(deliveries);
        expect(gate.ends).toHaveLength(1);
        expect(kinds.filter((kind) => kind === 'processed')).toHaveLength(1);
        expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(19);
      });
    });

    describe('an older event that failed', () => {
      it('does not hold back a newer one of its entity, and sees later that it is superseded', async () => {
        const seen: unknown[] = [];
        let fails = true;
        await using receiver = receiving({
          '*': ({ id }, { superseded }) => {
            seen.push([id, superseded]);
            if (id === 'older' && fails) throw new Error('not yet');
          },
        });
        const older = delivery('older', { order: 'a', createdAt: 1 });
        expect(await receiver.receive(older)).toMatchObject({ kind: 'failed' });
        const newer = delivery('newer', { order: 'a', createdAt: 2, type: 'order.ready' });
        expect(await receiver.receive(newer)).toMatchObject({ kind: 'processed' });
        fails = false;
        expect(await receiver.receive(older)).toMatchObject({ kind: 'processed' });
        expect(seen).toEqual([
          ['older', false],
          ['newer', false],
          ['older', true],
        ]);
      });
    });

    describe('what has nothing to run is just stored:', () => {
      it('an event whose type has no handler', async () => {
        await using receiver = receiving({ 'order.ready': () => {} });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'stored', status: 200 });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(await receiver.receive(delivery('evt_2', { type: 'order.refunded' }))).toMatchObject({ kind: 'stored' });
        expect(await outcomes()).toEqual([]);
      });

      it('an invalid event, even with a handler for everything', async () => {
        const handler = vi.fn();
        await using receiver = receiving({ '*': handler });
        const body = Buffer.from('{"id":"evt_1","type":"order.created","created":"yesterday","data":{}}');
        expect(await receiver.receive(signed(body))).toMatchObject({ kind: 'stored', status: 200 });
        expect(await receiver.receive(signed(body))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(handler).not.toHaveBeenCalled();
        expect(await known()).toMatchObject({ state: 'dead', deadReason: 'invalid' });
      });

      it('but not an unknown type where there is a handler for everything', async () => {
        const handler = vi.fn();
        await using receiver = receiving({ '*': handler });
        expect(await receiver.receive(delivery('evt_1', { type: 'order.refunded' }))).toMatchObject({
          kind: 'processed',
        });
        expect(handler).toHaveBeenCalledTimes(1);
      });
    });

    describe('the deadline', () => {
      it('has the delivery answered 503 while the end of the attempt cannot be written; it is written later, and nothing runs twice', async () => {
        let full = true;
        let refused = 0;
        const settle: Inbox['settle'] = (...given) => {
          if (!full) return inbox.settle(...given);
          refused += 1;
          return Promise.reject(new Error('the disk is full'));
        };
        const handler = vi.fn();
        await using receiver = receiving({ '*': handler }, { ...HELD, inbox: { ...inbox, settle } });

        const outcome = await lateOnce(receiver, delivery('evt_1'), () => refused > 0);
        expect(outcome).toMatchObject({ kind: 'timeout', status: 503 });
        full = false;
        await expect.poll(() => outcomes(), { timeout: 5_000 }).toEqual(['processed']);

        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'duplicate', status: 200 });
        expect(handler).toHaveBeenCalledOnce();
      });

      it('has the event still held while the disk is full for longer than a lease: a redelivery makes no crash of it', async () => {
        let full = true;
        let begunAt = Infinity;
        const failing = () => Promise.reject(new Error('the disk is full'));
        const settle: Inbox['settle'] = (...given) => (full ? failing() : inbox.settle(...given));
        const renew: Inbox['renew'] = (...given) => (full ? failing() : inbox.renew(...given));
        const leaseMs = 50;
        const handler = vi.fn(() => {
          begunAt = performance.now();
        });
        await using receiver = receiving(
          { '*': handler },
          { ...HELD, inbox: { ...inbox, settle, renew }, processing: { leaseMs } },
        );
        const hasRunOut = () => performance.now() > begunAt + 2 * leaseMs;
        expect(await lateOnce(receiver, delivery('evt_1'), hasRunOut)).toMatchObject({ kind: 'timeout' });
        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({ kind: 'busy', status: 409 });
        full = false;
        await expect.poll(() => outcomes(), { timeout: 5_000 }).toEqual(['processed']);
        expect(handler).toHaveBeenCalledOnce();
      });

      it('has a handler that lost its lease answered 500, and reported', async () => {
        const renew: Inbox['renew'] = () => Promise.resolve([]);
        const settle: Inbox['settle'] = () => Promise.resolve(false);
        const { logger, lines } = recordedLog();
        await using receiver = receiving({ '*': () => {} }, { inbox: { ...inbox, renew, settle }, logger });

        expect(await receiver.receive(delivery('evt_1'))).toMatchObject({
          kind: 'failed',
          reason: 'handler-lost',
          status: 500,
        });
        expect(lines).toMatchObject([{ level: 'warn', facts: { id: 'evt_1' } }]);
      });

      it('gives the event back where the host would freeze the handler, and no crash is counted', async () => {
        const gate = gated();
        const asked: string[] = [];
        const settle: Inbox['settle'] = (lease, settlement, now) => {
          asked.push(settlement.outcome);
          return inbox.settle(lease, settlement, now);
        };
        const receiver = receiving({ '*': gate.handler }, { ...HELD, inbox: { ...inbox, settle } });
        const frozen = { ...delivery('evt_1'), host: { frozenBetweenRequests: true } };

        const outcome = await lateOnce(receiver, frozen, () => gate.ends.length > 0);
        expect(outcome).toMatchObject({ kind: 'timeout', status: 503 });
        expect(asked).toEqual(['interrupted']);
        await expect.poll(() => outcomes(), { interval: 5 }).toEqual(['interrupted']);

        const again = receiver.receive(delivery('evt_1'));
        await expect.poll(() => gate.ends.length).toBe(2);
        for (const end of gate.ends) end.resolve();
        expect(await again).toMatchObject({ kind: 'processed' });
        expect(await outcomes()).toEqual(['interrupted', 'processed']);
        await receiver.close();
      });

      it('gives back an event that was claimed too late, and close() waits for that', async () => {
        const slow = Promise.withResolvers<void>();
        let claiming = false;
        const claimOne: Inbox['claimOne'] = async (...given) => {
          claiming = true;
          await slow.promise;
          return inbox.claimOne(...given);
        };
        const handler = vi.fn();
        const receiver = receiving({ '*': handler }, { ...HELD, inbox: { ...inbox, claimOne } });
        const outcome = await lateOnce(receiver, delivery('evt_1'), () => claiming);
        expect(outcome).toMatchObject({ kind: 'timeout', reason: 'handler-late' });

        const closing = receiver.close();
        slow.resolve();
        await closing;

        expect(await outcomes()).toEqual(['interrupted']);
        expect(handler).not.toHaveBeenCalled();
      });
    });

    describe('close()', () => {
      it('waits for the handlers of deliveries that were answered already, and answers new ones 503', async () => {
        const gate = gated();
        const receiver = receiving({ '*': gate.handler }, HELD);
        expect(await outlived(receiver, gate)).toMatchObject({ kind: 'timeout' });
        let closed = false;
        const closing = receiver.close().then(() => (closed = true));
        expect(await receiver.receive(delivery('evt_2'))).toMatchObject({ kind: 'unavailable', status: 503 });
        await sleep(50);
        expect(closed).toBe(false);
        gate.ends[0]?.resolve();
        await closing;
        expect(await outcomes()).toEqual(['processed']);
        await receiver.close();
      });

      it('has a handler run again that returned because it was told to stop', async () => {
        const clock = new VirtualClock();
        const gate = gated();
        const receiver = receiving({ '*': gate.handler }, { ...HELD, clock });
        expect(await outlived(receiver, gate)).toMatchObject({ kind: 'timeout' });
        const closing = receiver.close();
        await sleep(20);
        await clock.advance(10_000);
        expect(gate.contexts[0]?.signal.aborted).toBe(true);
        gate.ends[0]?.resolve();
        await rest();
        await clock.advance(5_000);
        await closing;
        expect([await outcomes(), (await known())?.state]).toEqual([['interrupted'], 'pending']);
      });

      it('ends the handler of a delivery that still waits: it is no crash where the process is killed meanwhile', async () => {
        const gate = gated();
        const processing = { closeMs: 200, leaseMs: 300 };
        const renewals: unknown[] = [];
        const told: Inbox = {
          ...inbox,
          renew: (...given) => {
            renewals.push(given[3]);
            return inbox.renew(...given);
          },
        };
        const receiver = receiving({ '*': gate.handler }, { inbox: told, processing });
        const outcome = receiver.receive(delivery('evt_1'));
        await begun(gate);
        const closing = receiver.close();
        expect(renewals.at(-1)).toBe(true);
        await closing;
        expect(gate.contexts[0]?.signal.aborted).toBe(true);
        expect(await outcomes()).toEqual(['interrupted']);
        gate.ends[0]?.resolve();
        expect((await outcome).status).toBeGreaterThanOrEqual(500);
        expect([await outcomes(), (await known())?.state]).toEqual([['interrupted'], 'pending']);
      });

      it('has others of its order wait for a handler that runs on after its transaction', async () => {
        const gate = gated();
        await using receiver = receiving({
          async '*'(event, context) {
            await context.transaction(() => {});
            await gate.handler(event, context);
          },
        });
        const first = receiver.receive(delivery('evt_1', { order: 'o' }));
        await begun(gate);
        expect((await known())?.state).toBe('processed');
        expect(await receiver.receive(delivery('evt_2', { order: 'o' }))).toMatchObject({ kind: 'busy', status: 409 });
        expect(await receiver.receive(delivery('evt_1', { order: 'o' }))).toMatchObject({
          kind: 'duplicate',
          status: 200,
        });
        gate.ends[0]?.resolve();
        expect(await first).toMatchObject({ kind: 'processed' });
        const second = receiver.receive(delivery('evt_2', { order: 'o' }));
        await begun(gate, 2);
        gate.ends[1]?.resolve();
        expect(await second).toMatchObject({ kind: 'processed' });
      });

      it('resolves at once where nothing runs', async () => {
        const receiver = receiving({ '*': () => {} });
        await receiver.receive(delivery('evt_1'));
        await receiver.close();
        expect((await known())?.state).toBe('processed');
      });
    });
  });
}

function thrower(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}
