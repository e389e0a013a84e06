import { expect, test } from 'vitest';
import { previewBulk, runBulk } from '../../../src/ops/bulks.ts';
import { pausedTypes, pauseType } from '../../../src/ops/pauses.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { failure, FAILED, handleAgain, handled, invalidThen } from '../events-in-states.ts';
import { openedPage, signedIn, VIC } from './opened-page.ts';
import { inputsIn, partOf, textOf, textIn } from './read-html.ts';

const ADA = { actor: 'ada', reason: 'the shop is up' };

const titleOf = (html: string) => /<title>([^<]*)<\/title>/.exec(html)?.[1];

test('a bulk action tells what became of its events, and leads to them', async () => {
  const { inbox, html } = openedPage();
  const ids = ['a', 'b', 'c'];
  await handled(inbox, FAILED, ...ids.map((id) => orderEvent(id)));
  await store(inbox, { ...invalidThen(orderEvent('wrong')), body: Buffer.from('{"id":"wrong"}') });
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  const preview = await html(`/bulks/${id}`);
  expect(preview).not.toContain('id="outcome"');
  expect(textIn(preview, 'sentence')).toContain(
    'The 1 invalid event is parsed again with the current schemas; an event that still does not fit them stays dead (invalid).',
  );
  await runBulk(inbox, id, ADA);
  await handleAgain(inbox, FAILED, orderEvent('a'), orderEvent('b'));
  await handleAgain(inbox, { outcome: 'processed' }, orderEvent('c'));

  const page = await html(`/bulks/${id}`);
  expect(textIn(page, 'sentence')).toMatch(/^Reran 3 of 4 events: /);
  expect(textIn(page, 'results')).toContain('1 still invalid under the current schemas');
  expect(textIn(page, 'outcome')).toContain('Of 3 events rerun, 1 is processed and 2 are dead again.');
  expect(titleOf(page)).toBe('(2 dead) Bulk rerun 1 · hookbox');
  const [, dead = ''] = /id="fate-dead"><a href="\/ops([^"]+)"/.exec(page) ?? [];
  const listed = await html(dead.replaceAll('&amp;', '&'));
  expect([...listed.matchAll(/href="\/ops\/events\/default\/(\w+)"/g)].map(([, found]) => found)).toEqual(
    expect.arrayContaining(['a', 'b']),
  );
  expect(listed).not.toContain('href="/ops/events/default/c"');

  const event = await html('/events/default/a');
  const timeline = partOf(event, 'timeline');
  expect(textOf(timeline)).toContain('rerun by ada in code as part of bulk action 1: the shop is up');
  expect(timeline).toContain('href="/ops/bulks/1"');
  expect(titleOf(event)).toBe('dead: a, order.created · hookbox');
  const overview = await html('');
  expect(titleOf(overview)).toBe('(3 dead) Overview · hookbox');
});

test('what is said of an invalid event before a rerun is true after it', async () => {
  const { inbox, post, says } = openedPage();
  await store(inbox, { ...invalidThen(orderEvent('evt_1')), body: Buffer.from('{"id":"evt_1"}') });
  const before = await says('/events/default/evt_1', 'rerun');
  expect(before).toContain('If not, the event stays dead (invalid).');
  const answer = await post('/events/default/evt_1/rerun');
  expect(answer.headers.get('location')).toContain('still-invalid');
  expect(await says('/events/default/evt_1', 'main')).toContain('dead (invalid)');
});

test('a pause where no processor is says which endpoints they name, and the form offers them', async () => {
  const { inbox, html, says } = openedPage();
  await pauseType(inbox, 'order.created', ADA);
  expect(await says('/paused', 'pauses')).not.toMatch(/No (?:running )?processor/);
  await inbox.announce({ endpoints: ['live'], types: ['*'] }, START, null);
  const page = await html('/paused');
  expect(textIn(page, 'pauses')).toContain(
    'No running processor handles events of the endpoint default. Running processors handle live.',
  );
  expect(inputsIn(partOf(page, 'pause'))).toContainEqual(['endpoint', 'live']);
});

