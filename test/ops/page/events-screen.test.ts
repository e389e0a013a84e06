import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import type { EventCount } from '../../../src/inbox/operator/search.ts';
import type { Operations } from '../../../src/inbox/contract.ts';
import { eventsScreen } from '../../../src/page/screens/events-screen.tsx';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { discardEvents, getBulk } from '../../../src/ops/index.ts';
import { bury, FAILED, handleAgain, handled, key, RETRY } from '../events-in-states.ts';
import { leadsTo, openedPage, signedIn, VIC } from './opened-page.ts';
import { partOf, tagsOf, textOf, textIn, countOf, inputsIn } from './read-html.ts';
import { htmlOf, stubVisit, summary } from './stub-visit.ts';

function rowsIn(html: string): readonly string[] {
  return tagsOf(html).flatMap(({ name, attributes }) => (name === 'tr' ? (attributes['data-href'] ?? []) : []));
}

function olderIn(html: string): string {
  return /href="([^"]*)"/.exec(partOf(html, 'older'))?.[1]?.replaceAll('&amp;', '&') ?? '';
}

describe('the list', () => {
  test('has the newest first, with what matters of each', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1', { order: 'ord_1' }));
    await store(inbox, orderEvent('evt_2', { type: 'order.ready' }), orderEvent('evt_2', { type: 'order.ready' }));
    const page = await html('/events');
    expect(rowsIn(page)).toEqual(['/ops/events/default/evt_2', '/ops/events/default/evt_1']);
    // The year is told from the next one on.
    expect(textIn(page, 'event-1')).toMatch(
      /^order\.created evt_1 Copy dead \(failed\) ord_1 1 Jan(?: 2026)? 00:00 .* ago 1 1 Jan(?: 2026)? 00:00 Error: the shop is down$/,
    );
    expect(textIn(page, 'event-2')).toMatch(
      /^order\.ready evt_2 Copy pending for a processor evt_2 1 Jan(?: 2026)? 00:00 .* ago 1 time$/,
    );
  });

  test.each([
    ['order:mer_5tGk9QmXwL2RvC8e:ord_9fK2mPqXvT', 'ord_9fK2mPqXvT'],
    [`order:mer_7:ord_${'9'.repeat(30)}`, `ord_${'9'.repeat(10)}…${'9'.repeat(7)}`],
    ['inventory:mer_7:prod_3%3A1:loc_2', 'prod_3:1 loc_2'],
    ['a name of the merchant’s own', 'a name of the …t’s own'],
    ['🍕🍔🍟🌭🍿🥓🥞🧇🍳🥚🧀🥨', '🍕🍔🍟🌭🍿🥓🥞🧇🍳🥚🧀🥨'],
  ])('names what an event is about by its own id, which its merchant does not push out: %s', async (entity, shown) => {
    const { inbox, says } = openedPage();
    await store(inbox, { ...orderEvent('evt_1'), entity });
    expect(await says('/events', 'event-1')).toContain(` ${shown} `);
  });

  test('tells the error of what is processed by now as one of before', async () => {
    const { inbox, says } = openedPage();
    const event = orderEvent('evt_1');
    await handled(inbox, RETRY, event);
    await handleAgain(inbox, { outcome: 'processed' }, event);
    expect(await says('/events', 'event-1')).toMatch(/ before: Error: the shop is down$/);
  });

  test('goes on to older ones by the cursor, with the filter', async () => {
    const { inbox, html } = openedPage();
    for (let n = 1; n <= 120; n += 1)
      await store(inbox, orderEvent(`evt_${n}`, { type: n % 2 === 0 ? 'order.ready' : 'order.created' }));
    const seen: string[] = [];
    let query = '?type=order.ready';
    for (let pages = 0; query !== ''; pages += 1) {
      expect(pages).toBeLessThan(5);
      const page = await html(`/events${query}`);
      seen.push(...rowsIn(page));
      query = olderIn(page);
      if (query !== '') expect(query).toMatch(/^\?type=order\.ready&before=\d+$/);
    }
    expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => `/ops/events/default/evt_${120 - 2 * n}`));
  });

  test('says when it has looked at many and found few, and goes on from there', async () => {
    const { inbox, html, says } = openedPage();
    const search = vi.spyOn(inbox.operations as Operations, 'search');
    search.mockResolvedValueOnce({ events: [summary()], next: 777, examined: 5_000 });
    const page = await html('/events?error=x');
    expect(textIn(page, 'older')).toBe('5,000 events searched, 1 found (0% of the inbox searched). Search further');
    expect(olderIn(page)).toBe('?error=x&before=777');
    search.mockResolvedValueOnce({ events: [], next: 3, examined: 5_000 });
    const none = await html('/events?error=x');
    expect(textIn(none, 'live')).toBe('5,000 events searched, 0 found (0% of the inbox searched). Search further');
    expect(olderIn(none)).toBe('?error=x&found=none&before=3');
    expect(await says(`/events${olderIn(none)}`, 'none')).toBe('No events match these filters. Clear filters');
  });

  test('that has nothing offers nothing to do with it', async () => {
    const { inbox, html } = openedPage();
    const isOffered = async (path: string) => partOf(await html(path), 'acts') !== '';
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'));
    expect(await isOffered('/events?state=processed')).toBe(true);
    for (const path of [
      '/events?error=x',
      '/events?q=evt_2',
      '/events?state=dead',
      '/events?error=x&found=none&before=3',
    ]) {
      expect([path, await isOffered(path)]).toEqual([path, false]);
    }
  });

  test('leads from its pages back to its beginning, and keeps what it is of', async () => {
    const { inbox, html } = openedPage();
    for (let n = 1; n <= 51; n += 1) await store(inbox, orderEvent(`evt_${n}`));
    const first = await html('/events?type=order.created&order=oldest');
    expect(partOf(first, 'back')).toBe('');
    const further = await html(`/events${olderIn(first)}`);
    expect(rowsIn(further)).toHaveLength(1);
    expect(partOf(further, 'back')).toContain('href="?type=order.created&amp;order=oldest"');
  });

  test.for([
    ['/events', 'The inbox has no events. See the overview'],
    ['/events?before=7', 'No older events found. First page'],
    ['/events?before=x', 'The inbox has no events. See the overview'],
    ['/events?before=-1', 'The inbox has no events. See the overview'],
    ['/events?before=99999999999999999999', 'The inbox has no events. See the overview'],
    [
      '/events?retrying=yes&failedSince=2h',
      'No event that failed in this period is still waiting for a retry. Clear filters',
    ],
  ] as const)('at %s: %s', async ([path, said]) => {
    const { says } = openedPage();
    expect(await says(path, 'live')).toBe(said);
  });
});

