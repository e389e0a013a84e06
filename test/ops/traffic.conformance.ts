import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { CountRow } from '../../src/inbox/rules/counted.ts';
import { PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { warningsOf } from '../../src/ops/health.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { watch } from '../../src/ops/watch.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suite } from '../helpers/suite.ts';
import { counted, DAY, HOUR, MINUTE, NOON } from './counted.ts';
import { attempt } from './events-in-states.ts';

/** Four weeks of an event every eight seconds, until a time. */
function busyUntil(until: number, rowsOf: (at: number, count: number) => readonly CountRow[]): readonly CountRow[] {
  const hours = Array.from({ length: 28 * 24 }, (_, n) => until - (n + 2) * HOUR).flatMap((at) => rowsOf(at, 450));
  const minutes = Array.from({ length: 60 }, (_, n) => until - (n + 1) * MINUTE);
  return [...hours, ...minutes.flatMap((at) => rowsOf(at, 7))];
}

const stored = (at: number, count: number): readonly CountRow[] => [
  counted(at, 'stored', 'order.created', count - 2),
  counted(at, 'stored', 'order.ready', 1),
  counted(at, 'duplicate', '', 1),
];

/** Stores an event and handles it before its delivery is answered. */
async function handleInline(inbox: Inbox, event: IncomingEvent): Promise<void> {
  const now = event.receivedAt;
  await inbox.accept(event, later());
  await attempt(inbox, event, { outcome: 'processed' }, now);
  await operationsOf(inbox).count([counted(now, 'processed', 'order.created')]);
}

