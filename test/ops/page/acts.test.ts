import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Inbox, Operations } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { auditLines, exportEvents, getBulk, previewBulk } from '../../../src/ops/index.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { opsPage } from '../../../src/page/operators-page.tsx';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ANY, FAILED, handled } from '../events-in-states.ts';
import { ADA, leadsTo, openedPage, signedIn, tokenIn, expectAnswer } from './opened-page.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';

const EVENT = '/events/default/evt_1';

const GRACE = { actor: 'grace' };

async function stateOf(inbox: Inbox, id: string): Promise<string | undefined> {
  return (await inbox.get({ endpoint: 'default', id }))?.state;
}

async function bodyOf(inbox: Inbox, id: string): Promise<Uint8Array | null | undefined> {
  return (await inbox.get({ endpoint: 'default', id }))?.body;
}

const partIn = async (answer: Response, id: string) => textIn(await answer.text(), id);

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 20_000 });

describe('one event', () => {
  test('is rerun, and the audit says by whom and why', async () => {
    const { inbox, post, says } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const answer = await post(`${EVENT}/rerun`, { reason: '  the shop is up again ' });
    expect([answer.status, leadsTo(answer)]).toEqual([303, `${EVENT}?done=rerun`]);
    expect(await stateOf(inbox, 'evt_1')).toBe('pending');
    expect((await auditLines(inbox)).lines).toMatchObject([
      { actor: 'ada', via: 'page', act: 'rerun', reason: 'the shop is up again', counts: { done: 1 } },
    ]);
    expect(await says(leadsTo(answer), 'flash')).toContain('The event is pending again.');
  });

  test('is discarded', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    expect(leadsTo(await post(`${EVENT}/discard`))).toBe(`${EVENT}?done=discarded`);
    expect(await stateOf(inbox, 'evt_1')).toBe('discarded');
  });

  test('that is processed is rerun only when that is said', async () => {
    const { inbox, post, html } = openedPage();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'));
    expect(leadsTo(await post(`${EVENT}/rerun`))).toBe(`${EVENT}?done=not-needed`);
    expect(await stateOf(inbox, 'evt_1')).toBe('processed');
    const form = tagsOf(partOf(await html(EVENT), 'rerun-again')).filter(({ name }) => name === 'input');
    expect(form.map(({ attributes }) => [attributes['name'], attributes['value']])).toContainEqual(['force', 'yes']);
    expect(leadsTo(await post(`${EVENT}/rerun`, { force: 'yes' }))).toBe(`${EVENT}?done=rerun`);
    expect(await stateOf(inbox, 'evt_1')).toBe('pending');
  });

  test('that is not there stays so', async () => {
    const { post } = openedPage();
    expect(leadsTo(await post('/events/default/%2E%2Fnone/rerun'))).toBe('/events/default/.%2Fnone?done=unknown');
  });

  test('that was stored as invalid gets its entity by the receiver’s rule', async () => {
    const { inbox } = openedPage();
    await store(inbox, { ...orderEvent('evt_1'), type: null, created: null, entity: null, valid: false });
    const page = opsPage(
      { inbox, entity: () => 'named by the merchant' },
      { authorize: () => ({ role: 'operator', name: 'ada' }) },
    );
    const csrf = tokenIn(await (await page.request('/maintenance')).text());
    const headers = { origin: 'http://localhost' };
    await page.request(`${EVENT}/rerun`, { method: 'POST', headers, body: new URLSearchParams({ csrf }) });
    expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({
      state: 'pending',
      entity: 'named by the merchant',
    });
  });
});

