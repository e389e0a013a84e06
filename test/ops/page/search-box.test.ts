import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import type { Operations } from '../../../src/inbox/contract.ts';
import { discardEvents } from '../../../src/ops/index.ts';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { bury, FAILED, handled } from '../events-in-states.ts';
import { ADA, type OpenedPage, openedPage, signedIn, VIC } from './opened-page.ts';
import { partOf, tagsOf, textIn, countOf } from './read-html.ts';
import { summary } from './stub-visit.ts';

const rowsIn = (html: string): readonly string[] =>
  tagsOf(html).flatMap(({ attributes }) => attributes['data-event']?.replace('default/', '') ?? []);

const nextIn = (html: string): string =>
  /href="([^"]*)"/.exec(partOf(html, 'older'))?.[1]?.replaceAll('&amp;', '&') ?? '';

function discardAllIn(html: string): FormData {
  const acts = partOf(html, 'acts');
  const from = acts.indexOf('name="act" value="discard"');
  const form = new FormData();
  for (const { attributes } of tagsOf(acts.slice(acts.lastIndexOf('<form', from), acts.indexOf('</form', from)))) {
    const { name, type, value = '' } = attributes;
    if (type === 'hidden' && name !== undefined && name !== 'csrf') form.append(name, value);
  }
  return form;
}

describe('a URL', () => {
  test.for([
    ['/events?entity=&id=&error=x&since=+&state=dead', '/ops/events?error=x&state=dead'],
    ['/events?q=', '/ops/events'],
    ['?range=', '/ops'],
    ['/audit?before=', '/ops/audit'],
  ] as const)('%s loses what was not asked for', async ([path, to]) => {
    const { get } = openedPage();
    const answer = await get(path);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, to]);
  });
});

describe('the search box', () => {
  test('is on every screen, and says what a text was taken for', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_Aa1', { order: 'ord_K7' }));
    await handled(inbox, FAILED, orderEvent('evt_Aa2', { order: 'ord_K7' }));
    await store(inbox, orderEvent('evt_Aa3', { order: 'ord_K7' }));
    expect(partOf(await html('/audit'), 'search')).toContain('name="q"');
    const page = await html('/events?q=ORD_k7');
    expect(rowsIn(page)).toEqual(['evt_Aa2', 'evt_Aa3', 'evt_Aa1']);
    expect(textIn(page, 'taken')).toBe(
      'Searched as an entity: ord_K7, failed events first. Search for it as text · Search bodies for it',
    );
    expect(textIn(page, 'count')).toBe('3 events');
    expect(partOf(page, 'acts')).toContain('name="entity" value="ord_K7"');
    const some = await html('/events?q=evt_aa');
    expect(textIn(some, 'taken')).toContain('Other names that begin with this text: evt_Aa1, evt_Aa2, evt_Aa3');
    expect(rowsIn(some)).toEqual(['evt_Aa2', 'evt_Aa3', 'evt_Aa1']);
  });

  test('suggests what may have been meant, and shows a hostile text as text', async () => {
    const { inbox, html, says } = openedPage();
    await store(inbox, orderEvent('evt_Aa1', { order: 'ord_K7' }));
    const page = await html('/events?q=ord_k9');
    expect(textIn(page, 'suggestions')).toBe('Did you mean ord_K7 ?');
    expect(await says('/events?q=ordr.ready', 'suggestions')).toBe('Did you mean order.ready ?');
    const hostile = await html(`/events?${new URLSearchParams({ q: hostileTexts.script }).toString()}`);
    expect(textIn(hostile, 'none')).toContain('No event has this text in its id');
    expect(countOf(hostile, 'script')).toBe(1);
    expect(await says(`/events?q=${'x'.repeat(1_001)}`, 'problems')).toContain('1000 characters');
  });

  test('goes on where the step before ended, also among others than it began with', async () => {
    const { inbox, html } = openedPage();
    for (let n = 1; n <= 60; n += 1) {
      const event = orderEvent(`evt_${n}`, { order: 'ord_12' });
      await (n <= 20 ? handled(inbox, FAILED, event) : store(inbox, event));
    }
    const first = await html('/events?q=ord_1');
    expect(rowsIn(first).slice(0, 21)).toEqual([...Array.from({ length: 20 }, (_, n) => `evt_${20 - n}`), 'evt_60']);
    expect(nextIn(first)).toBe('?q=ord_1&among=others&takenFor=entity&takenName=ord_12&before=31');
    await handled(inbox, FAILED, orderEvent('evt_new', { order: 'ord_13' }));
    const second = await html(`/events${nextIn(first)}`);
    expect(rowsIn(second)).toEqual(Array.from({ length: 10 }, (_, n) => `evt_${30 - n}`));
    expect(nextIn(second)).toBe('');
  });

  test('finds no merchant by the beginning of a masked id', async () => {
    const masked = openedPage({ mask: ['data.merchant_id'] });
    await store(masked.inbox, { ...orderEvent('evt_1', { merchant: 'mer_secret' }), entity: null });
    expect(rowsIn(await masked.html('/events?q=mer_s'))).toEqual([]);
    expect(await masked.html('/events?q=mer_s')).not.toContain('mer_secret');
    const invented = '/events?q=x&among=dead&takenFor=merchant&takenName=mer_secret';
    expect(rowsIn(await masked.html(invented))).toEqual([]);
    const open = openedPage();
    await store(open.inbox, { ...orderEvent('evt_1', { merchant: 'mer_secret' }), entity: null });
    expect(rowsIn(await open.html('/events?q=mer_s'))).toEqual(['evt_1']);
  });
});

