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
import { findStuck } from '../../../src/page/screens/stuck-events.ts';
import { troublesOf, type Seen, type Trouble } from '../../../src/page/screens/incidents.ts';
import { outageDay } from '../../browser/inboxes/outage-day.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
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
const unreported: TypeChange = { type: 'order.created', before: figures(2, 0), after: figures(9, 9) };

const dead = { dead: { count: 39, more: false }, groups: [deadGroup()] };
const release = { name: '2026.11.2', at: ago(20), before: '1 h', lately: null };
const deployed = { changes: { types: [broken, well, unreported], release } };

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
    told: ['more dead'],
  },
  {
    what: 'groups that an operator has acknowledged, beside an open one',
    seen: async () => ({ dead: dead.dead, groups: [deadGroup(), deadGroup({ open: false })] }),
    told: ['dead'],
  },
  {
    what: 'only groups that an operator has acknowledged',
    seen: async () => ({ dead: dead.dead, groups: [deadGroup({ open: false })] }),
    told: [],
  },
  {
    what: 'many groups',
    seen: async () => ({ dead: dead.dead, groups: Array.from({ length: 9 }, () => deadGroup()) }),
    told: ['dead', 'dead', 'dead', 'dead', 'more dead'],
  },
  {
    what: 'a release after which events died, before what is retried',
    seen: async () => ({
      changes: { types: [{ ...broken, after: { ...broken.after, dead: 1 } }], release },
      stuck: await stuckOf([{ failures: 1 }, later()]),
    }),
    told: ['release', 'retries'],
  },
  {
    what: 'what was ignored and could be rerun',
    seen: async () => ({ ignored: [{ ...pause, count: 3, more: false, handled: true }] }),
    told: ['ignored'],
  },
  { what: 'what a release has broken', seen: async () => deployed, told: ['release'] },
  {
    what: 'a type that does worse, since nothing that has a name',
    seen: async () => ({ changes: { types: [broken], release: null } }),
    told: [],
  },
  {
    what: 'a release that breaks nothing, or of which nobody can tell',
    seen: async () => ({ changes: { types: [well, unreported], release } }),
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
    told: ['blocked', 'retries', 'paused'],
  },
  {
    what: 'pauses for which nothing waits yet',
    seen: async () => ({ pauses: Array.from({ length: 5 }, () => ({ ...waitingPause, waiting: 0 })) }),
    told: ['paused', 'paused', 'paused', 'more paused'],
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
    ignored: [],
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
    'Paused: order.ready at shop-a is paused by grace: the till is <b> 40+ waiting since 03:50 Resume… ' +
      'Paused: order.created is paused by ada 1 waiting since 03:50 Resume… ' +
      'Paused: order.completed is paused by ada 0 waiting since 03:50 Resume…',
  );
  const links = tagsOf(headline).flatMap(({ attributes }) => attributes['href'] ?? []);
  expect(links.slice(0, 2)).toEqual(['/ops/events?endpoint=shop-a&type=order.ready&state=pending', '/ops/paused']);
});

it('says of a group how many died, and when the first and the last did', async () => {
  const html = await htmlOf(
    await overviewScreen(
      stubVisit({ deadGroups: async () => [deadGroup({ firstDeadAt: ago(3_000), lastDeadAt: ago(30) })] }),
    ),
  );
  expect(textIn(html, 'headline')).toBe(
    'Loss: TypeError: Cannot read properties of undefined The last 24 hours; at most 12 in an hour ' +
      '12 dead 12 Mar 01:59 – Show newest event: 14 Mar 03:29 Rerun…',
  );
  // The charts go back to the oldest incident.
  expect(textIn(html, 'tile-received')).toContain('in 7 d');
});

function row(minute: number, what: 'processed' | 'failed', count: number): CountRow {
  return { at: Math.floor(ago(minute).getTime() / 60_000) * 60_000, what, detail: 'order.shipped', count };
}

it('names the type that fails since the release, in the words of the comparison, whatever the charts show', async () => {
  const visit = stubVisit(
    {
      ...counting([row(50, 'processed', 198), row(50, 'failed', 2), row(5, 'processed', 31), row(5, 'failed', 19)]),
      marks: async () => [{ kind: 'release', name: '2026.11.2', endpoint: 'default', at: ago(20) }],
    },
    { path: '/?range=1h' },
  );
  const html = await htmlOf(await overviewScreen(visit));
  expect(textIn(html, 'headline')).toBe(
    'Retry: order.shipped: 38% of its runs have failed since release 2026.11.2; 1% failed in the 24 h before. ' +
      '19 failed since 03:39 Compare',
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
  expect(textIn(await htmlOf(await overviewScreen(visit)), 'headline')).toContain(
    `failed since release 2026.11.2; 1% failed in the 24 h before; ${lately}. `,
  );
});

it('after a day with an outage it says first of what most died, and how many', async () => {
  const inbox: Inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const now = new Date();
  await outageDay(inbox, { now: () => now.getTime() });
  const html = await htmlOf(await overviewScreen({ ...stubVisit(), operated: { inbox }, now }));
  expect(textIn(html, 'headline')).toMatch(
    /^Loss: Error: connect ECONNREFUSED 10\.0\.3\.14:5432 The last 24 hours; at most \d+ in an hour 150 dead .+ Rerun… Loss: TaxError: no tax rate for ord_day\d+/,
  );
});
