import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { listEvents } from '../../../src/ops/find.ts';
import { healthScreen } from '../../../src/page/screens/health-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { silentShop } from '../../browser/inboxes/silent-shop.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { partOf, tagsOf, textOf } from './read-html.ts';
import { htmlOf, stubVisit } from './stub-visit.ts';

it('says first that nothing comes and that nobody handles what came, with links, and that not everything is well', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date();
  await silentShop(inbox, { now: () => now.getTime() });
  const visit = { ...stubVisit(), operated: { inbox }, now };
  const html = await htmlOf(await overviewScreen(visit));
  const told = textOf(partOf(html, 'headline'));
  expect(told).toMatch(
    /^Nothing was received since \d\d:\d\d UTC \(2 h\); at this hour one usually comes every 8 s\. The last/,
  );
  expect(told).toMatch(
    /No processor was seen for order\.created and order\.ready since .* UTC \(2 h 5 min\): 40 events wait\. Show them/,
  );
  const links = tagsOf(partOf(html, 'headline')).flatMap(({ attributes }) => attributes['href'] ?? []);
  const { events } = await listEvents(inbox, { states: ['pending'] });
  const oldest = `/ops/events/default/${events.at(-1)?.id ?? ''}`;
  expect(links).toEqual([
    '/ops/events',
    '/ops/events?endpoint=default&type=order.created&type=order.ready&state=pending',
    oldest,
    oldest,
  ]);
  expect(textOf(html)).not.toContain('Nothing is stuck');
  expect(textOf(partOf(html, 'vital'))).toBe(
    'No event is dead. Last received 2 h ago; at this hour one usually comes every 8 s. No processor runs that has announced itself.',
  );

  await inbox.announce({ endpoints: '*', types: ['order.created'] }, now.getTime() - 9_000, null, {
    name: '12-<b>',
    startedAt: now.getTime() - 60_000,
  });
  const health = await htmlOf(await healthScreen(visit));
  expect(textOf(partOf(health, 'warnings'))).toContain('Nothing was received since');
  expect(textOf(partOf(health, 'processors'))).toMatch(/12-<b> every one order\.created .*1 min ago\) .*9 s ago\)/);
});