describe('a token', () => {
  test.for([
    ['of nobody', () => 'A'.repeat(43)],
    ['that is missing', () => ''],
    ['with something behind it', (token: string) => `${token} `],
    ['of another process', () => null],
    ['that is a file', () => new File(['x'], 'token')],
  ] as const)('%s does nothing', async ([, made]) => {
    const { app, inbox, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const own = tokenIn(await html('/maintenance'));
    const others = async (): Promise<string> => {
      const restarted = opsPage({ inbox }, { basic: [ADA] });
      return tokenIn(await (await restarted.request('/maintenance', { headers: signedIn(ADA) })).text());
    };
    const body = new FormData();
    body.set('csrf', made(own) ?? (await others()));
    const headers = { ...signedIn(ADA), origin: 'http://shop.example' };
    await expectAnswer(
      await app.request(`http://shop.example/ops${EVENT}/rerun`, { method: 'POST', headers, body }),
      403,
      'reload the page and submit the form again',
    );
    expect(await stateOf(inbox, 'evt_1')).toBe('dead');
    expect((await auditLines(inbox)).lines).toEqual([]);
  });

  test('is good in every process that has the same secret, and for nobody else', async () => {
    const { inbox } = openedPage();
    const grace = { user: 'grace', password: 'of grace', role: 'operator' } as const;
    const processes = ['the same', 'the same', 'another'].map((secret) =>
      opsPage({ inbox }, { basic: [ADA, grace], secret }),
    );
    const [one, same, another] = processes;
    const token = async (page: typeof one, who: Parameters<typeof signedIn>[0]): Promise<string> =>
      tokenIn((await (await page?.request('/maintenance', { headers: signedIn(who) }))?.text()) ?? '');
    expect(await token(one, ADA)).toBe(await token(same, ADA));
    expect(await token(one, ADA)).not.toBe(await token(another, ADA));
    expect(await token(one, ADA)).not.toBe(await token(one, grace));
  });

  test('is worth nothing to a visitor who is somebody else by now', async () => {
    const { inbox } = openedPage();
    let name = 'ada';
    const page = opsPage({ inbox }, { authorize: () => ({ role: 'operator', name }) });
    const csrf = tokenIn(await (await page.request('/maintenance')).text());
    name = 'grace';
    const post = (): Response | Promise<Response> =>
      page.request('/bulks', {
        method: 'POST',
        headers: { origin: 'http://localhost' },
        body: new URLSearchParams({ csrf, act: 'rerun' }),
      });
    expect((await post()).status).toBe(403);
    name = 'ada';
    expect((await post()).status).toBe(303);
  });
});

describe('a form', () => {
  test.for([
    ['of another kind', 'application/json', '{"csrf":"x"}', 400],
    ['as text', 'text/plain', 'csrf=x', 400],
    ['that is broken', 'multipart/form-data; boundary=x', '--x\r\nContent', 400],
    ['without a type', '', '', 400],
    ['that is too large', 'application/x-www-form-urlencoded', `reason=${'x'.repeat(300_000)}`, 413],
  ] as const)('%s is refused', async ([, type, body, status]) => {
    const { app } = openedPage();
    const headers = { ...signedIn(ADA), origin: 'http://shop.example', ...(type !== '' && { 'content-type': type }) };
    await expectAnswer(
      await app.request('http://shop.example/ops/bulks', { method: 'POST', headers, body }),
      status,
      'hookbox',
    );
  });

  test('that is too large is refused as well when it does not say how large it is', async () => {
    const { app } = openedPage();
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(Buffer.alloc(65_536, 'x'));
      },
    });
    const headers = {
      ...signedIn(ADA),
      origin: 'http://shop.example',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    expect((await app.request('http://shop.example/ops/bulks', init)).status).toBe(413);
    expect(sent).toBeLessThan(2_000_000);
  });
});