describe('the filter', () => {
  const QUERY =
    'entity=ord_1&id=evt_1&error=down&since=2h&until=5m&state=dead&state=ignored&type=order.ready&type=shop.own&deadReason=failed' +
    '&merchant=mer_7&body=data.a%3D1&body=data.b%3D%22%3E&bodyText=ada&endpoint=b&fingerprint=abc&retrying=yes&redelivered=no&conflict=yes';

  test('is in the search box, in chips and in a form, which keeps what it has no field for', async () => {
    const { html } = openedPage();
    const page = await html(`/events?${QUERY}`);
    expect(partOf(page, 'search')).toContain(
      'value="entity:ord_1 id:evt_1 error:down since:2h until:5m state:dead state:ignored type:order.ready type:shop.own ' +
        'dead-reason:failed merchant:mer_7 body.data.a:1 body.data.b:&quot;\\&quot;&gt;&quot; body:ada endpoint:b group:abc ' +
        'retrying:yes redelivered:no conflict:yes"',
    );
    const chips = partOf(page, 'conditions').split('<li>');
    const own = chips.find((chip) => textOf(chip).startsWith('Remove type shop.own'));
    const removal = tagsOf(own ?? '').find(({ name }) => name === 'a');
    const left = new URL(removal?.attributes['href'] ?? '', 'http://shop.example').searchParams;
    expect([...left].length).toBe([...new URLSearchParams(QUERY)].length - 1);
    expect(left.getAll('type')).toEqual(['order.ready']);

    const sent = new URLSearchParams();
    let select = '';
    for (const { name, attributes } of tagsOf(partOf(page, 'filters'))) {
      if (name === 'select') select = attributes['name'] ?? '';
      if (name === 'option' && 'selected' in attributes) sent.append(select, attributes['value'] ?? '');
      if (name === 'input') sent.append(attributes['name'] ?? '', attributes['value'] ?? '');
    }
    const said = [...sent].filter(([, value]) => value !== '').map(String);
    expect(new Set(said)).toEqual(new Set([...new URLSearchParams(QUERY)].map(String)));
  });

  test('of a line is the URL, and a name in it is found as in a text', async () => {
    const { inbox, get, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1', { order: 'ord_K7' }));
    const to = async (q: string) => {
      const answer = await get(`/events?${new URLSearchParams({ q }).toString()}`);
      return [answer.status, answer.headers.get('location')];
    };
    expect(await to('state:dead error:"shop is"')).toEqual([302, '/ops/events?state=dead&error=shop+is']);
    expect(await to('ord_k7 state:dead')).toEqual([302, '/ops/events?state=dead&entity=ord_K7']);
    expect(await to('"state:dead"')).toEqual([200, null]);
    const page = await html('/events?q=sate%3Adead');
    expect(textIn(page, 'problems')).toContain('Did you mean state?');
    expect(partOf(page, 'search')).toContain('value="sate:dead"');
    expect(rowsIn(page)).toEqual([]);
  });

  test('shows the states with what is in them, and counts them among the other conditions', async () => {
    const { inbox, html, says } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2', { type: 'order.ready' }));
    await store(inbox, orderEvent('evt_3'));
    expect(await says('/events', 'states')).toBe(
      'All pending 1 retrying 0 processing 0 dead 2 processed ignored 0 discarded 0',
    );
    const page = await html('/events?type=order.ready&state=dead');
    expect(textIn(page, 'states')).toMatch(/^All pending 0 .* dead 1 processed 0 /);
    const links = tagsOf(partOf(page, 'states')).filter(({ name }) => name === 'a');
    expect(
      links.filter((link) => 'aria-current' in link.attributes).map(({ attributes }) => attributes['href']),
    ).toEqual(['/ops/events?type=order.ready&state=dead']);
  });

  test('finds a value in any path of a body, but in no masked one', async () => {
    const { inbox, html, says } = openedPage({ mask: ['data.id'] });
    await store(inbox, orderEvent('evt_1', { order: 'ord_K7', merchant: 'mer_K7' }));
    expect(rowsIn(await html('/events?bodyText=MER_k7'))).toEqual(['/ops/events/default/evt_1']);
    expect(await says('/events?bodyText=ord_K7', 'none')).toBe('No events match these filters. Clear filters');
  });

  test('asks the inbox for exactly what it says', async () => {
    const { inbox, html } = openedPage();
    const search = vi.spyOn(inbox.operations as Operations, 'search');
    await html(`/events?${QUERY}&before=9`);
    expect(search.mock.calls.filter(([, page]) => page.limit !== 1)).toEqual([
      [
        {
          endpoint: 'b',
          id: 'evt_1',
          types: ['order.ready', 'shop.own'],
          states: ['dead', 'ignored'],
          deadReasons: ['failed'],
          since: expect.any(Date),
          until: expect.any(Date),
          entity: 'ord_1',
          merchant: 'mer_7',
          error: 'down',
          fingerprint: 'abc',
          retrying: true,
          redelivered: false,
          conflict: true,
          body: [
            { path: 'data.a', value: '1' },
            { path: 'data.b', value: '">' },
          ],
          bodyText: 'ada',
        },
        { before: 9, limit: 50, signal: expect.any(AbortSignal) },
      ],
    ]);
  });

  test.for([
    ['since=soon', 'since must be a time'],
    ['state=undead', 'not "undead"'],
    ['body=x', 'not "x"'],
    ['body=data%5B%3D1', 'data['],
    ['retrying=perhaps', 'retrying must be yes or no'],
    [`id=${'x'.repeat(2_000)}`, 'id must have at most 1000 characters'],
    ['state=%3Cscript%3Ealert(1)%3C%2Fscript%3E', 'not "<script>alert(1)</script>"'],
  ] as const)('says what is wrong with %s, and lists nothing that was not asked for', async ([query, said]) => {
    const { inbox, html } = openedPage();
    await store(inbox, orderEvent('evt_1'));
    const page = await html(`/events?${query}`);
    expect(textIn(page, 'problems')).toContain(said);
    expect(rowsIn(page)).toEqual([]);
    expect(countOf(page, 'script')).toBe(1);
    expect(partOf(page, 'acts')).toBe('');
  });
});

describe('what can be done with all that match', () => {
  test('keeps the filter as it was read, with times that stand still', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1', { order: '">', receivedAt: Date.now() }));
    const page = await html('/events?since=2h&state=dead&body=data.id%3D%22%3E');
    const acts = partOf(page, 'acts');
    const hidden = tagsOf(acts).filter(
      ({ attributes }) => attributes['type'] === 'hidden' && attributes['name'] !== 'csrf',
    );
    const fields = hidden.map(({ attributes }) => [attributes['name'], attributes['value']]);
    const filter = [
      ['state', 'dead'],
      ['since', expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)],
      ['body', 'data.id=">'],
    ];
    expect(fields).toEqual([['act', 'rerun'], ...filter, ['act', 'discard'], ...filter]);
    expect(textOf(acts)).toBe(
      'Rerun this dead event… Export… exact copy, which can be imported readable JSON ' +
        'CSV for a spreadsheet Discard this dead event…',
    );
    expect(acts).toMatch(/href="\/ops\/maintenance\/export\?state=dead&amp;since=[^"]*&amp;body=data\.id%3D%22%3E"/);
  });

  test('says how many events each act is about, and of which states', async () => {
    const { inbox, html, says } = openedPage();
    const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}_${n}`);
    await handled(inbox, FAILED, ...ids('dead', 52).map((id) => orderEvent(id)));
    await store(inbox, ...ids('pending', 3).map((id) => orderEvent(id)));
    await handled(inbox, { outcome: 'processed' }, ...ids('processed', 2).map((id) => orderEvent(id)));
    const offered = async (query: string) => await says(`/events${query}`, 'acts');
    expect(await offered('')).toMatch(
      /^Rerun these 52 dead events… Export… .* Rerun all .* or processed events… Discard these 55 dead or pending events…$/,
    );
    expect(await offered('?state=pending')).toMatch(/^Export… .* Discard these 3 pending events…$/);
    expect(await offered('?state=processed')).toMatch(/^Export… .* Rerun these 2 processed events…$/);
    expect(partOf(await html('/events?state=processed'), 'acts')).toContain('name="force" value="yes"');
    expect(await offered('?id=dead_7')).toMatch(/^Rerun this dead event… Export… .* Discard this dead event…$/);
    expect(await offered('?error=nothing+has+this')).not.toContain('Discard');
  });

  test.for([
    ['', ['Retry 1', 'Rerun 2', 'Rerun 7', 'Discard 6']],
    ['state=dead', ['Rerun 2', 'Discard 2']],
    ['state=processed', ['Rerun 4']],
    ['state=discarded', ['Rerun 1']],
    ['state=discarded&state=dead&state=processed', ['Rerun 3', 'Rerun 7', 'Discard 2']],
    ['state=pending', ['Retry 1', 'Discard 4']],
    ['retrying=yes', ['Retry 1', 'Discard 2']],
    ['retrying=no', ['Rerun 2', 'Rerun 7', 'Discard 4']],
    ['bodyText=ord_due', ['Discard 1']],
  ] as const)('with "%s" is what each button says', async ([query, said]) => {
    const { inbox, html, post } = openedPage();
    const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => orderEvent(`${name}_${n}`));
    const inAnHour = { ...RETRY, dueAt: Date.now() + 3_600_000 };
    await handled(inbox, FAILED, ...ids('dead', 2), orderEvent('discarded'));
    await discardEvents(inbox, [key('discarded')], { actor: 'ada' });
    await handled(inbox, { outcome: 'processed' }, ...ids('processed', 4));
    await store(inbox, ...ids('pending', 2));
    await handled(inbox, RETRY, orderEvent('due', { order: 'ord_due' }));
    await handled(inbox, inAnHour, orderEvent('later'));
    const acts = partOf(await html(`/events?${query}`), 'acts');
    const previews: string[] = [];
    for (const [form] of acts.matchAll(/<form.*?<\/form>/gs)) {
      const [, verb = '', count = ''] = /^(\w+)(?: now:)? (?:these (\d+)|this)/.exec(textOf(form)) ?? [];
      const fields = Map.groupBy(inputsIn(form), ([name]) => name);
      const given = Object.fromEntries([...fields].map(([name, values]) => [name, values.map(([, value]) => value)]));
      const id = Number(/\d+$/.exec(leadsTo(await post('/bulks', given)))?.[0]);
      const total = (await getBulk(inbox, id))?.total;
      expect(total, textOf(form)).toBe(count === '' ? 1 : Number(count));
      previews.push(`${verb} ${total}`);
    }
    expect(previews).toEqual(said);
  });

  test('offers no retry now of a long list in which nothing is retried', async () => {
    const { inbox, says } = openedPage();
    await store(inbox, ...Array.from({ length: 60 }, (_, n) => orderEvent(`evt_${n}`)));
    expect(await says('/events?state=pending', 'acts')).toMatch(/^Export… .* Discard these 60 pending events…$/);
    await handled(inbox, RETRY, orderEvent('retrying'));
    expect(await says('/events?state=pending', 'acts')).toMatch(/^Retry now: all retrying events that match… Export…/);
    expect(await says('/events?retrying=yes', 'acts')).not.toContain('Rerun');
  });

  test('counts no dead event without a body for a rerun, as its preview takes none', async () => {
    const { inbox, file, post, says } = openedPage();
    const ids = Array.from({ length: 60 }, (_, n) => `evt_${n}`);
    await handled(inbox, FAILED, ...ids.map((id) => orderEvent(id)));
    const database = new Database(file);
    bury(database, 'evt_3');
    database.close();
    expect(await says('/events?state=dead', 'acts')).toMatch(/^Rerun these 59 dead events…/);
    const preview = leadsTo(await post('/bulks', { act: 'rerun', state: 'dead' }));
    expect(await says(preview, 'sentence')).toContain('Will rerun 59 events');
  });

  test('counts no ignored events for a rerun, as some may have no body', async () => {
    const { inbox, file, post, says } = openedPage();
    await store(inbox, ...Array.from({ length: 60 }, (_, n) => orderEvent(`evt_${n}`)));
    await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 3_600_000, START + 3_000_000);
    const database = new Database(file);
    bury(database, 'evt_3');
    database.close();
    const offered = async (query: string) => await says(`/events?${query}`, 'acts');
    expect(await offered('state=ignored')).toMatch(/^Rerun all ignored events that match…/);
    expect(await offered('state=ignored&state=dead')).toMatch(/^Rerun all dead or ignored events that match…/);
    const preview = leadsTo(await post('/bulks', { act: 'rerun', state: 'ignored' }));
    expect(await says(preview, 'sentence')).toContain('Will rerun 59 events');
  });

  test('claims no number that it cannot know', async () => {
    const page = (count: EventCount, query: string) =>
      eventsScreen(
        stubVisit(
          {
            search: async () => ({ events: [summary({ state: 'dead', deadReason: 'failed' })], next: 7, examined: 1 }),
            countFound: async () => count,
          },
          { path: `/events?${query}` },
        ),
      );
    const acts = async (count: EventCount, query = 'error=down') => {
      return textIn(await htmlOf(await page(count, query)), 'acts');
    };
    // What is due by now is not retried now, and no count tells it apart.
    expect(await acts({ count: 60, more: false, cut: false }, 'retrying=yes')).toContain(
      'Retry now: all retrying events that match…',
    );
    expect(await acts({ count: 60, more: false, cut: false }, 'body=data.a%3D1')).toMatch(
      /^Retry now: all retrying events that match… Rerun all dead events that match… .* Discard all dead or pending events that match…/,
    );
    expect(await acts({ count: 10_000, more: true, cut: false })).toMatch(
      /^Retry now: all retrying events that match… Rerun more than 10,000 dead events… .* Discard more than 10,000 dead or pending events…/,
    );
    expect(await acts({ count: 17, more: false, cut: true })).toMatch(
      /^Retry now: all retrying events that match… Rerun all dead events that match… .* Discard all dead or pending events that match…/,
    );
  });

  test('is nothing for a viewer', async () => {
    const { get } = openedPage();
    const page = await (await get('/events?state=dead', signedIn(VIC))).text();
    expect(partOf(page, 'acts')).toBe('');
    expect(page).not.toContain('csrf');
  });
});
