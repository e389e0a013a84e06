import { expect, onTestFinished, test, vi } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { discardEvents, pruneEvents } from '../../../src/ops/index.ts';
import { auditScreen } from '../../../src/page/screens/audit-screen.tsx';
import type { Visit } from '../../../src/page/visit.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ANY, FAILED, RETRY } from '../events-in-states.ts';
import { openedPage } from './opened-page.ts';
import { partOf, textOf } from './read-html.ts';
import { htmlOf, stubVisit } from './stub-visit.ts';

const ADA = { actor: 'ada', via: 'page', reason: 'the tax service is back' } as const;

function openInbox(): Inbox {
  const inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  return inbox;
}

async function storeDead(inbox: Inbox, ids: readonly string[], receivedAt: number): Promise<void> {
  await store(inbox, ...ids.map((id) => orderEvent(id, { receivedAt })));
  const claimed = await inbox.claim(
    { endpoints: '*', now: Date.now(), leaseMs: 15_000, types: '*', ordered: true },
    100,
  );
  for (const { id, lease } of claimed) {
    const error = { name: 'TypeError', message: `no tax for ${id}_0123456789abcdef`, stack: null };
    await inbox.settle(lease, { outcome: 'dead', reason: 'failed', error }, Date.now());
  }
}

function visitTo(inbox: Inbox): Visit {
  return { ...stubVisit(), operated: { inbox }, lasting: inbox, now: new Date() };
}

test('acts on single events and prunes can be read in the audit', async () => {
  const inbox = openInbox();
  await storeDead(inbox, ['evt_1'], Date.now());
  await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], ADA);
  const settledBefore = new Date(Date.now() + 1_000);
  await pruneEvents(inbox, { settledBefore, states: ['discarded'] }, ADA);
  const html = await htmlOf(await auditScreen(visitTo(inbox)));
  expect(textOf(html)).toMatch(/prune ada on the page .*settled before .+ UTC state discarded.* 1 pruned/);
  expect(textOf(html)).toMatch(/discard ada on the page endpoint default events evt_1 1 done/);
});

test('a bar of what died or failed leads to as many events as it counts', async () => {
  const { inbox, html } = openedPage();
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const endings = [
    { minutesAgo: 9, ids: ['evt_1', 'evt_2'], outcome: 'dead' },
    { minutesAgo: 7, ids: ['evt_3'], outcome: 'dead' },
    { minutesAgo: 7, ids: ['evt_4', 'evt_5', 'evt_6'], outcome: 'retry' },
    { minutesAgo: 4, ids: ['evt_7', 'evt_8'], outcome: 'retry' },
  ] as const;
  for (const { minutesAgo, ids, outcome } of endings) {
    const at = now - minutesAgo * 60_000;
    vi.setSystemTime(at);
    for (const id of ids) {
      const event = orderEvent(id, { receivedAt: now - 40 * 60_000 });
      await store(inbox, event);
      const claimed = await inbox.claimOne(event, { ...ANY, now: at });
      if (typeof claimed === 'string') throw new Error(`${id} is ${claimed}`);
      const settlement = outcome === 'dead' ? FAILED : { ...RETRY, dueAt: now + 3_600_000 };
      await inbox.settle(claimed.lease, settlement, at);
    }
  }
  vi.setSystemTime(now);
  const table = partOf(await html('?range=1h'), 'outcomes-table');
  const links = Array.from(
    table.matchAll(/<td data-label="(dead|failed \(to be retried\))"><a href="\/ops([^"]*)">(\d+)/g),
  );
  expect(links.map(([, outcome, , count]) => [outcome, count])).toEqual([
    ['dead', '2'],
    ['failed (to be retried)', '3'],
    ['dead', '1'],
    ['failed (to be retried)', '2'],
  ]);
  for (const [, , href = '', count] of links) {
    const list = partOf(await html(href.replaceAll('&amp;', '&')), 'events');
    expect(list.match(/data-event=/g)).toHaveLength(Number(count));
  }
});

test('a period in which nothing happened has a sentence instead of charts', async () => {
  const { inbox, html } = openedPage();
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const now = Date.now();
  const event = orderEvent('evt_1', { receivedAt: now });
  await store(inbox, event);
  const claimed = await inbox.claimOne(event, { ...ANY, now });
  if (typeof claimed === 'string') throw new Error(claimed);
  await inbox.settle(claimed.lease, { outcome: 'processed' }, now);
  for (const [hours, isQuiet] of [
    [0, false],
    [3, true],
  ] as const) {
    vi.setSystemTime(now + hours * 3_600_000);
    const page = await html('?range=1h');
    const shown = ['outcomes', 'latency', 'types', 'no-outcomes'].filter((id) => partOf(page, id) !== '');
    expect(shown).toEqual(isQuiet ? ['no-outcomes'] : ['outcomes', 'latency', 'types']);
  }
});