describe('all that match', () => {
  test('are frozen at a preview, which does nothing, and rerun when it is run', async () => {
    const { inbox, post, html } = openedPage();
    await handled(
      inbox,
      FAILED,
      orderEvent('evt_1'),
      orderEvent('evt_2'),
      orderEvent('evt_3', { type: 'order.ready' }),
    );
    const preview = await post('/bulks', { act: 'rerun', type: 'order.created', state: 'dead', reason: 'shop is up' });
    expect([preview.status, leadsTo(preview)]).toEqual([303, '/bulks/1']);
    expect(textOf(await html('/bulks/1'))).toContain(
      'Will rerun 2 events: 2 order.created; all dead (failed). Nothing has happened yet.',
    );
    expect(await stateOf(inbox, 'evt_1')).toBe('dead');
    await handled(inbox, FAILED, orderEvent('evt_4'));

    const run = await post('/bulks/1/run', { rate: '1000', reason: 'now' });
    expect(leadsTo(run)).toBe('/bulks/1?done=running');
    await eventually(async () => expect((await getBulk(inbox, 1))?.state).toBe('done'));
    const after = await html(leadsTo(run) ?? '');
    expect(after).not.toContain('has begun');
    expect(textIn(after, 'sentence')).toMatch(/^Reran 2 events/);
    expect(textIn(after, 'outcome')).toContain('2 are waiting to be handled');
    expect(await Promise.all(['evt_1', 'evt_2', 'evt_3', 'evt_4'].map((id) => stateOf(inbox, id)))).toEqual([
      'pending',
      'pending',
      'dead',
      'dead',
    ]);
    expect((await auditLines(inbox)).lines).toMatchObject([
      { act: 'rerun', actor: 'ada', via: 'page', reason: 'now', counts: { done: 2 } },
    ]);
    expect(leadsTo(await post('/bulks/1/run'))).toBe('/bulks/1');
  });

  test('are taken by the group of dead events, by the forms of that screen', async () => {
    const { inbox, post, html } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2'));
    const fields = tagsOf(partOf(await html('/dead'), 'groups')).filter(({ name }) => name === 'input');
    const fingerprint =
      fields.find(({ attributes }) => attributes['name'] === 'fingerprint')?.attributes['value'] ?? '';
    expect(leadsTo(await post('/bulks', { act: 'discard', fingerprint }))).toBe('/bulks/1');
    expect((await getBulk(inbox, 1))?.total).toBe(2);
  });

  test('are cancelled', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    await post('/bulks', { act: 'rerun' });
    expect(leadsTo(await post('/bulks/1/cancel'))).toBe('/bulks/1?done=cancelled');
    expect((await getBulk(inbox, 1))?.state).toBe('cancelled');
    expect(leadsTo(await post('/bulks/1/run'))).toBe('/bulks/1');
    expect(await stateOf(inbox, 'evt_1')).toBe('dead');
  });

  test.for([
    [{ act: 'erase' }, 'The action must be one of: rerun, discard, retry-now.'],
    [{}, 'The action must be one of: rerun, discard, retry-now.'],
    // Half a filter would find more than was meant.
    [{ act: 'rerun', states: 'dead' }, 'Unknown filter field "states"'],
    [{ act: 'rerun', since: 'soon' }, 'since must be a time'],
    [{ act: 'rerun', state: 'undead' }, 'not "undead"'],
    [{ act: 'rerun', body: 'data[=x' }, 'data['],
    [{ act: 'rerun', body: 'data.secret=x' }, 'data.secret is masked'],
  ] as const)('are none for %j', async ([fields, said]) => {
    const { inbox, post } = openedPage({ mask: ['data.secret'] });
    await expectAnswer(await post('/bulks', fields), 400, said);
    expect(await getBulk(inbox, 1)).toBeNull();
  });

  test.for(['0', '-1', '1.5', 'fast', '1e9', '100001'])('are not run at the rate of %s', async (rate) => {
    const { inbox, post } = openedPage();
    await previewBulk(inbox, 'rerun', {}, { actor: 'ada' });
    expect((await post('/bulks/1/run', { rate })).status).toBe(400);
    expect((await getBulk(inbox, 1))?.state).toBe('previewed');
  });

  test.for(['/bulks/7/run', '/bulks/7/cancel', '/bulks/x/run', '/bulks/-1/run', '/bulks/1e3/run'])(
    '%s leads nowhere',
    async (path) => {
      const { post } = openedPage();
      expect((await post(path)).status).toBe(404);
    },
  );

  test('that somebody runs are not run once more', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, FAILED, ...['evt_1', 'evt_2', 'evt_3'].map((id) => orderEvent(id)));
    await post('/bulks', { act: 'rerun' });
    await operationsOf(inbox).advanceBulk(1, 1, GRACE, {});
    const advance = vi.spyOn(operationsOf(inbox), 'advanceBulk');
    expect(leadsTo(await post('/bulks/1/run', { rate: '1000' }))).toBe('/bulks/1?done=running');
    expect(advance).not.toHaveBeenCalled();
    await operationsOf(inbox).reportBulk(1, true);
    await post('/bulks/1/run', { rate: '1000' });
    await eventually(async () => expect((await getBulk(inbox, 1))?.state).toBe('done'));
  });

  test('that are paused resume at once at the new rate, although their run sleeps until its next batch', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, FAILED, ...Array.from({ length: 100 }, (_, n) => orderEvent(`evt_${n}`)));
    await post('/bulks', { act: 'rerun' });
    await post('/bulks/1/run', { rate: '1' });
    await eventually(async () => expect((await getBulk(inbox, 1))?.worked).toBe(1));
    await post('/bulks/1/pause');
    await post('/bulks/1/run', { rate: '900' });
    await eventually(async () => expect(await getBulk(inbox, 1)).toMatchObject({ state: 'done', ratePerSecond: 900 }));
    expect((await auditLines(inbox)).lines.map(({ act }) => act)).toEqual(['resume', 'pause', 'rerun']);
  });

  test('go on when the inbox fails in between, for whoever resumes them', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, FAILED, orderEvent('evt_1'));
    await post('/bulks', { act: 'rerun' });
    const advance = vi.spyOn(inbox.operations as Operations, 'advanceBulk').mockRejectedValue(new Error('disk full'));
    expect((await post('/bulks/1/run')).status).toBe(303);
    await eventually(() => expect(advance).toHaveBeenCalled());
    advance.mockRestore();
    await eventually(async () => {
      await post('/bulks/1/run');
      expect((await getBulk(inbox, 1))?.state).toBe('done');
    });
  });
});

