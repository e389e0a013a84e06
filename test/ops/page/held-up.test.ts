import { expect, test } from 'vitest';
import { heldUp, lanesOf, heldUpInWords } from '../../../src/ops/pauses.ts';
import { pauseType, previewBulk, resumeType } from '../../../src/ops/index.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { FAILED, handled } from '../events-in-states.ts';
import { leadsTo, openedPage } from './opened-page.ts';

const ADA = { actor: 'ada', reason: 'the till is down' };
const NONE = 'No processor is running. The events wait until you start one.';

test('what is previewed says that no processor is running, that its type is paused, and that no processor handles it', async () => {
  const { inbox, post, says } = openedPage();
  await handled(inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2', { type: 'order.ready' }));
  const preview = leadsTo(await post('/bulks', { act: 'rerun' }));
  const said = async (): Promise<string> => await says(preview, 'acts');
  const ofOne = async (): Promise<string> => await says('/events/default/evt_1', 'rerun');
  expect(await said()).toContain(NONE);
  expect(await ofOne()).toContain(NONE);

  await pauseType(inbox, 'order.created', ADA);
  const running = { name: '1-a', startedAt: Date.now() };
  await inbox.announce({ endpoints: ['default'], types: ['order.created'] }, Date.now(), null, running);
  for (const text of [await said(), await ofOne()]) {
    expect(text).toMatch(
      /order\.created was paused by ada at .*: the till is down\. Its events wait until you resume the type\./,
    );
    expect(text).not.toContain(NONE);
  }
  const unhandled = 'No running processor handles order.ready: its events are waiting.';
  expect(await said()).toContain(unhandled);
  expect(await ofOne()).not.toContain('No running processor handles');

  await resumeType(inbox, 'order.created', ADA);
  await inbox.announce({ endpoints: '*', types: '*' }, Date.now(), null, { name: '2-b', startedAt: Date.now() });
  expect(await said()).not.toMatch(/paused|No running processor|No processor/);
  await inbox.leave('1-a');
  await inbox.leave('2-b');
  const discarding = leadsTo(await post('/bulks', { act: 'discard' }));
  expect(await says(discarding, 'acts')).not.toContain(NONE);
  expect(await says('/events/default/evt_1', 'discard')).not.toContain(NONE);
});

test('a processor of another endpoint takes nothing, nor does a pause there hold anything up', async () => {
  const { inbox } = openedPage();
  await handled(inbox, FAILED, orderEvent('evt_1'));
  await inbox.announce({ endpoints: ['live'], types: '*' }, Date.now(), null, { name: '1-a', startedAt: Date.now() });
  await pauseType(inbox, 'order.created', ADA, { endpoint: 'live' });
  const bulk = await previewBulk(inbox, 'rerun', {}, ADA);
  expect(heldUpInWords(await heldUp(inbox, lanesOf(bulk)))).toEqual([
    'No running processor handles order.created: its events are waiting.',
  ]);
  const anywhere = await heldUp(inbox, { ...lanesOf(bulk), endpoints: null });
  expect(anywhere).toMatchObject({ unhandled: [], paused: [{ endpoint: 'live' }] });
});
