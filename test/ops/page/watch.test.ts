import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { healthScreen } from '../../../src/page/screens/health-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { silentShop } from '../../browser/inboxes/silent-shop.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';
import { htmlOf, stubVisit } from './stub-visit.ts';

it('says first that nothing comes and that no processor handles what came, with links, and that not everything is well', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date();
  await silentShop(inbox, { now: () => now.getTime() });
  const visit = { ...stubVisit(), operated: { inbox }, now };
  const html = await htmlOf(await overviewScreen(visit));
  const told = textIn(html, 'headline');
  expect(told).toMatch(
    /^Loss: No delivery has arrived since (\d+ \w{3} )?\d\d:\d\d UTC \(2 h\); at this hour, a delivery usually arrives every 8 s\..* Latest events/,
  );
  expect(told).toMatch(
    /No processor for order\.created and order\.ready has run since .* UTC \(2 h 5 min\): 40 events are waiting\. .*40 waiting since .* Show/,
  );
  const links = tagsOf(partOf(html, 'headline')).flatMap(({ attributes }) => attributes['href'] ?? []);
  expect(links).toEqual([
    '/ops/events',
    '/ops/events?endpoint=default&type=order.created&type=order.ready&state=pending',
  ]);
  const text = textOf(html);
  expect(text).not.toContain('All well');
  expect(textIn(html, 'vital')).toMatch(/^0 of [\d,]+ deliveries were rejected in the last 24 h\.$/);
  for (const said of ['every 8 s', 'No processor']) expect(text.split(said), said).toHaveLength(2);
  expect(partOf(html, 'unhandled')).toBe('');
  expect(text).not.toContain('stuck');

  await inbox.announce({ endpoints: '*', types: ['order.created'] }, now.getTime() - 9_000, null, {
    name: '12-<b>',
    startedAt: now.getTime() - 60_000,
  });
  const health = await htmlOf(await healthScreen(visit));
  expect(textIn(health, 'warnings')).toContain('No delivery has arrived since');
  expect(textIn(health, 'processors')).toMatch(/12-<b> all order\.created .*1 min ago\) .*9 s ago\)/);
});

it('where all is rejected, says how much and why once', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date();
  await silentShop(inbox, { now: () => now.getTime() }, 'refused');
  const html = await htmlOf(await overviewScreen({ ...stubVisit(), operated: { inbox }, now }));
  expect(textIn(html, 'headline')).toMatch(/^Loss: Every delivery since .* was rejected \(\d+ in all\)\. /);
  expect(textIn(html, 'vital')).not.toContain('rejected');
});