describe('pruning', () => {
  const FIELDS = { olderThanDays: '0', states: ['processed'] };

  test('says first how many events it takes, and takes them when the count comes back', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'), orderEvent('evt_2'));
    const preview = await post('/maintenance/prune', FIELDS);
    const text = await preview.text();
    expect([preview.status, textIn(text, 'preview')]).toEqual([200, expect.stringContaining('Would prune 2 events')]);
    expect(await bodyOf(inbox, 'evt_1')).not.toBeNull();

    const answer = await post('/maintenance/prune', { ...FIELDS, confirm: '2', typed: '2', reason: 'old' });
    expect(leadsTo(answer)).toBe('/maintenance?done=events-pruned&figures=2');
    expect(await bodyOf(inbox, 'evt_1')).toBeNull();
    expect((await auditLines(inbox)).lines).toMatchObject([
      { act: 'prune', actor: 'ada', reason: 'old', counts: { pruned: 2 } },
    ]);
  });

  test('takes what was shown, and not what was settled since', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'), orderEvent('evt_2'));
    const preview = partOf(await (await post('/maintenance/prune', FIELDS)).text(), 'preview');
    const hidden = tagsOf(preview).filter(({ attributes }) => attributes['type'] === 'hidden');
    const fields = Object.fromEntries(hidden.map(({ attributes: { name = '', value = '' } }) => [name, value]));
    await store(inbox, orderEvent('evt_3'));
    const claimed = await inbox.claimOne(orderEvent('evt_3'), { ...ANY, now: Date.now() });
    if (typeof claimed === 'string') throw new Error(claimed);
    await inbox.settle(claimed.lease, { outcome: 'processed' }, Date.now() + 1);
    expect(leadsTo(await post('/maintenance/prune', { ...fields, typed: '2' }))).toBe(
      '/maintenance?done=events-pruned&figures=2',
    );
    expect(await bodyOf(inbox, 'evt_3')).not.toBeNull();
    const broken = await post('/maintenance/prune', { ...fields, settledBefore: 'soon' });
    expect(await partIn(broken, 'problem')).toContain('does not contain a valid time');
  });

  test('takes only the endpoint that is given', async () => {
    const { inbox, post } = openedPage();
    const other = { ...orderEvent('evt_2'), endpoint: 'shop-b' };
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'), other);
    expect(
      leadsTo(await post('/maintenance/prune', { ...FIELDS, endpoint: 'shop-b', confirm: '1', typed: '1' })),
    ).toContain('figures=1');
    expect(await bodyOf(inbox, 'evt_1')).not.toBeNull();
  });

  test('asks again when it would be more than were confirmed', async () => {
    const { inbox, post } = openedPage();
    vi.spyOn(inbox.operations as Operations, 'prunable').mockResolvedValue(5_000);
    const prune = vi.spyOn(inbox.operations as Operations, 'pruneSome');
    for (const confirm of ['4999', '', '-5', '5000x', '1e9']) {
      const answer = await post('/maintenance/prune', { ...FIELDS, confirm, typed: confirm });
      expect([confirm, await partIn(answer, 'preview')]).toEqual([
        confirm,
        expect.stringContaining('Would prune 5,000 events'),
      ]);
    }
    for (const typed of ['', '500', '5000 events', '4999']) {
      const answer = await post('/maintenance/prune', { ...FIELDS, confirm: '5000', typed, reason: 'old "ones"' });
      const preview = partOf(await answer.text(), 'preview');
      expect(textOf(preview)).toContain('The number that you typed is wrong. Nothing was done.');
      expect(tagsOf(preview).find(({ attributes }) => attributes['name'] === 'reason')?.attributes['value']).toBe(
        'old "ones"',
      );
    }
    expect(prune).not.toHaveBeenCalled();
    await post('/maintenance/prune', { ...FIELDS, confirm: '5000', typed: '5,000' });
    expect(prune).toHaveBeenCalled();
  });

  test.for([
    [{ olderThanDays: '', states: ['processed'] }, 'The number of days must be'],
    [{ olderThanDays: '-1', states: ['processed'] }, 'The number of days must be'],
    [{ olderThanDays: '1e3', states: ['processed'] }, 'The number of days must be'],
    [{ olderThanDays: '30' }, 'Select at least one state'],
    [{ olderThanDays: '30', states: ['pending'] }, 'Select at least one state'],
  ] as const)('is not done for %j', async ([fields, said]) => {
    const { post } = openedPage();
    const answer = await post('/maintenance/prune', { ...fields, confirm: '9' });
    expect(await partIn(answer, 'problem')).toContain(said);
  });

  test('takes only the types that are given', async () => {
    const { inbox, post } = openedPage();
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_1'), orderEvent('evt_2', { type: 'order.ready' }));
    const answer = await post('/maintenance/prune', {
      ...FIELDS,
      types: ['order.ready', '', ' '],
      confirm: '1',
      typed: '1',
    });
    expect(leadsTo(answer)).toContain('figures=1');
    expect(await bodyOf(inbox, 'evt_1')).not.toBeNull();
  });
});

