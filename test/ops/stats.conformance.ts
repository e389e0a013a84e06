import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Counted } from '../../src/inbox/rules/counted.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { stats } from '../../src/ops/stats.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suite } from '../helpers/suite.ts';
import { counted, DAY, HOUR, MINUTE, NOON } from './counted.ts';

const hour = { since: new Date(NOON), until: new Date(NOON + HOUR) };

export const testStats = suite((open: () => Promise<Inbox>) => {
  async function having(...rows: readonly ReturnType<typeof counted>[]): Promise<Inbox> {
    const inbox = await open();
    await operationsOf(inbox).count(rows);
    return inbox;
  }

  it('sums up a span, over all and by type, reason and latency', async () => {
    const inbox = await having(
      counted(NOON - MINUTE, 'stored', 'order.ready', 1_000),
      counted(NOON, 'stored', 'order.ready', 5),
      counted(NOON + MINUTE, 'stored', 'invalid', 1),
      counted(NOON, 'duplicate', '', 2),
      counted(NOON, 'conflict', '', 1),
      counted(NOON, 'processed', 'order.ready', 4),
      counted(NOON, 'failed', 'order.ready', 3),
      counted(NOON + MINUTE, 'dead', 'invalid', 1),
      counted(NOON, 'dead', 'order.created', 1),
      counted(NOON, 'ignored', 'other', 6),
      counted(NOON, 'rerun', 'order.ready', 7),
      counted(NOON, 'discarded', 'order.ready', 8),
      counted(NOON, 'rejected', 'signature-mismatch', 9),
      counted(NOON + MINUTE, 'rejected', 'signature-mismatch', 1),
      counted(NOON, 'rejected', 'body-too-large', 2),
      counted(NOON, 'answer-ms', '5', 98),
      counted(NOON + MINUTE, 'answer-ms', '9000', 2),
      counted(NOON, 'handler-ms', 'inf', 1),
      counted(NOON, 'type-ms', 'order.ready 5', 99),
      counted(NOON + MINUTE, 'type-ms', 'order.ready 700', 1),
      counted(NOON, 'type-ms', 'other inf', 1),
      counted(NOON + HOUR, 'stored', 'order.ready', 1_000),
    );
    expect(await stats(inbox, hour)).toMatchObject({
      ...hour,
      totals: {
        stored: 6,
        duplicate: 2,
        conflict: 1,
        processed: 4,
        failed: 3,
        dead: 2,
        ignored: 6,
        rerun: 7,
        discarded: 8,
        rejected: 12,
      },
      byType: {
        'order.ready': { stored: 5, processed: 4, failed: 3, dead: 0 },
        'order.created': { stored: 0, processed: 0, failed: 0, dead: 1 },
        invalid: { stored: 1, processed: 0, failed: 0, dead: 1 },
      },
      rejectedByReason: { 'signature-mismatch': 10, 'body-too-large': 2 },
      answerMs: { count: 100, p50: 5, p90: 5, p99: 9_000, max: 9_000 },
      handlerMs: { count: 1, p50: Infinity, p90: Infinity, p99: Infinity, max: Infinity },
      handlerMsByType: { 'order.ready': { count: 100, p50: 5, max: 700 }, other: { count: 1, p50: Infinity } },
      redeliveryRate: 2 / 8,
      rejectionRate: 12 / 20,
    });
  });

  it('are all zero where nothing has happened', async () => {
    const { totals, byType, answerMs, redeliveryRate, rejectionRate, steps } = await stats(await having());
    expect(Object.values(totals).every((figure) => figure === 0)).toBe(true);
    expect([byType, answerMs.count, answerMs.max, redeliveryRate, rejectionRate]).toEqual([{}, 0, null, 0, 0]);
    expect(steps).toHaveLength(60);
  });

  it('cut the span into steps of equal length, those without anything in them too', async () => {
    const inbox = await having(
      counted(NOON, 'stored', 'order.ready', 1),
      counted(NOON + 14 * MINUTE, 'stored', 'order.created', 2),
      counted(NOON + 15 * MINUTE, 'stored', 'order.ready', 4),
      counted(NOON + 59 * MINUTE, 'stored', 'order.ready', 8),
      counted(NOON + 59 * MINUTE, 'answer-ms', '20', 1),
    );
    const { steps } = await stats(inbox, { ...hour, steps: 4 });
    expect(steps.map(({ at, stored, dead, answerMs }) => [at.getTime() - NOON, stored, dead, answerMs.p50])).toEqual([
      [0, 3, 0, null],
      [15 * MINUTE, 4, 0, null],
      [30 * MINUTE, 0, 0, null],
      [45 * MINUTE, 8, 0, 20],
    ]);
  });

  it('have in their steps together what they have over all, for any span and number of steps', async () => {
    const inbox = await having(
      ...Array.from({ length: 300 }, (_, n) => counted(NOON + n * 7 * MINUTE, 'stored', 'order.ready', n)),
    );
    await operationsOf(inbox).coarsen(NOON + DAY);
    const moment = fc.integer({ min: -HOUR, max: 2 * DAY }).map((ms) => NOON + ms);
    await fc.assert(
      fc.asyncProperty(moment, moment, fc.integer({ min: 1, max: 100 }), async (one, other, count) => {
        fc.pre(one !== other);
        const span = { since: new Date(Math.min(one, other)), until: new Date(Math.max(one, other)) };
        const { totals, steps } = await stats(inbox, { ...span, steps: count });
        const rows = await operationsOf(inbox).counts(span.since.getTime(), span.until.getTime());
        expect(steps.reduce((sum, { stored }) => sum + stored, 0)).toBe(totals.stored);
        expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(totals.stored);
        expect(steps).toHaveLength(count);
      }),
      { numRuns: 30 },
    );
  });

  it('read hours for the days before, and minutes for the last one', async () => {
    const inbox = await having(
      ...Array.from({ length: 30 * 24 }, (_, n) => counted(NOON + n * HOUR + 31 * MINUTE, 'stored', 'order.ready')),
    );
    const until = NOON + 30 * DAY;
    await operationsOf(inbox).coarsen(until - DAY);
    const month = await stats(inbox, { since: new Date(NOON), until: new Date(until), steps: 60 });
    expect(month.steps.map(({ stored }) => stored)).toEqual(Array.from({ length: 60 }, () => 12));
    const day = await stats(inbox, { since: new Date(until - DAY), until: new Date(until), steps: 48 });
    expect(day.steps.map(({ stored }) => stored)).toEqual(Array.from({ length: 48 }, (_, n) => n % 2));
  });

  it('have steps of equal length where a clock is put forward in between', async () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    onTestFinished(() => void vi.unstubAllEnvs());
    const since = new Date('2026-03-28T12:00:00Z');
    const until = new Date('2026-03-30T12:00:00Z');
    expect(since.getTimezoneOffset()).not.toBe(until.getTimezoneOffset());
    const { steps } = await stats(await having(), { since, until, steps: 48 });
    expect(steps.map(({ at }) => at.getTime() - since.getTime())).toEqual(
      Array.from({ length: 48 }, (_, n) => n * HOUR),
    );
  });

  it('keep apart names that objects have by nature', async () => {
    const hostile = ['__proto__', 'constructor', 'toString'];
    const inbox = await having(
      ...hostile.flatMap((name) => [counted(NOON, 'stored', name), counted(NOON, 'rejected', name, 2)]),
    );
    const { byType, rejectedByReason, totals } = await stats(inbox, hour);
    expect(Object.keys(byType).toSorted()).toEqual(hostile.toSorted());
    expect(Object.entries(byType).map(([, { stored }]) => stored)).toEqual([1, 1, 1]);
    expect(Object.entries(rejectedByReason)).toHaveLength(3);
    expect([totals.stored, totals.rejected]).toEqual([3, 6]);
  });

  it('are of the last hour unless told otherwise, and tell how things stand now', async () => {
    const now = Date.now();
    const inbox = await having(counted(now - 30 * MINUTE, 'stored'), counted(now - 90 * MINUTE, 'stored'));
    await store(inbox, orderEvent('evt_1'));
    const { since, until, totals, now: standing } = await stats(inbox);
    expect(until.getTime() - since.getTime()).toBe(HOUR);
    expect(totals.stored).toBe(2);
    expect(standing.pending).toEqual({ count: 1, more: false });
    const before = await stats(inbox, { until: new Date(now - HOUR) });
    expect([before.totals.stored, before.until.getTime() - before.since.getTime()]).toEqual([1, HOUR]);
  });

  it('tell what a receiver and its handlers did', async () => {
    const inbox = await having();
    const handlers = { 'order.created': async () => {} };
    const receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger: silent,
      handlers,
      processing: { mode: 'inline' },
    });
    await receiver.receive(orderDelivery('evt_1'));
    await receiver.receive(orderDelivery('evt_2'));
    await receiver.receive(orderDelivery('evt_2'));
    await receiver.receive({ ...orderDelivery('evt_3'), signature: '0'.repeat(64) });
    await receiver.close();
    const told = await stats(inbox, { until: new Date(Date.now() + MINUTE) });
    expect(told).toMatchObject({
      totals: { stored: 2, duplicate: 1, processed: 2, rejected: 1 },
      byType: { 'order.created': { stored: 2, processed: 2 } },
      rejectedByReason: { 'signature-mismatch': 1 },
      answerMs: { count: 4 },
      handlerMs: { count: 2 },
      redeliveryRate: 1 / 3,
      rejectionRate: 1 / 4,
    });
  });

  it('let deliveries in between, however many steps there are', async () => {
    const inbox = await having(counted(NOON, 'stored'));
    const told = stats(inbox, { ...hour, steps: 500 });
    let turns = 0;
    const over = told.then(() => 'over');
    while ((await Promise.race([over, setImmediate('not yet')])) === 'not yet') turns += 1;
    expect(turns).toBeGreaterThanOrEqual(490);
  });

  it.each([
    ['a span without length', { since: new Date(NOON), until: new Date(NOON) }],
    ['a span that ends before it begins', { since: new Date(NOON + 1), until: new Date(NOON) }],
    ['a time that is none', { since: new Date(NaN) }],
    ['no step', { steps: 0 }],
    ['half a step', { steps: 1.5 }],
    ['a million steps', { steps: 1_000_000 }],
  ])('refuse %s', async (_, options) => {
    await expect(stats(await having(), options)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('have a sum for everything that is counted but latencies', async () => {
    const whats: readonly Counted[] = Object.keys((await stats(await having())).totals) as Counted[];
    const inbox = await having(...whats.map((what, n) => counted(NOON, what, 'x', n + 1)));
    expect(Object.values((await stats(inbox, hour)).totals)).toEqual(whats.map((_, n) => n + 1));
  });
});
