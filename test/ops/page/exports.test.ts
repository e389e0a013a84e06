import { describe, expect, test } from 'vitest';
import { auditLines, deadGroups } from '../../../src/ops/index.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { failure, FAILED, handled, RETRY } from '../events-in-states.ts';
import { ADA, leadsTo, openedPage, signedIn, VIC, type OpenedPage, expectAnswer } from './opened-page.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';

async function deadIn({ inbox }: OpenedPage): Promise<{ readonly down: string; readonly tax: string }> {
  await handled(inbox, FAILED, orderEvent('evt_down1'), orderEvent('evt_down2'));
  const noTax = { ...failure, name: 'TaxError', message: 'no tax rate for ord_7' };
  await handled(inbox, { outcome: 'dead', reason: 'failed', error: noTax }, orderEvent('evt_tax'));
  await handled(inbox, RETRY, orderEvent('evt_retry'));
  await store(inbox, orderEvent('evt_new'));
  const groups = await deadGroups(inbox);
  const printOf = (name: string) => groups.find(({ sample }) => sample?.name === name)?.fingerprint ?? '';
  return { down: printOf('Error'), tax: printOf('TaxError') };
}

function linksOf(html: string, id: string): readonly string[] {
  return tagsOf(partOf(html, id)).flatMap(({ name, attributes }) =>
    name === 'a' ? (attributes['href'] ?? '').replace(/^\/ops/, '') : [],
  );
}

const idsIn = (text: string) => [...new Set(text.match(/evt_\w+/g))].sort();

async function idsOf(answers: readonly Response[]): Promise<readonly (readonly string[])[]> {
  const bytes = await Promise.all(answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())));
  const [exact, json, csv] = bytes.map(String);
  expect(answers.map((answer) => answer.headers.get('content-type'))).toEqual([
    'application/x-ndjson; charset=utf-8',
    'application/x-ndjson; charset=utf-8',
    'text/csv; charset=utf-8',
  ]);
  expect(csv?.startsWith('\ufeffreceived,endpoint,id')).toBe(true);
  return [exact ?? '', json ?? '', csv ?? ''].map(idsIn);
}

