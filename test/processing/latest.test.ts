import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, orderEvents, store, type OrderEventParts } from '../helpers/order-event.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const burst = (count: number, parts: OrderEventParts = {}) =>
  orderEvents(count, (n) => ({ order: 'o', createdAt: n, ...parts }));

async function started(handlers: Handlers, more: Partial<ProcessorOptions> = {}) {
  const clock = new VirtualClock();
  const inbox = memoryInbox();
  const processor = createProcessor({ inbox, clock, handlers, logger: false, ...more });
  await processor.start();
  await rest();
  return { clock, inbox, processor };
}

it('a burst of 300 costs two runs: of the first, and of the newest', async () => {
  const runs: string[] = [];
  const running: (() => void)[] = [];
  const handle = async ({ id }: { readonly id: string }) => {
    runs.push(id);
    await new Promise<void>((resolve) => running.push(resolve));
  };
  const { inbox, processor, clock } = await started({ 'order.created': { handle, latest: true } });
  await store(inbox, ...burst(1));
  await clock.advance(1_000);
  await store(inbox, ...burst(300));
  await clock.advance(1_000);
  expect(runs).toEqual(['evt_0']);
  while (running.length > 0) {
    running.pop()?.();
    await clock.advance(1_000);
  }
  expect(runs).toEqual(['evt_0', 'evt_299']);
  const states = await Promise.all(burst(300).map(async (key) => (await inbox.get(key))?.state));
  expect(new Set(states)).toEqual(new Set(['processed']));
  await processor.close();
});

it('the newest of a stream runs again and again, as often as maxMs says', async () => {
  const runs: number[] = [];
  const clock = new VirtualClock();
  const handle = () => void runs.push(clock.now() - START);
  const latest = { quietMs: 1_000 };
  const { inbox, processor } = await started({ '*': { handle, latest } }, { clock });
  for (let n = 0; n < 50; n += 1) {
    await store(inbox, orderEvent(`evt_${n}`, { order: 'o', createdAt: n, receivedAt: clock.now() }));
    await clock.advance(500);
  }
  await clock.advance(20_000);
  expect(runs).toHaveLength(3);
  expect(runs[0]).toBeGreaterThanOrEqual(10_000);
  expect(runs[0]).toBeLessThan(11_500);
  expect(runs[2]).toBeGreaterThanOrEqual(25_500);
  await processor.close();
});

it('a processor that was away runs only the newest when it comes back, and only of types with the option', async () => {
  const runs: string[] = [];
  const handle = ({ id }: { readonly id: string }) => void runs.push(id);
  const clock = new VirtualClock();
  const inbox = memoryInbox();
  await store(
    inbox,
    ...burst(5),
    ...[0, 1].map((n) => orderEvent(`r_${n}`, { order: 'o', createdAt: n, type: 'order.ready' })),
  );
  await clock.advance(3_600_000);
  const handlers = { 'order.created': handle, '*': { handle, latest: { quietMs: 5_000 } } };
  const processor = createProcessor({ inbox, clock, handlers, logger: false });
  await processor.start();
  await clock.advance(100);
  expect(runs.toSorted()).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3', 'evt_4', 'r_1']);
  await processor.close();
});

it('a delivery is not started at once, because a newer event may be waiting', async () => {
  const clock = new VirtualClock();
  const inbox = memoryInbox();
  const runs: string[] = [];
  const handle = ({ id }: { readonly id: string }) => void runs.push(id);
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    clock,
    logger: false,
    handlers: { '*': { handle, latest: { quietMs: 1_000 } } },
  });
  await receiver.start();
  await rest();
  const { body } = orderEvent('evt_1');
  await receiver.receive({ body, signature: signBody(body, SECRET) });
  await clock.advance(900);
  expect(runs).toEqual([]);
  await clock.advance(1_200);
  expect(runs).toEqual(['evt_1']);
  await receiver.close();
});

it('inline, each delivery runs', async () => {
  const runs: string[] = [];
  const handle = ({ id }: { readonly id: string }) => void runs.push(id);
  const receiver = createReceiver({
    secret: SECRET,
    inbox: memoryInbox(),
    logger: false,
    handlers: { '*': { handle, latest: true } },
    processing: { mode: 'inline' },
  });
  for (const { body } of burst(2)) await receiver.receive({ body, signature: signBody(body, SECRET) });
  expect(runs).toEqual(['evt_0', 'evt_1']);
  await receiver.close();
});