describe('suggestions', () => {
  async function suggested(page: OpenedPage, q: string) {
    const answer = await page.get(`/suggestions?${new URLSearchParams({ q }).toString()}`);
    return (await answer.json()) as readonly { line: string; name: string; detail: string; isWhole: boolean }[];
  }
  const names = async (page: OpenedPage, q: string) => (await suggested(page, q)).map(({ name }) => name);

  test('are of what is in the inbox, with counts, and go on with the line', async () => {
    const page = openedPage();
    const { inbox } = page;
    await handled(inbox, FAILED, orderEvent('evt_1', { order: 'ord_K7' }));
    await store(inbox, { ...orderEvent('evt_2', { type: 'shop.opened' }), endpoint: 'berlin' });
    expect(await names(page, 'sta')).toEqual(['state:', 'Search bodies for “sta”', 'Search errors for “sta”']);
    expect(await suggested(page, 'type:shop.opened state:')).toContainEqual({
      line: 'type:shop.opened state:dead ',
      name: 'state:dead',
      detail: '1',
      isWhole: true,
    });
    expect(await names(page, 'type:OPEN')).toEqual(['type:shop.opened']);
    expect(await names(page, 'endpoint:')).toEqual(['endpoint:berlin', 'endpoint:default']);
    expect(await names(page, 'ord_k')).toContain('entity:ord_K7');
    expect(await names(page, 'since:')).toEqual(['since:15m', 'since:1h', 'since:24h', 'since:7d']);
    expect((await names(page, ''))[0]).toBe('state:');
    expect(await names(page, 'x'.repeat(5_000))).toEqual([]);
  });

  test('offer to search bodies by name, with the whole text', async () => {
    const page = openedPage();
    expect(await suggested(page, 'state:dead Ada Lovelace')).toContainEqual({
      line: 'state:dead body:"Ada Lovelace" ',
      name: 'Search bodies for “Ada Lovelace”',
      detail: 'any value, upper or lower case',
      isWhole: true,
    });
  });

  test('name no merchant that is masked', async () => {
    const page = openedPage({ mask: ['data.merchant_id'] });
    await store(page.inbox, orderEvent('evt_1', { order: 'ord_K7', merchant: 'mer_K7' }));
    expect(await names(page, 'mer_k')).not.toContain('merchant:mer_K7');
    expect(await names(page, 'merchant:mer')).toEqual([]);
  });
});