describe('Dead events are exported', () => {
  test('all of them, and each group, in each format', async () => {
    const page = openedPage();
    const { down, tax } = await deadIn(page);
    const screen = await page.html('/dead');
    for (const [menu, ids] of [
      ['export-all', ['evt_down1', 'evt_down2', 'evt_tax']],
      [`export-${down}`, ['evt_down1', 'evt_down2']],
      [`export-${tax}`, ['evt_tax']],
      [`export-retry-${down}`, ['evt_retry']],
    ] as const) {
      const answers = await Promise.all(linksOf(screen, menu).map((href) => page.get(href)));
      expect(await idsOf(answers), menu).toEqual([ids, ids, ids]);
    }
    expect((await auditLines(page.inbox)).lines).toHaveLength(12);
    expect(partOf(screen, `menu-${tax}`)).toContain('aria-label="Actions: TaxError: no tax rate for ord_7"');
  });

  test('the groups that are chosen, in one file that can be imported, with one line in the audit', async () => {
    const page = openedPage();
    const { down, tax } = await deadIn(page);
    const screen = await page.html('/dead');
    const boxes = tagsOf(screen).filter(({ attributes }) => attributes['type'] === 'checkbox');
    const form = tagsOf(screen).find(({ attributes }) => attributes['id'] === 'choice');
    expect(form?.attributes).toMatchObject({ action: '/ops/maintenance/export', method: 'post' });
    const chosen = boxes.filter(({ attributes }) => attributes['form'] === 'choice');
    expect(new Set(chosen.map(({ attributes }) => attributes['value']))).toEqual(new Set([down, tax]));

    const fields = { state: 'dead', fingerprint: [down, tax] };
    const answers = [
      await page.post('/maintenance/export', { ...fields, format: 'exact' }),
      await page.post('/maintenance/export', { ...fields, format: 'json' }),
      await page.post('/maintenance/export', { ...fields, format: 'csv' }),
    ];
    const exact = await answers[0]?.clone().text();
    const ids = ['evt_down1', 'evt_down2', 'evt_tax'];
    expect(await idsOf(answers)).toEqual([ids, ids, ids]);
    const { lines } = await auditLines(page.inbox);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({
      act: 'export',
      actor: 'ada',
      filter: { states: ['dead'], fingerprint: [down, tax] },
      counts: { events: 3 },
    });

    const audit = textIn(await page.html('/audit'), `audit-${lines[0]?.seq ?? 0}`);
    for (const said of ['Error: the shop is down', 'TaxError: no tax rate for ord_7']) expect(audit).toContain(said);

    const there = openedPage();
    const upload = new FormData();
    upload.set('file', new File([exact ?? ''], 'export.ndjson'));
    expect(leadsTo(await there.post('/maintenance/import', upload))).toBe('/maintenance?done=imported&figures=3.0.0');
  });

  test('not where nothing is chosen, where too much is, or for what cannot be read', async () => {
    const page = openedPage();
    await deadIn(page);
    const said = async (fields: Parameters<OpenedPage['post']>[1]) => {
      const answer = await page.post('/maintenance/export', fields);
      return [answer.status, textOf(await answer.text())];
    };
    const nothing = [400, expect.stringContaining('First select rows with their checkboxes. Nothing was exported.')];
    expect(await said({ state: 'dead' })).toEqual(nothing);
    expect(await said({ chosen: 'yes', format: 'csv' })).toEqual(nothing);
    expect(await said({ fingerprint: '', event: ' ', format: 'csv' })).toEqual(nothing);
    const many = Array.from({ length: 201 }, (_, n) => `print${n}`);
    expect(await said({ fingerprint: many })).toEqual([400, expect.stringContaining('at most 200 groups')]);
    expect(await said({ event: 'no key' })).toEqual([
      400,
      expect.stringContaining('event must be an endpoint and an id, such as default/evt_1, not "no key"'),
    ]);
    expect((await auditLines(page.inbox)).lines).toEqual([]);
  });

  test('by operators alone, and nowhere where something is masked', async () => {
    const page = openedPage();
    await deadIn(page);
    const seen = await (await page.get('/dead', signedIn(VIC))).text();
    expect(seen).not.toContain('Export');
    expect(seen).not.toContain('type="checkbox"');
    const headers = { ...signedIn(VIC), origin: 'http://shop.example' };
    const asked = { method: 'POST', headers, body: new FormData() };
    expect((await page.app.request('http://shop.example/ops/maintenance/export', asked)).status).toBe(403);

    const masking = openedPage({ mask: ['data.total'] });
    await deadIn(masking);
    expect(await masking.html('/dead')).not.toContain('maintenance/export');
    expect(await masking.html('/events')).not.toContain('maintenance/export');
    expect((await masking.post('/maintenance/export', { event: 'default/evt_tax' })).status).toBe(403);
  });
});

test('events that are chosen are exported in each format, and no others', async () => {
  const page = openedPage();
  await deadIn(page);
  const screen = await page.html('/events');
  const buttons = tagsOf(partOf(screen, 'export-chosen')).filter(({ name }) => name === 'button');
  expect(buttons.map(({ attributes }) => [attributes['name'], attributes['value']])).toEqual([
    ['format', 'exact'],
    ['format', 'json'],
    ['format', 'csv'],
  ]);
  expect(screen).toContain('<form method="post" action="/ops/bulks" aria-label="Actions on the selected events');
  const fields = { chosen: 'yes', event: ['default/evt_tax', 'default/evt_new'] };
  const answers = [];
  for (const format of ['exact', 'json', 'csv']) answers.push(await page.post('/bulks', { ...fields, format }));
  const ids = ['evt_new', 'evt_tax'];
  expect(await idsOf(answers)).toEqual([ids, ids, ids]);
  const form = new FormData();
  form.set('event', 'default/evt_tax');
  const without = await page.app.request('http://shop.example/ops/bulks', {
    method: 'POST',
    headers: { ...signedIn(ADA), origin: 'http://shop.example' },
    body: form,
  });
  await expectAnswer(without, 403, 'out of date');
});
