import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import type { IncomingEvent } from '../../../src/inbox/event.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { pauseType } from '../../../src/ops/pauses.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { failure } from '../events-in-states.ts';
import { openedPage } from './opened-page.ts';
import { textOf } from './read-html.ts';

const NOW = Date.now();
const TYPES = ['order.created', 'order.ready', 'order.completed'];
const inAnHour = { outcome: 'retry', error: failure, dueAt: NOW + 3_630_000 } as const;

const SCOPE = { endpoints: ['default'], types: TYPES, ordered: true, leaseMs: 60_000, now: NOW };

async function handledNow(inbox: Inbox, settlement: Settlement, ...events: readonly IncomingEvent[]): Promise<void> {
  await inbox.announce(SCOPE, NOW, null);
  await store(inbox, ...events);
  for (const { lease } of await inbox.claim(SCOPE, 500)) await inbox.settle(lease, settlement, NOW);
}

const ofOrder = (id: string, createdAt: number, type = 'order.created') => {
  return orderEvent(id, { order: 'ord_1', createdAt, type, receivedAt: NOW });
};

const now = (id: string, type: string) => orderEvent(id, { type, receivedAt: NOW });

async function statementsOf(task: () => Promise<unknown>): Promise<number> {
  const prototype = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Database.Statement;
  const spies = [vi.spyOn(prototype, 'get'), vi.spyOn(prototype, 'all'), vi.spyOn(prototype, 'iterate')];
  await task();
  const run = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return run;
}

test('in a few words, by the rule that processors claim by', async () => {
  const { inbox, html } = openedPage();
  await handledNow(inbox, { outcome: 'processed' }, now('evt_done', 'order.created'));
  await handledNow(inbox, inAnHour, ofOrder('evt_failing', 0));
  await store(inbox, ofOrder('evt_behind', 1, 'order.ready'), now('evt_next', 'order.created'));
  await store(inbox, now('evt_nobody', 'order.cancelled'));
  await store(inbox, now('evt_paused', 'order.completed'));
  await pauseType(inbox, 'order.completed', { actor: 'ada' });

  const page = await html('/events');
  const rows = page.match(/<tr id="event-\d+".*?<\/tr>/gs) ?? [];
  const said = rows.map((row) => {
    const [cell = ''] = /<td data-col="waits">.*?<\/td>/s.exec(row) ?? [];
    return [/data-event="default\/(\w+)"/.exec(row)?.[1], textOf(cell)];
  });
  expect(Object.fromEntries(said)).toEqual({
    evt_failing: expect.stringMatching(/^due in (1 h|59 min|60 min)/),
    evt_behind: 'behind evt_failing',
    evt_next: 'due now',
    evt_nobody: 'for a processor',
    evt_paused: 'type paused',
    evt_done: '',
  });
  const behind = rows.find((row) => row.includes('data-event="default/evt_behind"')) ?? '';
  expect(behind).toContain('<a href="/ops/events/default/evt_failing" aria-label="evt_failing">');
});

test('and where none waits there is no such column', async () => {
  const { inbox, html } = openedPage();
  await handledNow(inbox, { outcome: 'processed' }, now('evt_done', 'order.created'));
  expect(await html('/events')).toMatch(/data-without="[^"]*\bwaits\b/);
});

test('with a few statements for each row of a page, and no more with a thousand that wait', async () => {
  const runFor = async (count: number): Promise<number> => {
    const { inbox, html } = openedPage();
    await handledNow(inbox, inAnHour, ofOrder('evt_failing', 0));
    for (let n = 0; n < count; n += 1) await store(inbox, ofOrder(`evt_${n}`, n + 1, 'order.ready'));
    await html('/events');
    return statementsOf(() => html('/events'));
  };
  const [five, twenty, aPage] = [await runFor(5), await runFor(20), await runFor(60)];
  // Its last error, how it stands, and what is in front of it.
  const ofRow = (twenty - five) / 15;
  expect(ofRow).toBeLessThanOrEqual(3);
  expect(aPage).toBeLessThanOrEqual(five + 45 * ofRow + 30);
  expect(await runFor(1_000)).toBeLessThanOrEqual(aPage + 10);
});