describe('a list', () => {
  test('can be in another order, page by page', async () => {
    const { inbox, html } = openedPage();
    for (let n = 1; n <= 55; n += 1) await handled(inbox, FAILED, orderEvent(`evt_${n}`));
    await store(inbox, orderEvent('evt_56'));
    const up = Array.from({ length: 56 }, (_, n) => `evt_${n + 1}`);
    for (const [order, expected] of [
      ['oldest', up],
      ['failed', up.slice(0, 55).toReversed()],
    ] as const) {
      const first = await html(`/events?order=${order}`);
      const second = await html(`/events${nextIn(first)}`);
      expect([...rowsIn(first), ...rowsIn(second)]).toEqual(expected);
      expect(nextIn(second)).toBe('');
      expect(partOf(first, 'events')).toContain(`aria-sort="${order === 'oldest' ? 'ascending' : 'descending'}"`);
    }
    expect(partOf(await html('/events?state=dead'), 'events')).toContain('href="?state=dead&amp;order=failed"');
    expect(rowsIn(await html('/events?failedSince=2h'))).toEqual([]);
    expect(rowsIn(await html('/events?failedUntil=2h')).length).toBe(50);
  });

  test('in the order of deaths, acts and the export reach as far as the list', async () => {
    const { inbox, file, html, get, post } = openedPage();
    for (const id of ['evt_1', 'evt_2', 'evt_gone']) await handled(inbox, FAILED, orderEvent(id, { order: 'ord_1' }));
    await store(inbox, orderEvent('evt_3', { order: 'ord_1' }), orderEvent('evt_4', { order: 'ord_1' }));
    await handled(inbox, FAILED, orderEvent('evt_other'));
    const database = new Database(file);
    bury(database, 'evt_gone');
    database.close();
    for (const query of ['entity=ord_1&order=failed', 'entity=ord_1&state=dead&state=pending&order=failed']) {
      const page = await html(`/events?${query}`);
      expect(rowsIn(page)).toEqual(['evt_2', 'evt_1']);
      expect(textIn(page, 'count')).toBe('2 events');
      const preview = await post('/bulks', discardAllIn(page));
      const number = Number(preview.headers.get('location')?.split('/').at(-1));
      expect((await inbox.operations?.bulk(number))?.total).toBe(2);
      const [exportHref = ''] = tagsOf(page).flatMap(({ attributes }) =>
        attributes['href']?.includes('/export') ? attributes['href'] : [],
      );
      const exported = await (await get(exportHref.replace('/ops', ''))).text();
      expect(exported.match(/"evt_\w+"/g)).toEqual(['"evt_1"', '"evt_2"']);
    }
    const none = await html('/events?state=pending&order=failed');
    expect(rowsIn(none)).toEqual([]);
    expect(partOf(none, 'acts')).toBe('');
  });

  test.for([
    [{ count: 312, more: false, cut: false }, '312 events'],
    [{ count: 10_000, more: true, cut: false }, 'more than 10,000 events'],
    [{ count: 12, more: false, cut: true }, 'at least 12 events'],
  ] as const)('says how many there are: %j', async ([counted, said]) => {
    const { inbox, says } = openedPage();
    const operations = inbox.operations as Operations;
    vi.spyOn(operations, 'search').mockResolvedValue({ events: [summary()], next: 9, examined: 1 });
    vi.spyOn(operations, 'countFound').mockResolvedValue(counted);
    expect(await says('/events', 'count')).toBe(said);
  });

  test('is counted for whoever opens a page of it, and not for the script that goes on by itself', async () => {
    const { inbox, html, get } = openedPage();
    const operations = inbox.operations as Operations;
    vi.spyOn(operations, 'search').mockResolvedValue({ events: [], next: 9, examined: 5_000 });
    const countFound = vi.spyOn(operations, 'countFound');
    const next = `/events${nextIn(await html('/events?conflict=yes'))}`;
    // Of the list itself; its states, and what its buttons would act on, are counted beside it.
    const counts = () =>
      countFound.mock.calls.filter(([{ states, retrying }]) => (states ?? retrying) === undefined).length;
    const before = countFound.mock.calls.length;
    const step = await get(`${next}&limit=50`, { ...signedIn(ADA), 'hookbox-live': '1' });
    expect([step.status, counts(), countFound.mock.calls.length]).toEqual([200, 1, before]);
    await html(next);
    expect(counts()).toBe(2);
  });

  test('has boxes that lead to a preview of just these, whatever is discarded already', async () => {
    const { inbox, html, get, post, says } = openedPage();
    for (const id of ['evt_1', 'evt/2', 'evt_3', 'evt_4']) await handled(inbox, FAILED, orderEvent(id));
    await store(inbox, { ...orderEvent('evt_1'), endpoint: 'other' });
    await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_3' }], { actor: 'ada' });
    const boxes = tagsOf(await html('/events')).flatMap(({ attributes }) =>
      attributes['name'] === 'event' ? (attributes['value'] ?? []) : [],
    );
    expect(boxes).toEqual(['other/evt_1', 'default/evt_4', 'default/evt_3', 'default/evt%2F2', 'default/evt_1']);
    const chosen = await post('/bulks', { chosen: 'yes', act: 'rerun', event: boxes.slice(2) });
    expect(chosen.headers.get('location')).toBe('/ops/bulks/1');
    const bulk = await inbox.operations?.bulk(1);
    expect(bulk).toMatchObject({ total: 3, breakdown: { states: { dead: 2, discarded: 1 } } });
    expect(await says('/bulks/1', 'facts')).toContain('evt/2');
    const none = await post('/bulks', { chosen: 'yes', act: 'discard' });
    expect([none.status, await none.text()]).toEqual([400, expect.stringContaining('Nothing selected')]);
    const wrong = await post('/bulks', { chosen: 'yes', act: 'discard', event: 'evt_1' });
    expect([wrong.status, await wrong.text()]).toEqual([
      400,
      expect.stringContaining('event must be an endpoint and an id, such as default/evt_1'),
    ]);
    expect(await inbox.operations?.bulk(2)).toBeNull();
    const viewers = await (await get('/events', signedIn(VIC))).text();
    expect(rowsIn(viewers).length).toBe(5);
    expect(
      tagsOf(viewers).filter(({ attributes }) => attributes['type'] === 'checkbox' && attributes['name'] === 'event'),
    ).toEqual([]);
  });
});
