import { describe, expect, test, vi } from 'vitest';
import type { Operations } from '../../../src/inbox/contract.ts';
import type { AuditLine } from '../../../src/inbox/operator/audit.ts';
import { deadGroups, previewBulk, retryGroups, runBulk } from '../../../src/ops/index.ts';
import { groupInWords } from '../../../src/ops/words/event-words.ts';
import { auditScreen } from '../../../src/page/screens/audit-screen.tsx';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { failure, FAILED, handleAgain, handled, invalidThen, RETRY } from '../events-in-states.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { openedPage } from './opened-page.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';
import { ago, htmlOf, stubVisit, summary } from './stub-visit.ts';

const DAY = 24 * 60 * 60 * 1000;
const ADA = { actor: 'ada', reason: 'the shop is up' };
const chips = (html: string) => textIn(html, 'conditions').replaceAll('Remove ', '');

describe('a group of errors is named by what they say', () => {
  test('in the words of a filter, in the audit and among bulk actions; its fingerprint stays in URLs', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2'));
    const fingerprint = (await deadGroups(inbox))[0]?.fingerprint ?? '';
    expect(chips(await html(`/events?state=dead&fingerprint=${fingerprint}`))).toBe('group Error: the shop is down');
    const { id } = await previewBulk(inbox, 'rerun', { fingerprint }, ADA);
    const previewed = await html('/bulks');
    expect(textIn(previewed, `bulk-${id}`)).toContain('group Error: the shop is down');
    expect(textOf(previewed)).not.toContain(fingerprint);
    await runBulk(inbox, id, ADA);

    const audit = await html('/audit');
    expect(textIn(audit, 'audit')).toContain('group Error: the shop is down');
    expect(textOf(audit)).not.toContain(fingerprint);
    expect(chips(await html(`/events?fingerprint=${fingerprint}&bulk=${id}`))).toContain(
      'group Error: the shop is down',
    );
  });

  const other = { name: 'TypeError', message: 'vat is not defined', stack: null };

  test.for([
    ['reruns what then succeeds', 'rerun', { outcome: 'processed' }],
    ['reruns what then dies of something else', 'rerun', { outcome: 'dead', reason: 'failed', error: other }],
    ['reruns what then fails of something else', 'rerun', { outcome: 'retry', error: other, dueAt: START + DAY }],
    ['discards', 'discard', null],
  ] as const)('among bulk actions, also of one that %s', async ([, act, settlement]) => {
    const { inbox, html } = openedPage();
    const events = [orderEvent('evt_1'), orderEvent('evt_2')];
    await handled(inbox, FAILED, ...events);
    const fingerprint = (await deadGroups(inbox))[0]?.fingerprint ?? '';
    const { id } = await previewBulk(inbox, act, { fingerprint }, ADA);
    await runBulk(inbox, id, ADA);
    if (settlement !== null) await handleAgain(inbox, settlement, ...events);
    for (const path of ['/bulks', `/bulks/${id}`]) {
      expect(textOf(await html(path)), path).toContain('group Error: the shop is down');
    }
  });

  test('also one of events that are tried again, one that is known by its reason, and one that is gone', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, RETRY, orderEvent('evt_1'));
    const fingerprint = (await retryGroups(inbox))[0]?.fingerprint ?? '';
    expect(chips(await html(`/events?retrying=yes&fingerprint=${fingerprint}`))).toContain(
      'group Error: the shop is down',
    );
    expect(chips(await html(`/events?fingerprint=${fingerprint}`))).toContain(`group ${fingerprint} (no events now)`);
    await store(inbox, { ...invalidThen(orderEvent('evt_2')), body: Buffer.from('{"id":"evt_2"}') });
    expect(chips(await html('/events?fingerprint=crashed'))).toContain('group the process ended three times');
    expect(groupInWords('0123456789abcdef', { name: 'Error', message: 'x'.repeat(500) })).toHaveLength(81);
  });

  test('whatever it says, and whatever stands in the place of a fingerprint', async () => {
    const { inbox, html } = openedPage();
    const error = { ...failure, name: hostileTexts.script, message: hostileTexts.script };
    await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('evt_1'));
    const fingerprint = (await deadGroups(inbox))[0]?.fingerprint ?? '';
    expect(await html(`/events?fingerprint=${fingerprint}`)).not.toContain(hostileTexts.script);
    expect(await html(`/events?fingerprint=${encodeURIComponent(hostileTexts.script)}`)).not.toContain(
      hostileTexts.script,
    );
    const long = await html(`/events?fingerprint=${'x'.repeat(2_000)}`);
    expect(textIn(long, 'problems')).toContain('fingerprint must have at most 1000 characters');
  });

  test('with no more questions than a list has rows, and one for each group', async () => {
    const search = vi.fn<Operations['search']>(async () => ({ events: [], next: null, examined: 0 }));
    const lines = Array.from({ length: 50 }, (_, n): AuditLine => {
      const filter = { bulk: n + 1, filter: { fingerprint: `print${n}` }, total: 1 };
      return { seq: n + 1, at: ago(n), act: 'rerun', actor: 'ada', via: 'page', filter, counts: {}, reason: null };
    });
    const shown = await htmlOf(await auditScreen(stubVisit({ search, lines: async () => ({ lines, next: null }) })));
    expect(search).toHaveBeenCalledTimes(50);
    expect(textOf(shown)).toContain('group print49 (not looked up)');
    expect(textOf(shown)).not.toContain('no events now');

    search.mockClear();
    search.mockResolvedValue({ events: [summary({ lastError: failure })], next: null, examined: 1 });
    const alike = lines.map((line) => ({ ...line, filter: { fingerprint: 'failed' } }));
    await htmlOf(await auditScreen(stubVisit({ search, lines: async () => ({ lines: alike, next: null }) })));
    expect(search).toHaveBeenCalledTimes(1);
    search.mockClear();
    const odd = [{ ...lines[0], filter: { fingerprint: 'x'.repeat(5_000), bulk: -1.5 } } as AuditLine];
    await htmlOf(await auditScreen(stubVisit({ search, lines: async () => ({ lines: odd, next: null }) })));
    expect(search).not.toHaveBeenCalled();
  });
});

test('times of a filter are short, and exact for whoever points at them', async () => {
  const { html } = openedPage();
  const page = await html('/events?since=2026-01-31T08:00:07.000Z&until=2h&failedSince=wrong');
  const [since, until, ...others] = tagsOf(partOf(page, 'conditions')).filter(({ name }) => name === 'time');
  expect(since?.attributes).toEqual({ datetime: '2026-01-31T08:00:07.000Z', title: '2026-01-31 08:00:07 UTC' });
  expect(until?.attributes['title']).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  expect(others).toEqual([]);
  expect(chips(page)).toMatch(
    /^received since 31 Jan (2026 )?08:00 UTC received before 2h ago failed since wrong Clear$/,
  );
});
