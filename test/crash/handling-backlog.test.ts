// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { later } from '../helpers/incoming-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { watchStalls } from '../helpers/stall-watch.ts';
import { orderEvent, orderEvents } from '../helpers/order-event.ts';

const EVENTS = 10_000;
const ORDERS = 200;
const EACH = EVENTS / ORDERS;
const FAILING = 'ord_13';

it('10,000 events that nobody handled for a while are handled in the order of their entities, but for one that keeps failing', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  const events = orderEvents(EVENTS, (n) => ({ order: `ord_${n % ORDERS}`, createdAt: Math.floor(n / ORDERS) }));
  const arriving = events.map((event) => ({ event, at: Math.random() })).toSorted((a, b) => a.at - b.at);
  for (let from = 0; from < EVENTS; from += 2_000) {
    await Promise.all(arriving.slice(from, from + 2_000).map(({ event }) => inbox.accept(event, later())));
  }

  const handled = new Map<string, string[]>();
  const live = new Set<string>();
  let failures = 0;
  let overlaps = 0;
  let count = 0;
  await using processor = createProcessor({
    inbox,
    logger: silent,
    processing: { concurrency: 50, retry: { attempts: 1_000, baseMs: 200, maxMs: 400 } },
    handlers: {
      'order.created': async ({ created, data }) => {
        const order = data.id ?? '';
        if (live.has(order)) overlaps += 1;
        live.add(order);
        await sleep(0);
        live.delete(order);
        if (order === FAILING) {
          failures += 1;
          throw new Error('this order cannot be handled');
        }
        handled.set(order, [...(handled.get(order) ?? []), created]);
        count += 1;
      },
    },
  });
  const endWatch = watchStalls(250);
  const from = performance.now();
  await processor.start();
  await vi.waitUntil(() => count >= EVENTS - EACH, { timeout: 50_000, interval: 20 });
  const seconds = (performance.now() - from) / 1_000;
  const stalled = endWatch();
  await processor.close();

  expect(count).toBe(EVENTS - EACH);
  expect(overlaps).toBe(0);
  expect(handled.size).toBe(ORDERS - 1);
  for (const [order, created] of handled) {
    expect(created.length, order).toBe(EACH);
    expect(created, order).toEqual(created.toSorted());
  }
  expect(failures).toBeGreaterThan(0);
  const waiting = (await inbox.list({ limit: EVENTS })).filter(({ state }) => state !== 'processed');
  expect(waiting).toHaveLength(EACH);
  expect(waiting.every(({ state, entity }) => state === 'pending' && entity?.endsWith(FAILING) === true)).toBe(true);
  expect(stalled).toBeLessThan(0.2);
  console.info(
    `${count} events in ${seconds.toFixed(1)} s, ${(stalled * 100).toFixed(1)} % of it in stalls over 250 ms`,
  );
});

it('10,000 events of one entity, stored while nothing processes, do not hold up the event loop or the events of others', async () => {
  await using inbox = sqliteInbox(scratchFile());
  const behind = orderEvents(EVENTS, (n) => ({ order: FAILING, createdAt: n }));
  for (let from = 0; from < EVENTS; from += 2_000) {
    await Promise.all(behind.slice(from, from + 2_000).map((event) => inbox.accept(event, later())));
  }
  await inbox.accept(orderEvent('other', { order: 'ord_1' }), later());
  const handled: string[] = [];
  await using processor = createProcessor({
    inbox,
    logger: silent,
    processing: { retry: { attempts: 1_000, baseMs: 50, maxMs: 50 } },
    handlers: {
      '*': ({ id }) => {
        if (id !== 'other') throw new Error('this order cannot be handled');
        handled.push(id);
      },
    },
  });
  let longest = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - before);
    before = performance.now();
  }, 5);
  await processor.start();
  const from = performance.now();
  await vi.waitUntil(() => handled.length > 0, { timeout: 20_000, interval: 5 });
  clearInterval(timer);
  expect(handled).toEqual(['other']);
  console.info(
    `found after ${Math.round(performance.now() - from)} ms; the longest stall was ${Math.round(longest)} ms`,
  );
  expect(longest).toBeLessThan(2_000);
});