test('a type is paused and resumed with a reason, seen on the overview and by its events', async () => {
  const { inbox, html, post, get, says } = openedPage();
  await store(inbox, orderEvent('evt_1'));
  const paused = await post('/paused/pause', {
    type: 'order.created',
    endpoint: 'default',
    reason: 'the till is down',
  });
  expect(paused.status).toBe(303);
  const screen = textOf(await html('/paused?done=paused'));
  expect(screen).toContain('The type is paused. Its events are stored and wait until you resume the type.');
  expect(screen).toContain('the till is down');
  const overview = await html('');
  expect(textIn(overview, 'headline')).toMatch(
    /^Paused: order\.created is paused by ada: the till is down 1 waiting since .* Resume…$/,
  );
  expect(await says('/events/default/evt_1', 'headline')).toContain('It is waiting; order.created was paused');
  const seen = await (await get('/paused', signedIn(VIC))).text();
  expect(seen).toContain('the till is down');
  expect(seen).not.toContain('method="post"');
  expect((await post('/paused/pause', { type: '' })).status).toBe(400);

  const asked = await post('/paused/pause', { type: 'order.craeted', endpoint: 'default', reason: 'a new type' });
  const doubt = partOf(await asked.text(), 'acts');
  expect(textOf(doubt)).toContain('Did you mean order.created? Nothing was done.');
  expect(await pausedTypes(inbox)).toHaveLength(1);
  const unseen = Object.fromEntries(inputsIn(doubt));
  expect(unseen).toMatchObject({ type: 'order.craeted', unseen: 'yes', reason: 'a new type' });
  expect((await post('/paused/pause', unseen)).status).toBe(303);
  expect((await post('/paused/resume', unseen)).status).toBe(303);

  const sent = inputsIn(partOf(await html('/paused'), 'pauses')).map(([name]) => name);
  expect(sent).toEqual(['csrf', 'type', 'endpoint', 'since', 'reason']);
  const resumed = await post('/paused/resume', {
    type: 'order.created',
    endpoint: 'default',
    reason: 'the till is back',
  });
  expect(resumed.headers.get('location')).toContain('done=resumed');
  expect(await says('/audit', 'audit')).toMatch(
    /resume ada on the page .*order\.created.* the till is back .*pause ada on the page .* the till is down$/,
  );
  expect(await says('/paused', 'none')).toBe('No types are paused.');
  expect(await html('')).not.toContain('id="paused"');
});

test('attempts that failed alike are folded, and each of them can be opened', async () => {
  const { inbox, html } = openedPage();
  await store(inbox, orderEvent('evt_1'));
  for (let n = 0; n < 5; n += 1) {
    const error = { ...failure, message: `timed out after ${5_000 + n} ms` };
    await handleAgain(inbox, { outcome: 'retry', error, dueAt: START }, orderEvent('evt_1'));
  }
  const timeline = partOf(await html('/events/default/evt_1'), 'timeline');
  expect(textOf(timeline)).toContain('attempts 1 to 5: failed 5 times with the same error, most recently');
  expect(timeline).toContain('<details id="each-from-1">');
  expect(textIn(timeline, 'each-from-1')).toContain('attempt 3: failed after 1 ms Error: timed out after 5002 ms');
  expect(textOf(timeline)).toContain('due, but the next attempt has not started yet');
  expect(textOf(timeline)).not.toContain('in -');
});

test('what is still to come is no entry of what has happened', async () => {
  const { inbox, html } = openedPage();
  await handled(inbox, { outcome: 'retry', error: failure, dueAt: Date.now() + 3_630_000 }, orderEvent('evt_1'));
  const page = await html('/events/default/evt_1');
  const [entry = ''] = /<li id="due-\d+" class="[^"]*".*?<\/li>/s.exec(page) ?? [];
  expect(entry).toContain('class="entry to-come"');
  expect(textOf(entry)).toMatch(/^the next attempt is due in 1 h \(20\S+ \S+ UTC\)$/);
});

test('other bytes under an id are shown as what differs, and masked values stay masked', async () => {
  const { inbox, says } = openedPage({ mask: ['data.total'] });
  await store(inbox, orderEvent('evt_1'), orderEvent('evt_1', { total: 7, createdAt: 1 }));
  const diff = await says('/events/default/evt_1', 'diff');
  expect(diff).toContain('The bodies differ in 2 places:');
  expect(diff).toContain('data.total "•••" "•••"');
  expect(diff).not.toContain('42.5');
});