describe('erasing', () => {
  test('says first how many events it takes, and takes them when the count comes back', async () => {
    const { inbox, post } = openedPage();
    await store(inbox, orderEvent('evt_1', { order: 'ord_1' }), orderEvent('evt_2', { order: 'ord_2' }));
    const preview = await post('/maintenance/erase', { entity: ' ord_1 ' });
    expect(await partIn(preview, 'preview')).toContain('Would erase 1 event about ord_1');
    expect(await stateOf(inbox, 'evt_1')).toBe('pending');
    expect(leadsTo(await post('/maintenance/erase', { entity: 'ord_1', confirm: '1', typed: ' ord_1 ' }))).toBe(
      '/maintenance?done=erased&figures=1.0.0',
    );
    expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({ body: null, entity: null });
    expect(await stateOf(inbox, 'evt_2')).toBe('pending');
  });

  test('asks again when there are more by now, and for what', async () => {
    const { inbox, post } = openedPage();
    await store(inbox, orderEvent('evt_1', { order: 'ord_1' }), orderEvent('evt_2', { order: 'ord_1' }));
    const again = await post('/maintenance/erase', { entity: 'ord_1', confirm: '1', typed: 'ord_1' });
    expect(await partIn(again, 'preview')).toContain('Would erase 2 events');
    for (const typed of ['', '2', 'ord_10']) {
      const other = await post('/maintenance/erase', { entity: 'ord_1', confirm: '2', typed });
      expect(await partIn(other, 'preview')).toContain('The name that you typed does not match. Nothing was done.');
    }
    const empty = await post('/maintenance/erase', { entity: '  ', confirm: '1' });
    expect(await partIn(empty, 'problem')).toContain('Enter what to erase');
    expect(await stateOf(inbox, 'evt_1')).toBe('pending');
  });
});

