import { expect, it, onTestFinished, vi } from 'vitest';
import { eventTypes } from '../../src/events/event-types.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { LATENCY_BUCKETS_MS, type Counted } from '../../src/inbox/rules/counted.ts';
import { discardEvents, rerun } from '../../src/ops/act-on-events.ts';
import { metrics, pauseType, resumeType, stats } from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suite } from '../helpers/suite.ts';
import { counted, DAY, HOUR, MINUTE, NOON } from './counted.ts';
import { FAILED, handled, key, RETRY } from './events-in-states.ts';
import { readExposition } from './exposition.ts';

export interface MeasuredStore {
  readonly inbox: Inbox;
  readonly another: () => Promise<Inbox>;
}

async function scraped(inbox: Inbox): Promise<Map<string, number>> {
  const { text } = await metrics(inbox);
  return new Map([...readExposition(text).values()].flatMap(({ series }) => [...series]));
}

export const testMetrics = suite((open: () => Promise<MeasuredStore>) => {
  const opened = async () => {
    const store = await open();
    return { ...store, operations: operationsOf(store.inbox) };
  };

  it('are what Prometheus reads, each with a help and a type', async () => {
    const { inbox, operations } = await opened();
    await operations.count([counted(NOON, 'answer-ms', '7', 3), counted(NOON, 'rejected', 'signature-mismatch')]);
    const { contentType, text } = await metrics(inbox);
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    const families = readExposition(text);
    expect([...families].map(([name, { type }]) => `${type} ${name}`)).toEqual([
      'gauge hookbox_build_info',
      'gauge hookbox_events',
      'gauge hookbox_events_capped',
      'gauge hookbox_retrying_events',
      'gauge hookbox_oldest_pending_seconds',
      'gauge hookbox_oldest_due_seconds',
      'gauge hookbox_paused_types',
      'gauge hookbox_last_received_timestamp_seconds',
      'gauge hookbox_usual_gap_seconds',
      'gauge hookbox_silent',
      'gauge hookbox_rejecting',
      'gauge hookbox_processors',
      'gauge hookbox_missing_processors',
      'gauge hookbox_unhandled_events',
      'gauge hookbox_processor_last_seen_timestamp_seconds',
      'counter hookbox_deliveries_total',
      'counter hookbox_conflicts_total',
      'counter hookbox_attempts_total',
      'counter hookbox_superseded_total',
      'counter hookbox_ignored_total',
      'counter hookbox_reruns_total',
      'counter hookbox_discarded_total',
      'histogram hookbox_answer_seconds',
      'histogram hookbox_handler_seconds',
    ]);
    expect([...families.values()].every(({ help }) => help.length > 10)).toBe(true);
  });

  it('say what deliveries and attempts came to', async () => {
    const { inbox } = await opened();
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiver.receive(orderDelivery('evt_1'));
    await receiver.receive(orderDelivery('evt_1'));
    await receiver.receive({ ...orderDelivery('evt_2'), signature: '0'.repeat(64) });
    await receiver.receive({ ...orderDelivery('evt_2'), signature: null });
    await receiver.close();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_3'));
    await handled(inbox, RETRY, orderEvent('evt_4'), orderEvent('evt_5'));
    await handled(inbox, FAILED, orderEvent('evt_6', { type: 'order.ready' }));
    await discardEvents(inbox, [orderEvent('evt_5')], { actor: 'ada' });
    await operationsOf(inbox).count([counted(NOON, 'discarded', 'order.ready', 2), counted(NOON, 'conflict', '', 4)]);
    const series = await scraped(inbox);
    expect(Object.fromEntries([...series].filter(([key, value]) => value > 0 && !/seconds|build/.test(key)))).toEqual({
      'hookbox_events{state="pending"}': 2,
      'hookbox_events{state="dead"}': 1,
      'hookbox_events{state="discarded"}': 1,
      hookbox_retrying_events: 1,
      'hookbox_deliveries_total{outcome="stored",type="order.created"}': 4,
      'hookbox_deliveries_total{outcome="stored",type="order.ready"}': 1,
      'hookbox_deliveries_total{outcome="duplicate"}': 1,
      'hookbox_deliveries_total{outcome="rejected",reason="signature-mismatch"}': 1,
      'hookbox_deliveries_total{outcome="rejected",reason="signature-missing"}': 1,
      hookbox_conflicts_total: 4,
      'hookbox_attempts_total{outcome="processed",type="order.created"}': 1,
      'hookbox_attempts_total{outcome="failed",type="order.created"}': 2,
      'hookbox_attempts_total{outcome="dead",type="order.ready"}': 1,
      'hookbox_discarded_total{type="order.created"}': 1,
      'hookbox_discarded_total{type="order.ready"}': 2,
    });
    expect(series.get('hookbox_answer_seconds_count')).toBe(4);
    expect(series.get('hookbox_handler_seconds_count')).toBe(4);
  });

  it('name the types of a merchant’s own that handlers name, and no other', async () => {
    const { inbox } = await opened();
    const types = ['order.shipped', 'invalid', 'a'.repeat(101), 'order.created'];
    await inbox.announce({ endpoints: ['default'], types }, NOON, null);
    const own = (id: string, type: string) => ({ ...orderEvent(id), type });
    await handled(inbox, { outcome: 'processed' }, own('evt_1', 'order.shipped'), own('evt_2', 'a sender’s'));
    await handled(inbox, FAILED, own('evt_3', 'order.shipped'), own('evt_4', 'invalid'), own('evt_5', 'a'.repeat(101)));
    const series = await scraped(inbox);
    const told = [...series].filter(([key, value]) => value > 0 && /_(deliveries|attempts)_total/.test(key));
    expect(Object.fromEntries(told)).toEqual({
      'hookbox_deliveries_total{outcome="stored",type="order.shipped"}': 2,
      'hookbox_deliveries_total{outcome="stored",type="other"}': 3,
      'hookbox_attempts_total{outcome="processed",type="order.shipped"}': 1,
      'hookbox_attempts_total{outcome="processed",type="other"}': 1,
      'hookbox_attempts_total{outcome="dead",type="order.shipped"}': 1,
      'hookbox_attempts_total{outcome="dead",type="other"}': 2,
    });
    expect(series.get('hookbox_processor_last_seen_timestamp_seconds{type="order.shipped"}')).toBeGreaterThan(0);
    // Its first event counts, so each series is there before it.
    expect(series.get('hookbox_reruns_total{type="order.shipped"}')).toBe(0);
    const { handlerMsByType, byType } = await stats(inbox);
    expect(byType['order.shipped']).toMatchObject({ stored: 2, processed: 1, dead: 1 });
    expect(handlerMsByType['order.shipped']?.count).toBe(2);
    expect(handlerMsByType['other']?.count).toBe(3);
  });

  it('tell by endpoint when a type was handled last, as a handler at one hides none that is gone at another', async () => {
    const { inbox } = await opened();
    const seen = async () =>
      Object.fromEntries(
        [...(await scraped(inbox))]
          .filter(([key]) => key.startsWith('hookbox_processor_last_seen'))
          .map(([key, value]) => [key.replace(/^.*(?=\{)/, ''), value * 1_000 - NOON]),
      );
    await inbox.announce({ endpoints: ['live'], types: ['order.ready', 'order.created'] }, NOON, null);
    expect(Object.keys(await seen()).toSorted()).toEqual(['{type="order.created"}', '{type="order.ready"}']);
    await inbox.announce({ endpoints: ['test'], types: ['order.ready'] }, NOON + MINUTE, null);
    await inbox.announce({ endpoints: '*', types: ['order.created', 'cart.abandoned'] }, NOON + HOUR, null);
    expect(await seen()).toEqual({
      '{type="cart.abandoned"}': HOUR,
      '{type="order.created"}': HOUR,
      '{type="order.created",endpoint="live"}': HOUR,
      '{type="order.ready"}': MINUTE,
      '{type="order.ready",endpoint="live"}': 0,
      '{type="order.ready",endpoint="test"}': MINUTE,
    });
  });

  it('name fifty of them at most', async () => {
    const { inbox } = await opened();
    const types = Array.from({ length: 60 }, (_, n) => `own.type_${String(n).padStart(2, '0')}`);
    await inbox.announce({ endpoints: '*', types }, NOON, null);
    await handled(inbox, { outcome: 'processed' }, ...types.map((type) => ({ ...orderEvent(type), type })));
    const labels = (series: Map<string, number>) =>
      [...series].filter(([key]) => key.startsWith('hookbox_attempts_total{outcome="processed"'));
    const found = labels(await scraped(inbox));
    expect(found).toHaveLength(eventTypes.length + 50 + 2);
    expect(found.filter(([, count]) => count > 0)).toHaveLength(51);
    expect(found.find(([key]) => key.endsWith('type="other"}'))?.[1]).toBe(10);
  });

  it('have each known series from the beginning, so that its first event counts', async () => {
    const series = await scraped((await opened()).inbox);
    for (const type of eventTypes) {
      expect(series.get(`hookbox_deliveries_total{outcome="stored",type="${type}"}`)).toBe(0);
      expect(series.get(`hookbox_attempts_total{outcome="dead",type="${type}"}`)).toBe(0);
    }
    expect(series.get('hookbox_deliveries_total{outcome="duplicate"}')).toBe(0);
    expect(series.get('hookbox_answer_seconds_bucket{le="+Inf"}')).toBe(0);
  });

  it('have latencies in buckets of seconds', async () => {
    const { inbox, operations } = await opened();
    await operations.count([
      counted(NOON, 'answer-ms', '1', 2),
      counted(NOON + MINUTE, 'answer-ms', '1', 1),
      counted(NOON, 'answer-ms', '1500', 4),
      counted(NOON, 'answer-ms', 'inf', 1),
      counted(NOON, 'handler-ms', '60000', 1),
    ]);
    const series = await scraped(inbox);
    const buckets = [0.001, 1, 1.5, 60, '+Inf'].map((le) => series.get(`hookbox_answer_seconds_bucket{le="${le}"}`));
    expect(buckets).toEqual([3, 3, 7, 7, 8]);
    expect(series.get('hookbox_answer_seconds_sum')).toBeCloseTo(3 * 0.0005 + 4 * 1.25 + 60);
    expect(series.get('hookbox_handler_seconds_bucket{le="30"}')).toBe(0);
    expect([...series.keys()].filter((key) => key.startsWith('hookbox_answer_seconds_bucket'))).toHaveLength(
      LATENCY_BUCKETS_MS.length + 1,
    );
  });

  it('never fall, while minutes become hours and hours are forgotten', async () => {
    const { inbox, operations } = await opened();
    const whats: Counted[] = ['stored', 'duplicate', 'failed', 'rejected', 'answer-ms', 'discarded'];
    const details = { stored: 'order.ready', failed: 'other', rejected: 'no-secret', 'answer-ms': '30' } as const;
    let before = await scraped(inbox);
    let now = NOON;
    for (let round = 0; round < 30; round += 1) {
      now += [MINUTE, 3 * HOUR, 80 * DAY, 0][round % 4] ?? 0;
      const rows = whats.map((what, n) => counted(now, what, details[what as 'stored'] ?? '', n + round));
      await operations.count(rows);
      if (round % 3 === 0) await operations.coarsen(now - DAY);
      const after = await scraped(inbox);
      const growing = [...before].filter(([key]) => /_total|_bucket|_sum|_count/.test(key));
      expect(growing.length).toBeGreaterThan(100);
      for (const [key, value] of growing) expect(after.get(key), key).toBeGreaterThanOrEqual(value);
      before = after;
    }
    expect(before.get('hookbox_deliveries_total{outcome="stored",type="order.ready"}')).toBe((29 * 30) / 2);
    expect(await operations.counts(0, NOON + DAY)).toEqual([]);
  });

  it('are the same from every process of a file, and after all of them have ended', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON });
    onTestFinished(() => void vi.useRealTimers());
    const { inbox, another } = await opened();
    const other = await another();
    await handled(inbox, RETRY, orderEvent('evt_1'));
    await handled(other, { outcome: 'processed' }, orderEvent('evt_2'));
    const { text } = await metrics(inbox);
    expect((await metrics(other)).text).toBe(text);
    await inbox.close();
    await other.close();
    expect((await metrics(await another())).text).toBe(text);
  });

  it('have no more series than before, whatever senders make up', async () => {
    const { inbox, operations } = await opened();
    const before = await scraped(inbox);
    const hostile = Array.from({ length: 300 }, (_, n) => `x${n}"} 1\nhookbox_forged{a="\\`);
    for (const what of ['stored', 'dead', 'ignored', 'rerun'] as const) {
      await operations.count(hostile.map((detail) => counted(NOON, what, detail)));
    }
    await operations.noteRejected(
      hostile.map((reason) => {
        return { endpoint: 'default', reason, bytes: null, sha256: null, source: reason, count: 1, at: NOON };
      }),
    );
    const after = await scraped(inbox);
    const fresh = [...after.keys()].filter((key) => !before.has(key));
    expect(fresh).toEqual(['hookbox_deliveries_total{outcome="rejected",reason="other"}']);
    expect(after.get(fresh[0] ?? '')).toBe(300);
    expect(after.get('hookbox_deliveries_total{outcome="stored",type="other"}')).toBe(300);
    expect((await metrics(inbox)).text).not.toContain('forged');
  });

  it('tell how long the oldest pending event has waited', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON });
    onTestFinished(() => void vi.useRealTimers());
    const { inbox } = await opened();
    expect((await scraped(inbox)).get('hookbox_oldest_pending_seconds')).toBe(0);
    await store(inbox, orderEvent('evt_1', { receivedAt: NOON - 90_000 }), orderEvent('evt_2', { receivedAt: NOON }));
    expect((await scraped(inbox)).get('hookbox_oldest_pending_seconds')).toBe(90);
    await handled(inbox, FAILED, orderEvent('evt_1'));
    await rerun(inbox, key('evt_1'), { now: NOON - 30_000 });
    expect((await scraped(inbox)).get('hookbox_oldest_pending_seconds')).toBe(30);
    vi.setSystemTime(NOON - DAY);
    expect((await scraped(inbox)).get('hookbox_oldest_pending_seconds')).toBe(0);
  });

  it('count nothing as due that was paused, however long', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON });
    onTestFinished(() => void vi.useRealTimers());
    const { inbox } = await opened();
    const due = async () => (await scraped(inbox)).get('hookbox_oldest_due_seconds');
    const created = orderEvent('evt_1', { receivedAt: NOON - 90_000 });
    await handled(inbox, RETRY, created, orderEvent('evt_2', { receivedAt: NOON - 30_000, type: 'order.ready' }));
    vi.setSystemTime(NOON + DAY);
    const before = await due();
    await pauseType(inbox, 'order.created', { actor: 'ada' });
    expect(await due()).toBeGreaterThan(0);
    await pauseType(inbox, 'order.ready', { actor: 'ada' });
    expect(await due()).toBe(0);
    await resumeType(inbox, 'order.created', { actor: 'ada' });
    expect(await due()).toBe(before);
  });

  it('flag what was counted only up to a bound', async () => {
    const { inbox, operations } = await opened();
    const gauges = await operations.gauges();
    const capped = { ...operations, gauges: async () => ({ ...gauges, dead: { count: 10_000, more: true } }) };
    const series = await scraped({ ...inbox, operations: capped });
    expect(series.get('hookbox_events{state="dead"}')).toBe(10_000);
    expect(series.get('hookbox_events_capped{state="dead"}')).toBe(1);
    expect(series.get('hookbox_events_capped{state="pending"}')).toBe(0);
  });
});
