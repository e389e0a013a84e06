import { systemClock } from '../../../src/host/clock.ts';
import { acknowledgeGroup, deadGroups, pauseType, previewBulk, runBulk } from '../../../src/ops/index.ts';
import { hostileSite } from '../hostile-site.ts';
import { opsSite, type OpsSite } from '../ops-site.ts';
import { manyTypes, OWN_TYPES } from './many-types.ts';
import { BLOCKED_ORDER, outageDayAndMore } from './outage-day.ts';
import { HOUR, MINUTE, passTime, SECOND, type Sent } from './passed-time.ts';
import { silentShop } from './silent-shop.ts';

export interface NamedInbox {
  readonly site: OpsSite;
  /** Screens beside those that each inbox has. */
  readonly screens?: readonly string[];
}

const DAY = 24 * HOUR;
const BY = { actor: 'grace', reason: 'the mail provider is down until noon' };

/** The states in which operators find an inbox. */
export const NINE_INBOXES: Readonly<Record<string, () => Promise<NamedInbox>>> = {
  'an outage': () =>
    filled(
      async (site) => {
        await outageDayAndMore(site, systemClock);
        const [group] = await deadGroups(site.inbox);
        await acknowledgeGroup(site.inbox, group?.fingerprint ?? '', { actor: 'grace' });
      },
      `/events?entity=${BLOCKED_ORDER}`,
      '/events?since=nonsense',
      '/events/default/evt_day1377c',
      '/events/default/evt_day1377c?view=raw',
      '/events/default/evt_day1377c?view=hex',
    ),
  'sixty types': () =>
    filled(
      ({ inbox }) => manyTypes(inbox, Date.now()),
      `/events?type=${OWN_TYPES[1] ?? ''}`,
      '/events?state=pending',
      '/events?state=dead',
      '/events?endpoint=marketplace-eu-west',
    ),
  'hostile texts': async () => ({ site: await hostileSite() }),
  'a pause and a bulk action': () => filled(pauseAndBulk, '/bulks/1', '/bulks/2'),
  'a storm of retries': () => filled(retryStorm, '/events?state=pending&retrying=yes'),
  'nothing but rejections': () => filled(({ inbox }) => silentShop(inbox, systemClock, 'refused')),
  silence: () => filled(({ inbox }) => silentShop(inbox, systemClock)),
  'a calm day': () => filled(calmDay),
  'nothing yet': () => filled(async () => {}),
};

async function filled(fill: (site: OpsSite) => Promise<void>, ...screens: readonly string[]): Promise<NamedInbox> {
  await using opened = new AsyncDisposableStack();
  const site = opened.use(await opsSite({ handlers: {} }));
  await fill(site);
  const kept = opened.move();
  return { site: { ...site, [Symbol.asyncDispose]: () => kept.disposeAsync() }, screens };
}

function ordersBetween(from: number, until: number, everyMs: number): readonly Sent[] {
  return Array.from({ length: Math.floor((until - from) / everyMs) }, (_, n) => {
    return { at: from + n * everyMs, id: `evt_o${n}`, type: 'order.created', order: `ord_${10_000 + n}` };
  });
}

async function calmDay({ inbox }: OpsSite): Promise<void> {
  const now = Date.now();
  await passTime(inbox, ordersBetween(now - DAY, now - SECOND, 3 * MINUTE), HOUR, () => ({ outcome: 'processed' }));
  await inbox.announce({ endpoints: ['default'], types: '*' }, Date.now(), null);
}

/** Two hundred orders, each with events that wait behind one that fails. */
async function retryStorm({ inbox }: OpsSite): Promise<void> {
  const now = Date.now();
  const first = ordersBetween(now - HOUR, now - MINUTE, 18 * SECOND);
  const behind = first.map((sent) => ({ ...sent, id: `${sent.id}_ready`, type: 'order.ready', at: now - MINUTE / 2 }));
  const error = { name: 'ProviderError', message: 'POST https://carrier.example/labels answered 502', stack: null };
  await passTime(inbox, [...first, ...behind], 10 * MINUTE, (_, attempt) => {
    return { outcome: 'retry', error, dueAt: attempt < 3 ? 0 : now + attempt * 10 * MINUTE };
  });
  await inbox.announce({ endpoints: ['default'], types: '*' }, Date.now(), null);
}

async function pauseAndBulk({ inbox }: OpsSite): Promise<void> {
  const now = Date.now();
  const error = { name: 'Error', message: 'connect ECONNREFUSED 10.0.3.14:5432', stack: null };
  const sent = ordersBetween(now - 6 * HOUR, now - HOUR, 5 * MINUTE);
  await passTime(inbox, sent, HOUR, () => ({ outcome: 'dead', reason: 'failed', error }));
  const previewed = await previewBulk(inbox, 'rerun', { states: ['dead'], until: new Date(now - 5 * HOUR) }, BY);
  await runBulk(inbox, previewed.id, BY);
  await previewBulk(inbox, 'discard', { states: ['dead'] }, BY);
  await pauseType(inbox, 'order.created', BY);
  await passTime(
    inbox,
    ordersBetween(now - HOUR, now - SECOND, 2 * MINUTE).map((each) => ({ ...each, id: `${each.id}w` })),
    HOUR,
    () => null,
  );
}
