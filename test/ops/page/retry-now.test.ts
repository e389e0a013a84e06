import { describe, expect, test } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import { auditLines, getBulk, getEvent } from '../../../src/ops/index.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { FAILED, failure, handled } from '../events-in-states.ts';
import { leadsTo, openedPage, signedIn, VIC } from './opened-page.ts';
import { partOf, textOf, textIn } from './read-html.ts';

const EVENT = '/events/default/evt_1';

const inMinutes = (minutes: number): Settlement => ({
  outcome: 'retry',
  error: failure,
  dueAt: Date.now() + minutes * 60_000,
});

async function isDue(inbox: Inbox, id: string): Promise<boolean> {
  const dueAt = (await getEvent(inbox, { endpoint: 'default', id }))?.summary.dueAt;
  return (dueAt?.getTime() ?? Infinity) <= Date.now();
}

describe('one event that is tried again later', () => {
  test('is retried now, once somebody has said so, and the audit says who and why', async () => {
    const { inbox, html, post } = openedPage();
    await handled(inbox, inMinutes(60), orderEvent('evt_1'));
    const act = partOf(await html(EVENT), 'retry-now');
    expect(textOf(act)).toContain('Its failures still count.');
    expect(act).toContain('Retry this event now');
    expect(act).toContain(`<code>hookbox events retry-now evt_1`);
    const answer = await post(`${EVENT}/retry-now`, { reason: 'the warehouse is back' });
    expect([answer.status, leadsTo(answer)]).toEqual([303, `${EVENT}?done=retried-now`]);
    expect(await isDue(inbox, 'evt_1')).toBe(true);
    const after = await html(leadsTo(answer));
    expect(textIn(after, 'flash')).toContain('The event is due now.');
    expect(after).not.toContain('id="retry-now"');
    expect(leadsTo(await post(`${EVENT}/retry-now`))).toBe(`${EVENT}?done=not-needed`);
    expect((await auditLines(inbox)).lines).toMatchObject([
      { act: 'retry-now', counts: { 'not needed': 1 } },
      { act: 'retry-now', actor: 'ada', via: 'page', reason: 'the warehouse is back', counts: { done: 1 } },
    ]);
  });

  test.for([
    ['is due', inMinutes(-1)],
    ['is dead', FAILED],
    ['is processed', { outcome: 'processed' } as const],
  ] as const)('but not one that %s', async ([, settlement]) => {
    const { inbox, html } = openedPage();
    await handled(inbox, settlement, orderEvent('evt_1'));
    expect(await html(EVENT)).not.toContain('id="retry-now"');
  });

  test('is nothing that a viewer can act on', async () => {
    const { app, inbox, get } = openedPage();
    await handled(inbox, inMinutes(60), orderEvent('evt_1'));
    const page = await (await get(EVENT, signedIn(VIC))).text();
    expect(page).not.toContain(`action="/ops${EVENT}/retry-now"`);
    const headers = { ...signedIn(VIC), origin: 'http://shop.example' };
    const answer = await app.request(`http://shop.example/ops${EVENT}/retry-now`, { method: 'POST', headers });
    expect(answer.status).toBe(403);
    expect(await isDue(inbox, 'evt_1')).toBe(false);
  });
});

test('all that a filter finds are previewed, and run', async () => {
  const { inbox, html, post, says } = openedPage();
  await handled(inbox, inMinutes(60), orderEvent('evt_1'), orderEvent('evt_2'));
  await handled(inbox, inMinutes(-1), orderEvent('evt_due'));
  expect(await html('/events?retrying=yes')).toContain('Retry now: these 2 retrying events…');
  expect(await html('/events?state=pending')).toContain('Retry now: these 2 retrying events…');
  expect(await html('/events?state=dead')).not.toContain(' now…');
  expect(await html('/events')).not.toContain('Retry all');

  expect(leadsTo(await post('/bulks', { act: 'retry-now', retrying: 'yes' }))).toBe('/bulks/1');
  const preview = await html('/bulks/1');
  expect(textIn(preview, 'sentence')).toBe(
    'Will retry 2 events: 2 order.created; all pending. Nothing has happened yet.',
  );
  expect(partOf(preview, 'run')).toContain('Retry 2 events now');
  expect(textIn(preview, 'acts')).toContain('an event that fails its last attempt becomes dead');
  expect(await isDue(inbox, 'evt_1')).toBe(false);
  await post('/bulks/1/run', { rate: '500' });
  await expect.poll(async () => (await getBulk(inbox, 1))?.state).toBe('done');
  expect(await says('/bulks/1', 'outcome')).toContain('Of 2 events retried now, 2 are ');
  expect(await Promise.all(['evt_1', 'evt_2'].map((id) => isDue(inbox, id)))).toEqual([true, true]);
});

test('retries stand in groups below the dead, and a group is previewed with its error', async () => {
  const { inbox, html, post } = openedPage();
  expect(await html('/dead')).not.toContain('id="retries"');
  await handled(inbox, inMinutes(60), orderEvent('evt_1'), orderEvent('evt_2'));
  await handled(inbox, FAILED, orderEvent('evt_dead'));
  const page = await html('/dead');
  const retries = partOf(page, 'retries');
  expect(textOf(retries)).toContain('Error: the shop is down');
  expect(retries).not.toContain('evt_dead');
  const fingerprint = /name="fingerprint" value="(\w+)"/.exec(retries)?.[1] ?? '';
  const listed = partOf(await html(`/events?retrying=yes&fingerprint=${fingerprint}`), 'events');
  expect([listed.includes('evt_1'), listed.includes('evt_2'), listed.includes('evt_dead')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(leadsTo(await post('/bulks', { act: 'retry-now', retrying: 'yes', fingerprint }))).toBe('/bulks/1');
  const preview = await html('/bulks/1');
  expect(textIn(preview, 'sentence')).toContain('Will retry 2 events');
  expect(textIn(preview, 'facts')).toContain('their last error Error: the shop is down');
});
