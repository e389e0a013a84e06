/** An act on one thing is done only if that thing is still as the page showed it. */
import { expect, test } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { fingerprintOf } from '../../../src/inbox/rules/error-groups.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import {
  acknowledgeGroup,
  cancelBulk,
  deadGroups,
  discardEvents,
  listBulks,
  pauseBulk,
  pausedTypes,
  pauseType,
  previewBulk,
  reopenGroup,
  rerunEvents,
  resumeType,
  retryEventsNow,
} from '../../../src/ops/index.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { failure, FAILED, handleAgain, handled } from '../events-in-states.ts';
import { expectAnswer, openedPage } from './opened-page.ts';
import { inputsIn } from './read-html.ts';

const EVENT = '/events/default/evt_1';
const KEY = { endpoint: 'default', id: 'evt_1' };
const GRACE = { actor: 'grace', reason: 'a reason of grace' };
const LONG_AGO = { ...GRACE, now: Date.now() - 3_600_000 };
const GROUP = fingerprintOf(failure);
const LATER: Settlement = { outcome: 'retry', error: failure, dueAt: Date.now() + 3_600_000 };

const dies = (inbox: Inbox, ...ids: readonly string[]) =>
  handled(inbox, FAILED, ...(ids.length === 0 ? ['evt_1'] : ids).map((id) => orderEvent(id)));
const waits = (inbox: Inbox) => handled(inbox, LATER, orderEvent('evt_1'));
const isRerun = (inbox: Inbox) => rerunEvents(inbox, [KEY], GRACE);
const diesAgain = (inbox: Inbox) => handleAgain(inbox, FAILED, orderEvent('evt_1'));
const isPaused = (inbox: Inbox, by: typeof GRACE = GRACE) => pauseType(inbox, 'order.created', by);
const isAcknowledged = (inbox: Inbox, by: typeof GRACE = GRACE) => acknowledgeGroup(inbox, GROUP, by);

async function isPreviewed(inbox: Inbox): Promise<void> {
  await dies(inbox, 'evt_1', 'evt_2', 'evt_3');
  await previewBulk(inbox, 'rerun', {}, GRACE);
}
const runs = (inbox: Inbox) => operationsOf(inbox).advanceBulk(1, 1, GRACE, {});
const inTurn =
  (...steps: readonly ((inbox: Inbox) => Promise<unknown>)[]) =>
  async (inbox: Inbox): Promise<void> => {
    for (const step of steps) await step(inbox);
  };

type Step = (inbox: Inbox) => Promise<unknown>;

test.for<[act: string, screen: string, before: Step, change: Step, said: string]>([
  [`${EVENT}/rerun`, EVENT, dies, (inbox) => discardEvents(inbox, [KEY], GRACE), 'changed from dead to discarded'],
  [
    `${EVENT}/rerun`,
    EVENT,
    inTurn(dies, (inbox) => discardEvents(inbox, [KEY], GRACE)),
    inTurn(isRerun, (inbox) => handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_1'))),
    'changed from discarded to processed',
  ],
  [`${EVENT}/retry-now`, EVENT, waits, diesAgain, 'changed from pending to dead'],
  [`${EVENT}/retry-now`, EVENT, waits, (inbox) => retryEventsNow(inbox, [KEY], GRACE), 'The event became due'],
  [`${EVENT}/discard`, EVENT, dies, isRerun, 'changed from dead to pending'],
  [`${EVENT}/discard`, EVENT, dies, inTurn(isRerun, diesAgain), 'was handled again'],
  [`${EVENT}/discard`, EVENT, dies, inTurn(isRerun, diesAgain), 'and is dead after 2 attempts'],
  ['/paused/pause', EVENT, dies, isPaused, 'order.created was paused by grace at'],
  [
    '/paused/resume',
    '/paused',
    isPaused,
    (inbox) => resumeType(inbox, 'order.created', GRACE),
    'The type was resumed after you opened the page.',
  ],
  [
    '/paused/resume',
    '/paused',
    (inbox) => isPaused(inbox, LONG_AGO),
    inTurn((inbox) => resumeType(inbox, 'order.created', GRACE), isPaused),
    'The type was paused again: order.created was paused by grace',
  ],
  ['/bulks/1/pause', '/bulks/1', inTurn(isPreviewed, runs), (inbox) => pauseBulk(inbox, 1, GRACE), 'it is paused now'],
  ['/bulks/1/cancel', '/bulks/1', isPreviewed, runs, 'it is running now'],
  ['/bulks/1/cancel', '/bulks/1', inTurn(isPreviewed, runs), inTurn(runs, runs), 'it is done now'],
  ['/bulks/1/cancel', '/bulks/1', isPreviewed, (inbox) => cancelBulk(inbox, 1, GRACE), 'it is cancelled now'],
  ['/dead/acknowledge', '/dead', dies, (inbox) => dies(inbox, 'evt_2'), 'More events became dead'],
  ['/dead/acknowledge', '/dead', dies, isAcknowledged, 'grace acknowledged the group'],
  ['/dead/acknowledge', '/dead', dies, isRerun, 'The group has no dead events now.'],
  [
    '/dead/reopen',
    '/dead',
    inTurn(dies, isAcknowledged),
    (inbox) => reopenGroup(inbox, GROUP, GRACE),
    'Its acknowledgement was removed or replaced',
  ],
  [
    '/dead/reopen',
    '/dead',
    inTurn(dies, (inbox) => isAcknowledged(inbox, LONG_AGO)),
    isAcknowledged,
    'Its acknowledgement was removed or replaced',
  ],
])('%s of %s does nothing after a change, and says so', async ([act, screen, before, change, said]) => {
  const { inbox, html, post } = openedPage();
  await before(inbox);
  const [form = ''] = new RegExp(`<form[^>]* action="/ops${act}".*?</form>`, 's').exec(await html(screen)) ?? [];
  expect(form).not.toBe('');
  await change(inbox);
  const changed = await standing(inbox);
  await expectAnswer(await post(act, Object.fromEntries(inputsIn(form))), 409, said);
  expect(await standing(inbox)).toEqual(changed);
});

async function standing(inbox: Inbox): Promise<unknown> {
  const [events, pauses, bulks, groups] = await Promise.all([
    inbox.list(),
    pausedTypes(inbox),
    listBulks(inbox),
    deadGroups(inbox),
  ]);
  return [
    events.map(({ id, state }) => [id, state]),
    pauses,
    bulks.map(({ state }) => state),
    groups.map(({ open, acknowledged }) => [open, acknowledged]),
  ];
}
