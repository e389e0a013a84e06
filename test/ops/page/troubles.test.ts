import { expect, it, onTestFinished, test } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import type { EventSummary } from '../../../src/inbox/operator/search.ts';
import type { Wait } from '../../../src/inbox/rules/waiting.ts';
import type { Pause } from '../../../src/inbox/operator/pauses.ts';
import type { EndpointType } from '../../../src/inbox/rules/pauses.ts';
import type { TypeChange } from '../../../src/ops/releases.ts';
import type { Warning } from '../../../src/ops/health.ts';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { findStuck, type Waiting } from '../../../src/page/screens/stuck-events.ts';
import { troublesOf, type Seen, type Trouble } from '../../../src/page/screens/overview-headline.tsx';
import { outageDay } from '../../browser/inboxes/outage-day.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { ANY, FAILED } from '../events-in-states.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';
import { ago, counting, deadGroup, htmlOf, NOW, stubVisit, summary } from './stub-visit.ts';

const nobody = { count: 0, more: false };
const behind = { count: 63, more: false };

async function stuckOf(...events: readonly Event[]): Promise<Seen['stuck']> {
  return stuckBeside([], ...events);
}

type Event = readonly [Partial<EventSummary>, Wait | null];

async function stuckBeside(told: readonly EndpointType[], ...events: readonly Event[]): Promise<Seen['stuck']> {
  const stored = events.map(([parts], n) => summary({ seq: n + 1, id: `evt_${n}`, entity: `order::${n}`, ...parts }));
  const { inbox } = stubVisit({
    search: async () => ({ events: stored, next: null, examined: stored.length }),
    waits: async (keys) => keys.map(({ id }) => events[stored.findIndex((event) => event.id === id)]?.[1] ?? null),
  }).operated;
  return findStuck(inbox, [], NOW, told);
}

const later = (waiting = nobody): Wait => ({ reason: 'later', dueAt: ago(-5), waiting });
const pause = { endpoint: 'default', type: 'order.created', actor: 'ada', reason: null, since: ago(9) };

const waitingPause: Pause = { ...pause, waiting: 3, more: false };
const isPaused: Wait = { reason: 'paused', pause };
const away: Wait = { reason: 'no processor', lastSeen: ago(99) };
const behindOf = (event: Partial<EventSummary>, paused: boolean): Wait => ({
  reason: 'behind',
  blocker: { event: summary(event), runningSince: null, paused, waiting: nobody },
});

const silent: Warning = { alarm: 'silent', endpoint: null, types: [], text: 'No delivery has arrived.' };
const refusing: Warning = { alarm: 'rejecting', endpoint: 'b', types: [], text: 'Every delivery was refused.' };
const figures = (ended: number, failed: number): TypeChange['after'] => ({
  ended,
  failed,
  dead: 0,
  failedPart: failed / ended,
  handlerMs: { count: 0, p50: null, p90: null, p99: null, max: null },
});
const broken: TypeChange = { type: 'order.shipped', before: figures(200, 2), after: figures(50, 19) };
const well: TypeChange = { type: 'order.ready', before: figures(200, 2), after: figures(50, 0) };
const untold: TypeChange = { type: 'order.created', before: figures(2, 0), after: figures(9, 9) };

const dead = { dead: { count: 39, more: false }, groups: [deadGroup()] };
const release = { name: '2026.11.2', at: ago(20), before: '1 h', lately: null };
const deployed = { changes: { types: [broken, well, untold], release } };

