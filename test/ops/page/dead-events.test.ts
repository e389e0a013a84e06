import { describe, expect, test } from 'vitest';
import { fingerprintOf } from '../../../src/inbox/rules/error-groups.ts';
import { linesOf } from '../../../src/ops/dead-lines.ts';
import { deadEventsScreen } from '../../../src/page/screens/dead-events-screen.tsx';
import { orderEvent, orderEvents } from '../../helpers/order-event.ts';
import { failure, FAILED, handled } from '../events-in-states.ts';
import { expectAnswer, leadsTo, openedPage } from './opened-page.ts';
import { textOf } from './read-html.ts';
import { ago, deadGroup, htmlOf, NOW, stubVisit, summary } from './stub-visit.ts';

const GROUP = fingerprintOf(failure);

describe('a group of dead events', () => {
  test('is acknowledged with a reason and a link, stands last then, and is reopened', async () => {
    const { inbox, post, says, html } = openedPage();
    await handled(inbox, FAILED, ...orderEvents(2));
    await handled(inbox, { ...FAILED, error: { ...failure, message: 'alone' } }, orderEvent('evt_alone'));
    const fields = { fingerprint: GROUP, count: '2', reason: 'known', link: 'https://wiki.example/till' };
    const answer = await post('/dead/acknowledge', fields);
    expect(leadsTo(answer)).toBe('/dead?done=acknowledged');
    expect(await says('/dead', 'groups')).toMatch(
      /alone .*the shop is down Acknowledged by ada \d\d:\d\d Runbook known 2 /,
    );
    expect(await html('/dead')).toContain('href="https://wiki.example/till" rel="noreferrer nofollow"');

    expect(leadsTo(await post('/dead/reopen', { fingerprint: GROUP }))).toBe('/dead?done=reopened');
  });

  test('is not acknowledged with a link that is a script', async () => {
    const { inbox, post, says } = openedPage();
    await handled(inbox, FAILED, ...orderEvents(3));
    const script = await post('/dead/acknowledge', { fingerprint: GROUP, link: 'javascript:alert(1)' });
    await expectAnswer(script, 400, 'link must begin with https:// or http://');
    expect(await says('/dead', 'groups')).not.toContain('Acknowledged by');
  });
});

describe('dead events by type or release', () => {
  const release = (name: string, minutes: number) =>
    ({ kind: 'release', name, endpoint: '*', at: ago(minutes) }) as const;
  const marks = [release('1.0', 300), release('1.1', 100)];
  const died = (seq: number, minutes: number, parts: Parameters<typeof summary>[0] = {}) =>
    summary({ seq, id: `evt_${seq}`, state: 'dead', deadReason: 'failed', settledAt: ago(minutes), ...parts });
  const events = [
    died(4, 1, { fingerprint: 'a' }),
    died(3, 50, { fingerprint: 'b', type: 'order.ready' }),
    died(2, 200, { fingerprint: 'a' }),
    died(1, 400, { type: null, deadReason: 'invalid' }),
  ];
  const facts = { marks, more: false, now: NOW.getTime() };

  test('belong to the release that ran when they died', () => {
    const lines = linesOf('release', events, facts);
    expect(lines.map(({ name, count, errors, types, filter }) => [name, count, errors, types, filter])).toEqual([
      ['1.1', 2, 2, ['order.created', 'order.ready'], { states: ['dead'], failedSince: ago(100) }],
      ['1.0', 1, 1, ['order.created'], { states: ['dead'], failedSince: ago(300), failedUntil: ago(100) }],
      [null, 1, 1, ['invalid'], { states: ['dead'], failedUntil: ago(300) }],
    ]);
    expect(lines[0]).toMatchObject({ firstDeadAt: ago(50), lastDeadAt: ago(1) });
    expect(lines[0]?.recent.slice(-2)).toEqual([0, 2]);
  });

  test.for([
    [20, 10, '1.1'],
    [310, 200, '1.0 +1'],
    [310, 10, '1.1 +2'],
    [310, 305, '–'],
  ] as const)(
    'in a group have the releases from %i to %i minutes ago, the newest first: "%s"',
    async ([first, last, said]) => {
      const group = deadGroup({ firstDeadAt: ago(first), lastDeadAt: ago(last) });
      const operations = { deadGroups: async () => [group], marks: async () => marks };
      const html = await htmlOf(await deadEventsScreen(stubVisit(operations, { path: '/dead' })));
      expect(/data-label="releases"[^>]*>(.*?)<\/td>/s.exec(html)?.slice(1).map(textOf)).toEqual([said]);
    },
  );

  test('have the releases in which they died', () => {
    const lines = linesOf('type', events, facts);
    expect(lines.map(({ name, count, releases, filter }) => [name, count, releases, filter])).toEqual([
      ['order.created', 2, ['1.1', '1.0'], { states: ['dead'], types: ['order.created'] }],
      ['order.ready', 1, ['1.1'], { states: ['dead'], types: ['order.ready'] }],
      [null, 1, [], { states: ['dead'], deadReasons: ['invalid'] }],
    ]);
  });
});
