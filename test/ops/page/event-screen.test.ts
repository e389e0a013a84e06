import { describe, expect, test } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { eventHref } from '../../../src/page/parts/filter-fields.ts';
import { hostileData, hostileTexts } from '../../browser/hostile-texts.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ANY, bury, failure, FAILED, handleAgain, handled, invalidThen, RETRY } from '../events-in-states.ts';
import { START } from '../../helpers/virtual-clock.ts';
import Database from 'better-sqlite3';
import { ADA, openedPage, signedIn, VIC, type OpenedPage } from './opened-page.ts';
import { partOf, tagsOf, textOf, unescaped, textIn, countOf } from './read-html.ts';

const EVENT = '/events/default/evt_1';

async function withBody(opened: OpenedPage, body: string | Uint8Array): Promise<void> {
  await opened.inbox.accept(incoming({ body }), later());
}

async function failed(inbox: Inbox, name: string, message: string, stack: string | null): Promise<void> {
  await handled(inbox, { outcome: 'dead', reason: 'failed', error: { name, message, stack } }, orderEvent('evt_1'));
}

function commandsIn(html: string): readonly string[] {
  return Array.from(html.matchAll(/<code>(hookbox [^<]*)<\/code>/g), ([, command = '']) => command);
}

describe('what has happened', () => {
  test('is told in order: deliveries, attempts with their errors, and how it stands', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, RETRY, orderEvent('evt_1'));
    await store(inbox, orderEvent('evt_1'), orderEvent('evt_1', { total: 7 }));
    await handleAgain(inbox, FAILED, orderEvent('evt_1'));
    const page = await html(EVENT);
    const entries = page
      .match(/<li id="(?:stored|redeliver|conflict|attempt|settled)[^"]*"/g)
      ?.map((tag) => tag.replace(/.*id="([a-z]+).*/, '$1'));
    expect(entries).toEqual(
      expect.arrayContaining(['stored', 'redelivered', 'conflict', 'attempt', 'attempt', 'settled']),
    );
    const timeline = textIn(page, 'timeline');
    expect(timeline).toContain('attempt 1: failed after 1 ms Error: the shop is down Stack Error: the shop is down');
    expect(timeline).toMatch(/dead \(failed\)$/);
    expect(textIn(page, 'headline')).toBe('No handler runs for it unless you rerun it: Error: the shop is down');
    expect(partOf(page, 'stack-1')).toMatch(/^<details id="stack-1"><summary>/);
  });

  test.for([
    [25, true],
    [23, false],
  ] as const)('says that it was created far ahead, which is %i h: %s', async ([hours, isSaid]) => {
    const { inbox, html } = openedPage();
    const event = orderEvent('evt_1', { createdAt: hours * 3_600 });
    await handled(inbox, { outcome: 'processed' }, event);
    const text = textOf(await html(EVENT));
    expect(text.includes('more than a day in the future, so it does not supersede older events')).toBe(isSaid);
  });

  test('says of an event that was never tried that its first attempt has not started', async () => {
    const { inbox, says } = openedPage();
    await store(inbox, orderEvent('evt_1'));
    const timeline = async () => await says(EVENT, 'timeline');
    expect(await timeline()).toMatch(/due, but the first attempt has not started yet$/);
    await handleAgain(inbox, { outcome: 'retry', error: failure, dueAt: START + 60_000 }, orderEvent('evt_1'));
    expect(await timeline()).toMatch(/due, but the next attempt has not started yet$/);
  });

  test('shows the lines that an attempt logged, as text, and without what is masked', async () => {
    const { inbox, html } = openedPage({ mask: ['data.customer', 'data.total', 'data.code'] });
    const body =
      '{"id":"evt_1","data":{"customer":{"email":"Ada@example.com","note":"a\\nC:\\\\x"},"total":7,"code":"open sesame"}}';
    const log = [
      'mailed <ada@EXAMPLE.com>, 7 of 17',
      String.raw`noted (customer={ note: 'a\nC:\\x' })`,
      'and then cut (code=open ses…',
    ].map((text) => ({ afterMs: 1_200, level: 'warn', text }) as const);
    await handled(inbox, { outcome: 'processed', log }, incoming({ body }));
    const timeline = textOf(partOf(await html(EVENT), 'timeline'));
    expect(timeline).toContain('3 log lines');
    expect(timeline).toContain('+1.2 s warn: mailed <•••>, ••• of 17');
    expect(timeline).toContain(String.raw`noted (customer={ note: '•••\n•••' })`);
    expect(timeline).toContain('and then cut (code=•••…');
  });

  test('shows the steps that an attempt has run', async () => {
    const { inbox, html } = openedPage();
    await store(inbox, orderEvent('evt_1'));
    const [claimed] = await inbox.claim({ ...ANY, now: START + 1 }, 1);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await inbox.keepStep(claimed.lease, { name: 'mail <ada>', result: '"secret"' }, START + 2);
    const page = await html(EVENT);
    expect(textOf(partOf(page, 'timeline'))).toContain('attempt 1 ran the step mail <ada>');
    expect(page).not.toContain('secret');
  });

  test('says which processor ran it, and why a handler let the event go by', async () => {
    const { inbox, html } = openedPage();
    const ran = { limit: 20, processor: '4711-<a>' };
    await handled(inbox, { outcome: 'processed', skipped: 'not <ours>', ...ran }, orderEvent('evt_1'));
    const timeline = partOf(await html(EVENT), 'timeline');
    expect(timeline).toContain('not &lt;ours&gt;');
    expect(textOf(timeline)).toContain(
      'attempt 1 of 20: processed after 1 ms by processor 4711-<a>, skipped: not <ours>',
    );
  });

  test('says which event superseded it', async () => {
    const { inbox, html } = openedPage();
    const burst = [1, 2].map((n) => orderEvent(`evt_${n}`, { order: 'o', createdAt: n }));
    await store(inbox, ...burst);
    const latest = { '*': { quietMs: 0, maxMs: 0 } };
    await inbox.claim({ endpoints: '*', types: '*', ordered: true, leaseMs: 1_000, now: Date.now(), latest }, 1);
    expect(textOf(partOf(await html(EVENT), 'timeline'))).toContain('superseded by evt_2; its handler did not run');
    expect(textIn(await html(EVENT), 'headline')).toBe('Its handler did not run, because a newer event was waiting.');
  });

  test.for([
    [
      'pending',
      (inbox: Inbox) => store(inbox, orderEvent('evt_1')),
      'It is waiting; no processor for order.created has ever run.',
    ],
    [
      'retrying',
      (inbox: Inbox) => handled(inbox, RETRY, orderEvent('evt_1')),
      'It has failed once: Error: the shop is down; no processor for order.created has ever run; in inline mode',
    ],
    [
      'processing',
      async (inbox: Inbox) => {
        await store(inbox, orderEvent('evt_1'));
        await inbox.claimOne(orderEvent('evt_1'), { ...ANY, now: START + 1 });
      },
      'Its handler is running.',
    ],
    [
      'processed',
      (inbox: Inbox) => handled(inbox, { outcome: 'processed' }, orderEvent('evt_1')),
      'Its handler succeeded.',
    ],
  ] as const)('of one that is %s is said in a sentence', async ([, make, said]) => {
    const { inbox, says } = openedPage();
    await make(inbox);
    expect(await says(EVENT, 'headline')).toContain(said);
  });

  test('of one that is not there: nothing, with 404', async () => {
    const { get } = openedPage();
    const answer = await get(eventHref('', { endpoint: 'default', id: hostileTexts.script }));
    const text = await answer.text();
    expect(answer.status).toBe(404);
    expect(textIn(text, 'main')).toContain(`The inbox has no event with the id ${hostileTexts.script}.`);
    expect(countOf(text, 'script')).toBe(1);
  });
});