test.each<{ what: string; seen: () => Promise<Partial<Seen>>; told: readonly Trouble['what'][] }>([
  { what: 'nothing', seen: async () => ({}), told: [] },
  {
    what: 'a retry that failed once, before 39 dead events',
    seen: async () => ({ ...dead, stuck: await stuckOf([{ failures: 1 }, later()]) }),
    told: ['dead', 'retries'],
  },
  {
    what: 'everything at once',
    seen: async () => ({
      ...dead,
      ...deployed,
      warnings: [refusing, silent],
      stuck: await stuckOf([{ failures: 1 }, later()], [{ failures: 15 }, later(behind)]),
    }),
    told: ['dead', 'alarm', 'alarm', 'release', 'blocked', 'retries'],
  },
  { what: 'silence alone', seen: async () => ({ warnings: [silent] }), told: ['alarm'] },
  {
    what: 'silence, and something dead for long',
    seen: async () => ({ ...dead, warnings: [silent] }),
    told: ['dead', 'alarm'],
  },
  {
    what: 'dead events without a body, which are in no group',
    seen: async () => ({ dead: dead.dead }),
    told: ['dead'],
  },
  { what: 'what a release has broken', seen: async () => deployed, told: ['release'] },
  {
    what: 'a type that does worse, since nothing that has a name',
    seen: async () => ({ changes: { types: [broken], release: null } }),
    told: [],
  },
  {
    what: 'a release that breaks nothing, or of which nobody can tell',
    seen: async () => ({ changes: { types: [well, untold], release } }),
    told: [],
  },
  {
    what: 'what fails and has another behind it, as is seen without asking',
    seen: async () => ({ stuck: await stuckOf([{ failures: 1 }, later()], [{ entity: 'order::0' }, null]) }),
    told: ['blocked'],
  },
  { what: 'what was never tried', seen: async () => ({ stuck: await stuckOf([{}, later()]) }), told: ['blocked'] },
  {
    what: 'what has failed and is paused',
    seen: async () => ({ stuck: await stuckOf([{ failures: 1 }, { reason: 'paused', pause }]) }),
    told: ['blocked'],
  },
  {
    what: 'what has failed and no processor handles any more',
    seen: async () => ({ stuck: await stuckOf([{ failures: 1 }, { reason: 'no processor', lastSeen: ago(99) }]) }),
    told: ['blocked'],
  },
  {
    what: 'more retries than are asked what they wait for',
    seen: async () => ({
      stuck: await stuckOf(...Array.from({ length: 30 }, () => [{ failures: 1 }, later()] as const)),
    }),
    told: ['retries'],
  },
  {
    what: 'what is paused, be it tried or not, and what waits behind it, which is stuck for no other cause',
    seen: async () => ({
      pauses: [waitingPause],
      stuck: await stuckBeside(
        [pause],
        [{}, isPaused],
        [{ failures: 1 }, isPaused],
        [{ type: 'order.ready' }, behindOf({}, true)],
      ),
    }),
    told: ['paused'],
  },
  {
    what: 'more of a paused type than are asked what they wait for, beside one that is stuck and retries',
    seen: async () => ({
      pauses: [waitingPause],
      stuck: await stuckBeside(
        [pause],
        ...Array.from({ length: 40 }, () => [{ receivedAt: ago(99) }, isPaused] as const),
        [{ type: 'order.ready', failures: 1 }, later(behind)],
        [{ type: 'order.ready', failures: 1 }, later()],
      ),
    }),
    told: ['blocked', 'paused', 'retries'],
  },
  {
    what: 'a pause for which nothing waits yet',
    seen: async () => ({ pauses: [{ ...waitingPause, waiting: 0 }] }),
    told: [],
  },
  {
    what: 'what waits as nobody takes it, which a warning has said',
    seen: async () => ({
      warnings: [silent],
      stuck: await stuckBeside([pause], [{}, away], [{ type: 'order.ready' }, behindOf({}, false)]),
    }),
    told: ['alarm'],
  },
  {
    what: 'more of a paused type that have failed than are asked what they wait for',
    seen: async () => ({
      stuck: await stuckOf(
        ...Array.from({ length: 30 }, () => [{ failures: 1 }, { reason: 'paused', pause }] as const),
      ),
    }),
    told: ['blocked'],
  },
  {
    what: 'more that have failed and nobody takes any more, with others that are tried again before them',
    seen: async () => ({
      stuck: await stuckOf(
        ...Array.from({ length: 60 }, (_, n) => {
          return n < 30
            ? ([{ failures: 1, receivedAt: ago(99) }, later()] as const)
            : ([{ failures: 1, type: 'order.ready', receivedAt: ago(90) }, away] as const);
        }),
      ),
    }),
    told: ['blocked', 'retries'],
  },
])('the worst first: $what', async ({ seen, told }) => {
  const calm: Seen = {
    dead: nobody,
    groups: [],
    warnings: [],
    changes: { types: [], release: null },
    pauses: [],
    stuck: await stuckOf(),
  };
  expect(troublesOf({ ...calm, ...(await seen()) }).map(({ what }) => what)).toEqual(told);
});

it('names the one that holds up most, and of what goes on by itself another one', async () => {
  const { blocked, retries } = await stuckOf(
    [{ failures: 1, receivedAt: ago(90) }, later()],
    [{ receivedAt: ago(80) }, { reason: 'no processor', lastSeen: null }],
    [{ failures: 2 }, later({ count: 4, more: false })],
    [{ failures: 2 }, later(behind)],
  );
  expect(blocked.first?.event.id).toBe('evt_3');
  expect(blocked.waiting.map(({ oldest }) => oldest.id)).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect(retries.first?.event.id).toBe('evt_0');
});

it('asks what is stuck for another cause, however much has waited for longer', async () => {
  const { blocked } = await stuckBeside(
    [pause],
    ...Array.from({ length: 40 }, () => [{ receivedAt: ago(99) }, isPaused] as const),
    [{ type: 'order.ready' }, away],
  );
  expect(blocked.waiting.map(({ oldest }) => oldest.type)).toEqual(['order.ready']);
  expect(blocked.first?.wait).toEqual(away);
});

