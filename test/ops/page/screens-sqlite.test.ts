import { expect, onTestFinished, test, vi } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { deadGroups, discardEvents, previewBulk, pruneEvents, runBulk } from '../../../src/ops/index.ts';
import { auditScreen } from '../../../src/page/screens/audit-screen.tsx';
import { bulkScreen, bulksScreen } from '../../../src/page/screens/bulk-screen.tsx';
import { deadEventsScreen } from '../../../src/page/screens/dead-events-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import type { Screen, Visit } from '../../../src/page/visit.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ANY, FAILED, RETRY } from '../events-in-states.ts';
import { openedPage } from './opened-page.ts';
import { partOf, textOf, textIn } from './read-html.ts';
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

async function textOn(screen: Promise<Screen>, id: string): Promise<string> {
  return textIn(await htmlOf(await screen), id);
}

test('an operator sees what is dead and what waits, reruns a group, and finds both in the bulk actions and in the audit', async () => {
  const inbox = openInbox();
  const long = Date.now() - 47 * 60_000;
  await storeDead(inbox, ['evt_1', 'evt_2', 'evt_3'], long);
  await store(inbox, orderEvent('evt_4', { receivedAt: long }));

  const headline = await textOn(overviewScreen(visitTo(inbox)), 'headline');
  expect(headline).toMatch(
    /^3 events are dead in 1 group, some since .+ UTC \(\d+ s\) 3: TypeError: no tax for evt_\d_0123456789abcdef /,
  );
  expect(headline).toMatch(
    /1 order is stuck: evt_4 is waiting; no processor for order.created has ever run. It has been waiting since .+ \(47 min\)\.$/,
  );
  expect(await textOn(overviewScreen(visitTo(inbox)), 'tile-dead')).toBe('Dead now 3 3 died in 1 h');
  expect(await textOn(deadEventsScreen(visitTo(inbox)), 'groups')).toMatch(/TypeError: no tax .+ 3 failed /);

  const [group] = await deadGroups(inbox);
  const { id } = await previewBulk(inbox, 'rerun', { fingerprint: group?.fingerprint ?? '' }, ADA);
  expect(await textOn(bulkScreen(visitTo(inbox), id), 'sentence')).toBe(
    'Will rerun 3 events: 3 order.created; all dead (failed). Nothing has happened yet.',
  );
  await runBulk(inbox, id, ADA);
  expect(await textOn(bulkScreen(visitTo(inbox), id), 'outcome')).toContain('Of 3 events rerun, 3 are waiting');
  expect(await textOn(bulksScreen(visitTo(inbox)), `bulk-${id}`)).toContain('done 3');
  for (const text of [
    textOf(await htmlOf(await bulkScreen(visitTo(inbox), id))),
    await textOn(bulksScreen(visitTo(inbox)), `bulk-${id}`),
  ]) {
    expect(text).toMatch(/group TypeError: no tax for \w+/);
  }
  expect(await textOn(deadEventsScreen(visitTo(inbox)), 'none')).toContain('No event is dead.');

  const audit = await textOn(auditScreen(visitTo(inbox)), 'audit');
  expect(audit).toMatch(
    /rerun ada through this page bulk action \d+ filter group TypeError: no tax for \w+ .*total 3 3 done the tax service is back$/,
  );
});

test('acts on single events and prunes can be read in the audit', async () => {
  const inbox = openInbox();
  await storeDead(inbox, ['evt_1'], Date.now());
  await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], ADA);
  const settledBefore = new Date(Date.now() + 1_000);
  await pruneEvents(inbox, { settledBefore, states: ['discarded'] }, ADA);
  const html = await htmlOf(await auditScreen(visitTo(inbox)));
  expect(textOf(html)).toMatch(/prune ada through this page .*settled before .+ UTC state discarded.* 1 pruned/);
  expect(textOf(html)).toMatch(/discard ada through this page endpoint default events evt_1 1 done/);
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