describe('what can be done', () => {
  test.for([
    ['dead', FAILED, ['rerun', 'discard']],
    ['retrying', RETRY, ['discard']],
    ['processed', { outcome: 'processed' }, ['rerun']],
  ] as const)('with one that is %s', async ([, settlement, acts]) => {
    const { inbox, html } = openedPage();
    await handled(inbox, settlement, orderEvent('evt_1'));
    const page = await html(EVENT);
    const to = tagsOf(page).flatMap(({ name, attributes }) =>
      name === 'form' && attributes['method'] === 'post' ? (attributes['action'] ?? []) : [],
    );
    const acted = to.filter((href) => href !== '/ops/paused/pause');
    expect(acted).toEqual(acts.map((act) => `/ops${EVENT}/${act}`));
    const force = settlement.outcome === 'processed' ? ' --force' : '';
    expect(commandsIn(page)).toEqual([
      ...acts.map((act) => `hookbox events ${act}${act === 'rerun' ? force : ''} evt_1`),
      'hookbox events show evt_1',
    ]);
    expect(tagsOf(page).filter(({ attributes }) => attributes['name'] === 'reason').length).toBe(to.length);
  });

  test('is asked for on the screen itself where no script opens a dialog', async () => {
    const { inbox, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const open = async (path: string) =>
      tagsOf(await html(path)).flatMap(({ name, attributes }) =>
        name === 'dialog' && 'open' in attributes ? (attributes['id'] ?? []) : [],
      );
    expect(await open(EVENT)).toEqual([]);
    expect(await open(`${EVENT}?ask=discard`)).toEqual(['discard']);
  });

  test('is told as commands for the file that the page is told', async () => {
    const { inbox, html } = openedPage({ db: '/srv/shop.db' });
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'));
    expect(commandsIn(await html(EVENT))).toEqual([
      'hookbox events rerun --db /srv/shop.db --force evt_1',
      'hookbox events show --db /srv/shop.db evt_1',
    ]);
  });

  test('is offered to no viewer, nor are its keys', async () => {
    const { inbox, get } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const page = await (await get(EVENT, signedIn(VIC))).text();
    expect(tagsOf(page).filter(({ attributes }) => attributes['method'] === 'post')).toEqual([]);
    expect(commandsIn(page)).toEqual(['hookbox events show evt_1']);
    for (const part of ['headline', 'acts', 'keys'])
      expect(textIn(page, part), part).not.toMatch(/\b(?:rerun|discard|you act)\b/i);
    expect(textIn(page, 'facts')).not.toContain('pause');
  });

  test('with a tombstone is said: it cannot be rerun', async () => {
    const { inbox, html, file } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const database = new Database(file);
    bury(database, 'evt_1');
    database.close();
    const page = await html(EVENT);
    expect(textIn(page, 'acts')).toContain('The body was pruned, so the event cannot be rerun.');
    expect(partOf(page, 'body')).toBe('');
    expect(textIn(page, 'facts')).toContain('pruned: only a tombstone is left');
  });

  test('with the tombstone of an invalid one is nothing', async () => {
    const { inbox, html, file } = openedPage();
    await store(inbox, invalidThen(orderEvent('evt_1')));
    const database = new Database(file);
    bury(database, 'evt_1');
    database.close();
    expect(commandsIn(await html(EVENT))).toEqual(['hookbox events show evt_1']);
  });
});

describe('the body', () => {
  test('is a tree with every digit, and with names that come twice', async () => {
    const opened = openedPage();
    await withBody(
      opened,
      '{"id":"evt_1","data":{"total":42.50,"n":1e2,"n":9007199254740993,"who":"Ada <b>"},"list":[true,null]}',
    );
    const body = partOf(await opened.html(EVENT), 'body');
    expect(textOf(body)).toContain(
      'id: "evt_1" data: {4} total: 42.50 n: 1e2 n: again: 9007199254740993 who: "Ada <b>" list: [2] true null',
    );
    expect(tagsOf(body).filter(({ name }) => name === 'b')).toEqual([]);
  });

  test('has texts in the quotes and escapes of JSON, so that a copy of one can be pasted anywhere', async () => {
    const opened = openedPage();
    const text = 'say "hi" to C:\\ and\n\u202e😀’';
    await withBody(opened, JSON.stringify({ id: 'evt_1', text, long: 'x'.repeat(3_000) }));
    const body = partOf(await opened.html(EVENT), 'body');
    const shown = textOf(body);
    expect(shown).toContain(String.raw`"say \"hi\" to C:\\ and\n\u202e😀’"`);
    expect(shown).toContain(`"${'x'.repeat(2_000)}"`);
    expect(textOf(body)).toContain('… (3,000 characters)');
  });

  test('is shown as JSON in lines, which means what was received', async () => {
    const opened = openedPage();
    const body = '{"id":"evt_1","n":1e2,"n":42.50,"x":"\u202Ea","list":[{"a":[]},{}]}';
    await withBody(opened, body);
    const [, lines = ''] = /<pre[^>]*>([^<]*)<\/pre>/.exec(await opened.html(`${EVENT}?view=json`)) ?? [];
    expect(unescaped(lines)).toBe(
      '{\n  "id": "evt_1",\n  "n": 1e2,\n  "n": 42.50,\n  "x": "\\u202ea",\n  "list": [\n    {\n      "a": []\n    },\n    {}\n  ]\n}',
    );
  });

  test('is shown raw and in hexadecimal', async () => {
    const opened = openedPage();
    await withBody(opened, '{"id":"evt_1", "x":"\u202Ea\u0007é"}\n');
    const raw = textIn(await opened.html(`${EVENT}?view=raw`), 'body');
    expect(raw).toContain('{"id":"evt_1", "x":"\\u{202e}a\\u{7}é"}');
    const hex = partOf(await opened.html(`${EVENT}?view=hex`), 'body');
    expect(hex).toContain(
      '00000000  7b 22 69 64 22 3a 22 65 76 74 5f 31 22 2c 20 22  |{&quot;id&quot;:&quot;evt_1&quot;, &quot;|',
    );
    expect(hex).toContain('00000010  78 22 3a 22 e2 80 ae 61 07 c3 a9 22 7d 0a        |x&quot;:&quot;...a...&quot;}.|');
  });

  test('is downloaded byte by byte, never as a page', async () => {
    const opened = openedPage();
    const body = Buffer.from('{"id":"evt_1","x":"<script>alert(1)</script>\u0000"}');
    await withBody(opened, body);
    const answer = await opened.get(`${EVENT}/raw`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="body.json"');
    expect((await opened.get(`${EVENT}/conflict`)).status).toBe(404);
  });

  test('has the other bytes under its id beside it', async () => {
    const opened = openedPage();
    await withBody(opened, '{"id":"evt_1","total":1}');
    await withBody(opened, '{"id":"evt_1","total":2.50}');
    const body = textIn(await opened.html(EVENT), 'body');
    expect(body).toMatch(/Stored body .* total: 1 .* Newest different body with this id .* total: 2\.50/);
    expect(await (await opened.get(`${EVENT}/conflict`)).text()).toBe('{"id":"evt_1","total":2.50}');
  });

  test('that is no JSON is shown as what it is', async () => {
    const opened = openedPage();
    await withBody(opened, Uint8Array.from([0x7b, 0xff, 0xfe, 0x3c]));
    expect(textIn(await opened.html(EVENT), 'body')).toContain('The body is not valid JSON in UTF-8. Show raw');
    expect(textIn(await opened.html(`${EVENT}?view=hex`), 'body')).toContain('7b ff fe 3c');
  });

  test.for([
    ...hostileData().map((data, n) => [`hostile data ${n}`, `{"id":"evt_1","data":${data}}`] as const),
    ['a megabyte of brackets', `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['a megabyte of text', `{"a":"${'<'.repeat(1_000_000)}"}`],
    ['a megabyte of names', `{${Array.from({ length: 60_000 }, (_, n) => `"<key ${n}>":1`).join(',')}}`],
  ] as const)('of %s stays within a page, in all three views', async ([, body]) => {
    const opened = openedPage();
    await withBody(opened, body);
    for (const view of ['tree', 'raw', 'hex']) {
      const page = await opened.html(`${EVENT}?view=${view}`);
      expect(page.length, view).toBeLessThan(1_500_000);
      expect(tagsOf(page).filter(({ name }) => name === 'script').length, view).toBe(1);
      if (view === 'tree' && body.length > 200_000)
        expect(textIn(page, 'body')).toMatch(/Some values are omitted.* Show raw|characters\)/);
    }
  });

  test('is left out when only what stands in #live is asked for, which is the same', async () => {
    const opened = openedPage();
    await withBody(opened, '{"id":"evt_1","note":"a note"}');
    const live = await (await opened.get(EVENT, { ...signedIn(ADA), 'hookbox-live': '1' })).text();
    const whole = await opened.html(EVENT);
    expect([live.includes('a note'), whole.includes('a note')]).toEqual([false, true]);
    expect(textIn(live, 'live')).toBe(textIn(whole, 'live'));
  });

  test('of an unknown view is the tree', async () => {
    const opened = openedPage();
    await withBody(opened, '{"id":"evt_1"}');
    expect(await opened.html(`${EVENT}?view=constructor`)).toContain('class="tree"');
  });
});

describe('masked fields', () => {
  const MASK = ['data.customer.email', 'data.items[].name'];

  test('are shown nowhere: not in the tree, raw, in hexadecimal, in downloads or in other bytes', async () => {
    const opened = openedPage({ mask: MASK });
    const body = (email: string): string =>
      `{"id":"evt_1","data":{"customer":{"email":"${email}"},"items":[{"name":"${email}"}],"total":1.50}}`;
    await withBody(opened, body('ada-s3cret'));
    await withBody(opened, body('eve-s3cret'));
    for (const path of ['', '?view=json', '?view=raw', '?view=hex', '/raw', '/conflict']) {
      const text = await opened.html(`${EVENT}${path}`);
      expect(text, path).not.toContain('s3cret');
      expect(text, path).not.toContain('2d 73 33 63');
      if (!path.startsWith('/')) expect(textOf(text), path).toContain('the body is not exactly the one received');
    }
    expect(textOf(await opened.html(EVENT))).toContain('total: 1.50');
    expect(await opened.html(`${EVENT}/raw`)).toContain('"email":"•••"');
  });

  test('leave the names of entities, which operators work by, to be seen and searched for', async () => {
    const { inbox, says } = openedPage({ mask: ['data.id', 'data.merchant_id'] });
    await store(inbox, orderEvent('evt_1', { order: 'ord_42' }));
    const name = (await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.entity ?? '';
    expect(await says(`/events?entity=${encodeURIComponent(name)}`, 'live')).toContain('ord_42');
  });

  test('are not searched for', async () => {
    const { html } = openedPage({ mask: MASK });
    const page = await html('/events?body=data.customer.email%3Dada');
    expect(textIn(page, 'problems')).toContain('data.customer.email is masked on this page');
    expect(partOf(page, 'live')).toBe('');
  });
});

test('hostile texts of an error are text', async () => {
  for (const text of [hostileTexts.script, hostileTexts['attribute that ends'], hostileTexts['null byte']]) {
    const { inbox, html } = openedPage();
    await failed(inbox, text, text, `${text}\n    at ${text}`);
    const tags = tagsOf(await html(EVENT));
    expect(tags.filter(({ name }) => name === 'script').length).toBe(1);
    expect(
      tags.flatMap(({ attributes }) => Object.keys(attributes).filter((name) => /^on|^style$/.test(name))),
    ).toEqual([]);
  }
});