it('names a pause that events wait for, with who and why, and the most that wait first', async () => {
  const more = { endpoint: 'shop-a', type: 'order.ready', actor: 'grace', reason: 'the till is <b>', since: ago(9) };
  const pauses = [
    { ...waitingPause, waiting: 1 },
    { ...more, waiting: 40, more: true },
    { ...waitingPause, type: 'order.completed', waiting: 0 },
  ];
  const visit = stubVisit({ pausedTypes: async () => pauses });
  const html = await htmlOf(await overviewScreen(visit));
  const headline = partOf(html, 'headline');
  expect(textOf(headline)).toBe(
    '40+ events of order.ready at shop-a are waiting; the type has been paused since 03:50 UTC (9 min) by grace: the till is <b>. Resume ' +
      '1 event of order.created is waiting; the type has been paused since 03:50 UTC (9 min) by ada. Resume',
  );
  const links = tagsOf(headline).flatMap(({ attributes }) => attributes['href'] ?? []);
  expect(links.slice(0, 2)).toEqual(['/ops/events?endpoint=shop-a&type=order.ready&state=pending', '/ops/paused']);
  expect(textIn(html, 'paused')).toMatch(/^Paused order\.completed, paused since .* No events are waiting/);
});

it('says since when some are dead, whichever group they are in', () => {
  const groups = [200, 100, 300].map((minutes) =>
    deadGroup({ oldest: summary({ receivedAt: ago(400), settledAt: ago(minutes) }) }),
  );
  const changes = { types: [], release: null };
  const none = { waiting: [], first: null };
  const stuck = {
    waiting: [],
    causes: new Map(),
    reported: new Set<Waiting>(),
    blocked: none,
    retries: none,
    more: false,
  };
  const [told] = troublesOf({ ...dead, groups, warnings: [], changes, pauses: [], stuck });
  expect(told).toMatchObject({ since: ago(300) });
});

it('does not take the oldest for the first that died, as it may have been rerun', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date('2026-03-14T12:00:00Z');
  const events = [
    ['evt_rerun', 300, 60],
    ['evt_other', 299, 240],
    ['evt_young', 100, 90],
  ] as const;
  for (const [id, received, died] of events) {
    const at = (minutes: number) => now.getTime() - minutes * 60_000;
    await store(inbox, orderEvent(id, { receivedAt: at(received) }));
    const claimed = await inbox.claimOne(orderEvent(id), { ...ANY, now: at(died) - 1 });
    if (typeof claimed === 'string') throw new Error(claimed);
    await inbox.settle(claimed.lease, FAILED, at(died));
  }
  const html = await htmlOf(await overviewScreen({ ...stubVisit(), operated: { inbox }, now }));
  // One is dead since 08:00 that is neither the oldest nor the newest: what is said holds all the same.
  expect(textIn(html, 'headline')).toMatch(
    /^3 events are dead in 1 group, some since 10:30 UTC \(1 h 30 min\) 3, none received for 1 h 40 min: Error: the shop is down/,
  );
});

function row(minute: number, what: 'processed' | 'failed', count: number): CountRow {
  return { at: Math.floor(ago(minute).getTime() / 60_000) * 60_000, what, detail: 'order.shipped', count };
}

it('names the type that fails since the release, in the words of the comparison', async () => {
  const visit = stubVisit({
    ...counting([row(50, 'processed', 198), row(50, 'failed', 2), row(5, 'processed', 31), row(5, 'failed', 19)]),
    marks: async () => [{ kind: 'release', name: '2026.11.2', endpoint: 'default', at: ago(20) }],
  });
  const html = await htmlOf(await overviewScreen(visit));
  expect(textIn(html, 'headline')).toBe(
    'order.shipped: 38% of its runs have failed since release 2026.11.2 began 20 min ago, compared with 1% in the 1 h before. By type',
  );
  expect(textIn(html, 'verdict')).toMatch(/^Failed more often: order\.shipped \(38%, previously 1%\)/);
});

it.each([
  ['in the last hour, none failed', [row(200, 'failed', 19), row(30, 'processed', 50)]],
  ['in the last hour, no handler ran', [row(200, 'failed', 19)]],
  ['in the last hour, 2% failed', [row(200, 'failed', 19), row(30, 'processed', 49), row(30, 'failed', 1)]],
])('does not let what a release broke hours ago read as if it were so now: %s', async (lately, rows) => {
  const before = [row(400, 'processed', 198), row(400, 'failed', 2)];
  const visit = stubVisit(
    {
      ...counting([...before, row(200, 'processed', 11), ...rows]),
      marks: async () => [{ kind: 'release', name: '2026.11.2', endpoint: 'default', at: ago(300) }],
    },
    { path: '/?range=24h' },
  );
  expect(textIn(await htmlOf(await overviewScreen(visit)), 'headline')).toMatch(
    new RegExp(
      `^order\\.shipped: \\S+ of its runs have failed since release 2026\\.11\\.2 began 5 h ago, compared with 1% in the 24 h before; ${lately}\\. By type$`,
    ),
  );
});

it('after a day with an outage it says first how many are dead, of what, since when, and that no more came', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date();
  await outageDay(inbox, { now: () => now.getTime() });
  const html = await htmlOf(await overviewScreen({ ...stubVisit(), operated: { inbox }, now }));
  expect(textIn(html, 'headline')).toMatch(
    /^\d+ events are dead in 2 groups, some since .+ UTC \(\d+ h.*?\) \d+, some since .+ UTC \(.+?\), none received for 6 h \d+ min: Error: connect ECONNREFUSED 10\.0\.3\.14:5432 \d+, some since .+ TaxError: no tax rate for ord_day\d+/,
  );
});