export const testTraffic = suite((open: () => Promise<Inbox>) => {
  const opened = async (rows: readonly CountRow[] = []) => {
    const inbox = await open();
    const operations = operationsOf(inbox);
    await operations.count(rows);
    const refuse = async (endpoint: string, at: number, count: number) => {
      const reason = 'signature-mismatch';
      await operations.noteRejected([{ endpoint, reason, sha256: null, source: null, bytes: 1, count, at }]);
      await operations.count([counted(at, 'refused', `${reason} ${endpoint}`, count)]);
    };
    const alarmsAt = async (now: number) => {
      const { all, endpoints } = (await watch(inbox, now)).traffic;
      return [all.alarm, ...endpoints.map(({ endpoint, alarm }) => `${endpoint ?? ''} ${alarm ?? 'well'}`)];
    };
    return { inbox, operations, refuse, alarmsAt };
  };

  it('tells of silence, whether minutes were put together or not', async () => {
    const { inbox, operations, alarmsAt } = await opened(busyUntil(NOON, stored));
    for (const _ of ['as they came', 'put together']) {
      expect(await alarmsAt(NOON)).toEqual([null]);
      expect(await alarmsAt(NOON + 2 * HOUR)).toEqual(['silent']);
      expect(await alarmsAt(NOON + 30 * HOUR)).toEqual(['silent']);
      const { traffic } = await watch(inbox, NOON + 2 * HOUR);
      expect(traffic.all).toMatchObject({ usualGapMs: 8_000, lastReceived: new Date(NOON - MINUTE) });
      await operations.coarsen(NOON - DAY);
    }
    const [warning] = warningsOf(await watch(inbox, NOON + 2 * HOUR), inbox, new Date(NOON + 2 * HOUR));
    expect(warning?.text).toBe(
      'No delivery has arrived since 11:59 UTC (2 h 1 min); at this hour, a delivery usually arrives every 8 s.',
    );
  });

  it('tells of a wrong secret, and not of a stranger beside usual traffic', async () => {
    const { inbox, operations, alarmsAt } = await opened(busyUntil(NOON, stored));
    const forged = { endpoint: 'default', sha256: null, source: null, bytes: 1, reason: 'signature-mismatch' };
    await operations.noteRejected([{ ...forged, count: 3_000, at: NOON - 5 * MINUTE }]);
    expect(await alarmsAt(NOON)).toEqual([null]);
    await operations.noteRejected([{ ...forged, count: 300, at: NOON + HOUR }]);
    await operations.noteRejected([{ ...forged, reason: 'body-too-slow', count: 2, at: NOON + HOUR }]);
    expect(await alarmsAt(NOON + HOUR)).toEqual(['rejecting']);
    const [warning] = warningsOf(await watch(inbox, NOON + HOUR), inbox, new Date(NOON + HOUR));
    expect(warning?.text).toMatch(
      /^Every delivery since 11:59 UTC \(1 h\) was rejected \(302 in all\)\. The signature does not match/,
    );
  });

  it('tells of one endpoint by its name, while others are busy, for a week', async () => {
    const arrived = (endpoint: string) => (at: number, count: number) => [counted(at, 'arrived', endpoint, count)];
    const { inbox, operations, alarmsAt } = await opened([
      ...busyUntil(NOON, arrived('one shop')),
      ...busyUntil(NOON - 3 * HOUR, arrived('other')),
      ...busyUntil(NOON, stored),
    ]);
    expect(await alarmsAt(NOON)).toEqual([null, 'one shop well', 'other silent']);
    const [warning] = warningsOf(await watch(inbox, NOON), inbox, new Date(NOON));
    expect(warning).toMatchObject({ alarm: 'silent', endpoint: 'other' });
    expect(warning?.text).toContain('No delivery has arrived at other since 08:59 UTC');
    // A receiver that was killed has not counted where its last deliveries came in: it may have been there.
    await operations.count([counted(NOON - HOUR, 'stored', 'order.ready', 40)]);
    expect(await alarmsAt(NOON)).toEqual([null, 'one shop well', 'other well']);
  });

  it('looks for the last delivery of each endpoint for 36 days', async () => {
    const { inbox } = await opened([
      counted(NOON - 60 * DAY, 'arrived', 'one shop'),
      counted(NOON - 12 * DAY, 'arrived', 'given up'),
      counted(NOON - 3 * DAY, 'arrived', 'one shop'),
      counted(NOON - 3 * DAY, 'stored', 'order.ready'),
    ]);
    const lastAt = async (now: number) => {
      const { all, endpoints } = (await watch(inbox, now)).traffic;
      return [all, ...endpoints].map(({ lastReceived }) => lastReceived?.getTime() ?? null);
    };
    expect(await lastAt(NOON)).toEqual([NOON - 3 * DAY, NOON - 12 * DAY, NOON - 3 * DAY]);
    expect(await lastAt(NOON + 40 * DAY)).toEqual([null, null, null]);
  });

  it('is counted by receivers, at their endpoints', async () => {
    const { inbox, operations } = await opened();
    for (const endpoint of ['default', 'other shop']) {
      const receiver = createReceiver({ secret: SECRET, inbox, endpoint, logger: silent });
      for (const id of ['evt_1', 'evt_1', 'evt_2']) await receiver.receive(orderDelivery(id));
      for (let n = 0; n < 6; n += 1) {
        await receiver.receive({
          ...orderDelivery('evt_2'),
          signature: endpoint === 'default' ? null : '0'.repeat(64),
        });
      }
      await receiver.close();
    }
    const { traffic } = await watch(inbox);
    expect(traffic.all.lately).toMatchObject({ accepted: 6, rejected: 12 });
    expect(traffic.endpoints).toMatchObject([
      { endpoint: 'default', lately: { accepted: 3, rejected: 6, cause: 'signature-missing' } },
      { endpoint: 'other shop', lately: { accepted: 3, rejected: 6, cause: 'signature-mismatch' } },
    ]);
    const { lastReceived } = traffic.all;
    expect(Math.abs(Date.now() - (lastReceived?.getTime() ?? 0))).toBeLessThan(MINUTE);
    expect((await operations.deliveries([], 'hour')).rows).toEqual([]);
  });

  it('tells of a secret that was never right, at the only endpoint', async () => {
    const { inbox } = await opened();
    const receiver = createReceiver({ secret: 'another secret', inbox, logger: silent });
    for (let n = 0; n < 5; n += 1) await receiver.receive(orderDelivery(`evt_${n}`));
    await receiver.close();
    const seen = await watch(inbox);
    expect(seen.traffic.all).toMatchObject({ alarm: 'rejecting', lastReceived: null, usualGapMs: null });
    expect(warningsOf(seen, inbox, new Date())[0]?.text).toMatch(/^Every delivery was rejected \(5 in all\)\./);
  });

  it('tells of a secret that was never right at a new endpoint, as long as that goes on, whatever others received before', async () => {
    const arrived = (endpoint: string) => (at: number, count: number) => [counted(at, 'arrived', endpoint, count)];
    const { inbox, operations, refuse, alarmsAt } = await opened([
      ...busyUntil(NOON, arrived('one shop')),
      ...busyUntil(NOON, stored),
    ]);
    await refuse('new', NOON - 30 * MINUTE, 40);
    expect(await alarmsAt(NOON)).toEqual([null, 'new rejecting', 'one shop well']);
    const texts = warningsOf(await watch(inbox, NOON), inbox, new Date(NOON)).map(({ text }) => text);
    expect(texts).toEqual([expect.stringMatching(/^Every delivery at new was rejected \(40 in all\)\. /)]);
    await operations.count([
      counted(NOON - 50 * MINUTE, 'arrived', 'new', 3),
      counted(NOON - 50 * MINUTE, 'stored', 'order.ready', 3),
      counted(NOON + 59 * MINUTE, 'arrived', 'one shop', 9),
      counted(NOON + 59 * MINUTE, 'stored', 'order.ready', 9),
    ]);
    await refuse('new', NOON + 59 * MINUTE, 40);
    expect(await alarmsAt(NOON + HOUR)).toEqual([null, 'new rejecting', 'one shop well']);
  });

  it('where nothing was ever accepted tells of refusals two weeks later, too', async () => {
    const { refuse, alarmsAt } = await opened();
    for (const day of [0, 2, 15]) {
      await refuse('default', NOON + day * DAY, 40);
      expect(await alarmsAt(NOON + day * DAY + MINUTE), `day ${day}`).toEqual(['rejecting']);
    }
  });

  it('where one endpoint is silent and another one rejects all, says which does which', async () => {
    const arrived = (endpoint: string) => (at: number, count: number) => [counted(at, 'arrived', endpoint, count)];
    const { inbox, refuse, alarmsAt } = await opened([
      ...['one shop', 'other'].flatMap((endpoint) => busyUntil(NOON, arrived(endpoint))),
      ...busyUntil(NOON, stored),
      ...busyUntil(NOON, stored),
    ]);
    const now = NOON + 2 * HOUR;
    await refuse('other', now - MINUTE, 300);
    expect(await alarmsAt(now)).toEqual(['rejecting', 'one shop silent', 'other rejecting']);
    const texts = warningsOf(await watch(inbox, now), inbox, new Date(now)).map(({ text }) => text);
    expect(texts).toEqual([
      'No delivery has arrived at one shop since 11:59 UTC (2 h 1 min); at this hour, a delivery usually arrives every 8 s.',
      expect.stringMatching(/^Every delivery at other since 11:59 UTC \(2 h\) was rejected \(300 in all\)\. /),
    ]);
    await refuse('one shop', now - MINUTE, 300);
    const [all, ...more] = warningsOf(await watch(inbox, now), inbox, new Date(now));
    expect([all?.endpoint, more]).toEqual([null, []]);
  });

  it('names the busy endpoint that went silent days ago, also between two deliveries at a quiet one', async () => {
    const { inbox, alarmsAt } = await opened([
      ...busyUntil(NOON - 2 * DAY, (at, count) => [counted(at, 'arrived', 'busy', count), ...stored(at, count)]),
      ...[30, 90, 150].flatMap((minutes) => [
        counted(NOON - minutes * MINUTE, 'arrived', 'quiet'),
        counted(NOON - minutes * MINUTE, 'stored', 'order.ready'),
      ]),
    ]);
    expect(await alarmsAt(NOON)).toEqual(['silent', 'busy silent', 'quiet well']);
    const texts = warningsOf(await watch(inbox, NOON), inbox, new Date(NOON)).map(({ text }) => text);
    expect(texts).toEqual([expect.stringMatching(/^No delivery has arrived at busy since .*\(2 d\b/)]);
  });

  it('where all that is rejected is at one of several endpoints, says which', async () => {
    const { inbox, refuse, alarmsAt } = await opened([
      ...busyUntil(NOON, (at, count) => [counted(at, 'arrived', 'one shop', count)]),
      counted(NOON - 3 * DAY, 'arrived', 'seldom'),
      ...busyUntil(NOON, stored),
    ]);
    const now = NOON + 9 * MINUTE;
    await refuse('one shop', now - MINUTE, 300);
    const later = now + HOUR;
    expect(await alarmsAt(later)).toEqual(['rejecting', 'one shop rejecting', 'seldom well']);
    const [warning] = warningsOf(await watch(inbox, later), inbox, new Date(later));
    expect(warning).toMatchObject({ alarm: 'rejecting', endpoint: 'one shop' });
  });

  it('says whose processors have gone while those of another endpoint process, and names default then, too', async () => {
    const { inbox } = await opened([counted(NOON, 'arrived', 'default'), counted(NOON, 'arrived', 'shop-b')]);
    const types = ['order.created'];
    const warned = async (now: number) =>
      warningsOf(await watch(inbox, now), inbox, new Date(now)).flatMap(({ alarm, text }) =>
        alarm === 'no-processor' ? text : [],
      );
    await inbox.announce({ endpoints: ['shop-b'], types }, NOON, null, { name: '1-a', startedAt: NOON });
    await handleInline(inbox, { ...orderEvent('evt_0', { receivedAt: NOON + MINUTE }), endpoint: 'shop-b' });
    const gone = NOON + 2 * HOUR;
    const living = { name: '2-b', startedAt: NOON };
    await inbox.announce({ endpoints: ['default'], types }, gone, null, living);
    await handleInline(inbox, orderEvent('evt_1', { receivedAt: gone }));
    expect(await warned(gone + MINUTE)).toEqual([
      'No processor for order.created at shop-b has run since 12:00 UTC (2 h 1 min).',
    ]);
    await handleInline(inbox, { ...orderEvent('evt_2', { receivedAt: gone }), endpoint: 'shop-b' });
    expect(await warned(gone + MINUTE)).toEqual([]);
    await inbox.leave('2-b');
    expect(await warned(gone + HOUR)).toEqual([
      'No processor for order.created at default has run since 14:00 UTC (1 h).',
    ]);
  });

  it('misses no processor of every endpoint that one with a name has replaced, also when that one has gone', async () => {
    const { inbox } = await opened();
    const warned = async (now: number) =>
      warningsOf(await watch(inbox, now), inbox, new Date(now)).map(({ text }) => text);
    await inbox.announce({ endpoints: '*', types: '*' }, NOON, null, { name: '1-a', startedAt: NOON });
    await inbox.leave('1-a');
    const named = { endpoints: ['default'], types: ['order.created'] };
    const night = NOON + 10 * HOUR;
    await inbox.announce(named, night, null, { name: '2-b', startedAt: NOON });
    expect(await warned(night + MINUTE)).toEqual([]);
    await inbox.leave('2-b');
    expect(await warned(night + HOUR)).toEqual(['No processor for order.created has run since 22:00 UTC (1 h).']);
    await inbox.announce({ endpoints: '*', types: '*' }, night + HOUR, null, { name: '3-c', startedAt: NOON });
    expect(await warned(night + HOUR)).toEqual([]);
  });

  it('lists processors that run, and says whose have gone and since when', async () => {
    const { inbox } = await opened();
    const both = { endpoints: ['default'], types: ['order.created', 'order.ready'] };
    const warned = async (now: number) =>
      warningsOf(await watch(inbox, now), inbox, new Date(now)).map(({ text }) => text);
    await inbox.announce(both, NOON, null, { name: '1-a', startedAt: NOON - HOUR });
    await inbox.announce({ endpoints: '*', types: '*' }, NOON + 1, null, { name: '2-b', startedAt: NOON + 1 });
    expect((await inbox.processors(NOON + 1)).processors).toEqual([
      { name: '1-a', ...both, startedAt: new Date(NOON - HOUR), seenAt: new Date(NOON) },
      { name: '2-b', endpoints: '*', types: '*', startedAt: new Date(NOON + 1), seenAt: new Date(NOON + 1) },
    ]);
    await inbox.leave('2-b');
    expect((await inbox.processors(NOON + 2)).processors.map(({ name }) => name)).toEqual(['1-a']);
    expect(await warned(NOON + 2)).toEqual([]);
    expect((await inbox.processors(NOON + PRESENT_MS)).processors).toEqual([]);
    const gone = NOON + 2 * HOUR;
    expect(await warned(gone)).toEqual([
      'No processor for any type has run since 12:00 UTC (1 h 59 min).',
      'No processor for order.created and order.ready has run since 12:00 UTC (2 h).',
    ]);
    await handleInline(inbox, orderEvent('evt_inline', { receivedAt: gone - MINUTE }));
    expect(await warned(gone)).toEqual([]);
    expect(await warned(NOON + 8 * DAY)).toEqual([]);
    await inbox.announce(both, gone, null, { name: '3-c', startedAt: gone });
    expect((await inbox.processors(NOON)).processors.map(({ name }) => name)).toEqual(['3-c']);
  });
});