describe('copies', () => {
  function upload(text: string): FormData {
    const form = new FormData();
    form.set('file', new File([text], 'export.ndjson'));
    form.set('reason', 'moving');
    return form;
  }

  test('what is exported here is imported there', async () => {
    const here = openedPage();
    await handled(here.inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2', { type: 'order.ready' }));
    const answer = await here.get('/maintenance/export?type=order.ready');
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="hookbox-export-[\dTZ-]+\.ndjson"$/,
    );
    const text = await answer.text();
    expect((await auditLines(here.inbox)).lines).toMatchObject([{ act: 'export', actor: 'ada', via: 'page' }]);

    const there = openedPage();
    expect(leadsTo(await there.post('/maintenance/import', upload(text)))).toBe(
      '/maintenance?done=imported&figures=1.0.0',
    );
    expect(leadsTo(await there.post('/maintenance/import', upload(text.replaceAll('\n', '\r\n'))))).toBe(
      '/maintenance?done=imported&figures=0.1.0',
    );
    expect(await stateOf(there.inbox, 'evt_2')).toBe('dead');
    expect(await stateOf(there.inbox, 'evt_1')).toBeUndefined();
    expect((await auditLines(there.inbox)).lines[0]).toMatchObject({ act: 'import', actor: 'ada', reason: 'moving' });
  });

  test('an export is none of everything when a field is misspelt', async () => {
    const { inbox, get } = openedPage();
    await expectAnswer(await get('/maintenance/export?states=dead'), 400, 'Unknown filter field "states"');
    expect((await auditLines(inbox)).lines).toEqual([]);
  });

  test('an export ends with the client who asked for it', async () => {
    const { inbox, get } = openedPage();
    for (let n = 0; n < 40; n += 1) await store(inbox, orderEvent(`evt_${n}`));
    const answer = await get('/maintenance/export');
    const reader = answer.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const lines: string[] = [];
    for await (const line of exportEvents(inbox, { actor: 'test' })) lines.push(line);
    expect(lines.length).toBeGreaterThan(40);
  });

  test.for([
    ['nothing', new FormData(), 'Select an export file'],
    ['an empty file', upload(''), 'Select an export file'],
    ['what is no export', upload('{"secret":"s3cret"}\n'), 'line 1'],
    [
      'a text in the place of a file',
      (() => {
        const form = new FormData();
        form.set('file', 'text');
        return form;
      })(),
      'Select an export file',
    ],
  ] as const)('an import of %s says what is wrong, and not what stands there', async ([, form, said]) => {
    const { post } = openedPage();
    const text = await (await post('/maintenance/import', form)).text();
    expect(textIn(text, 'problem').toLowerCase()).toContain(said.toLowerCase());
    expect(text).not.toContain('s3cret');
  });

  test('a backup is a whole inbox, and leaves nothing behind', async () => {
    const backupFolder = scratchFolder();
    const { inbox, post } = openedPage({ backupFolder });
    await handled(inbox, FAILED, orderEvent('evt_1'));
    const answer = await post('/maintenance/backup');
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="hookbox-backup-[\dTZ-]+\.db"$/);
    const file = join(scratchFolder(), 'restored.db');
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    await using restored = sqliteInbox(file);
    expect(await stateOf(restored, 'evt_1')).toBe('dead');
    expect((await auditLines(inbox)).lines).toMatchObject([{ act: 'backup', actor: 'ada' }]);

    const removed = () => eventually(() => expect(readdirSync(backupFolder)).toEqual([]));
    await removed();
    const left = await post('/maintenance/backup');
    await left.body?.cancel();
    await removed();
    vi.spyOn(inbox.operations as Operations, 'backup').mockRejectedValue(new Error('disk full'));
    for (let again = 0; again < 2; again += 1) {
      await eventually(async () => expect((await post('/maintenance/backup')).status).toBe(500));
    }
    await removed();
  });

  test('a backup is one at a time, until it is downloaded', async () => {
    const backupFolder = scratchFolder();
    const { post, inbox } = openedPage({ backupFolder });
    // More than what a stream reads ahead.
    for (let n = 0; n < 20; n += 1)
      await inbox.accept(incoming({ id: `evt_${n}`, body: randomBytes(50_000) }), later());
    const first = await post('/maintenance/backup');
    const second = await post('/maintenance/backup');
    expect([first.status, second.status, textOf(await second.text())]).toEqual([
      200,
      409,
      expect.stringContaining('Another backup is running.'),
    ]);
    expect(readdirSync(backupFolder).length).toBe(1);
    await first.arrayBuffer();
    await eventually(async () => {
      const third = await post('/maintenance/backup');
      await third.body?.cancel();
      expect(third.status).toBe(200);
    });
  });

  test('a backup is none where there is no room for a copy', async () => {
    const backupFolder = scratchFolder();
    const { post, inbox } = openedPage({ backupFolder });
    const large = vi.spyOn(inbox.operations as Operations, 'bytes').mockResolvedValue(2 ** 60);
    await expectAnswer(await post('/maintenance/backup'), 507, 'A backup needs up to');
    expect(readdirSync(backupFolder)).toEqual([]);
    expect((await auditLines(inbox)).lines).toEqual([]);
    large.mockRestore();
    const small = await post('/maintenance/backup');
    await small.body?.cancel();
    expect(small.status).toBe(200);
  });

  test('a backup removes what a process that was killed has left, and nothing else', async () => {
    const backupFolder = scratchFolder();
    const { post } = openedPage({ backupFolder });
    const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
    for (const name of ['hookbox-backup-old', 'hookbox-backup-new', 'old']) {
      mkdirSync(join(backupFolder, name));
      writeFileSync(join(backupFolder, name, 'inbox.db'), 'a copy');
      if (name !== 'hookbox-backup-new') utimesSync(join(backupFolder, name), twoDaysAgo, twoDaysAgo);
    }
    await (await post('/maintenance/backup')).arrayBuffer();
    await eventually(() => expect(readdirSync(backupFolder).toSorted()).toEqual(['hookbox-backup-new', 'old']));
  });

  test('are not handed out by a page that masks fields', async () => {
    const { get, post } = openedPage({ mask: ['data.email'] });
    for (const answer of [await get('/maintenance/export'), await post('/maintenance/backup')]) {
      await expectAnswer(answer, 403, 'This page masks fields');
    }
  });

  test('are not begun by a link on another site', async () => {
    const { get, inbox } = openedPage();
    const headers = {
      ...signedIn(ADA),
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect((await get('/events', headers)).status).toBe(200);
    expect((await get('/maintenance/export', headers)).status).toBe(403);
    expect((await auditLines(inbox)).lines).toEqual([]);
  });
});
