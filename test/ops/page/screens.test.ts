import { describe, expect, test } from 'vitest';
import type { WaitingEvent } from '../../../src/inbox/operator/gauges.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import type { Operations } from '../../../src/inbox/contract.ts';
import type { StoredBulk } from '../../../src/inbox/operator/acts.ts';
import type { PageRequest, EventSummary } from '../../../src/inbox/operator/search.ts';
import { auditScreen } from '../../../src/page/screens/audit-screen.tsx';
import { bulkScreen, bulksScreen } from '../../../src/page/screens/bulk-screen.tsx';
import { deadEventsScreen } from '../../../src/page/screens/dead-events-screen.tsx';
import { healthScreen } from '../../../src/page/screens/health-screen.tsx';
import { maintenanceScreen } from '../../../src/page/screens/maintenance-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { rejectedScreen } from '../../../src/page/screens/rejected-screen.tsx';
import { causeOfRejection } from '../../../src/ops/words/rejection-causes.ts';
import type { Screen } from '../../../src/page/visit.ts';
import { errorOutcome, type Reason } from '../../../src/receive/outcome.ts';
import { OPERATORS_LOOK } from '../../../src/page/shell.tsx';
import { partOf, tagsOf, textOf, textIn, hrefsIn } from './read-html.ts';
import { ago, bulkOf, counting, deadGroup, htmlOf, noGauges, NOW, stubVisit, summary } from './stub-visit.ts';

async function textOfPart(screen: Promise<Screen>, id: string): Promise<string> {
  return textIn(await htmlOf(await screen), id);
}

function formsOf(html: string): Map<string, Record<string, string>[]> {
  const forms = new Map<string, Record<string, string>[]>();
  let fields: Record<string, string> = {};
  for (const { name, attributes } of tagsOf(html)) {
    if (name === 'form') {
      fields = {};
      const to = attributes['action'] ?? '';
      forms.set(to, [...(forms.get(to) ?? []), fields]);
    }
    if (name === 'input') fields[attributes['name'] ?? ''] = attributes['value'] ?? '';
  }
  return forms;
}

function counted(minutesAgo: number, what: CountRow['what'], detail: string, count: number): CountRow {
  return { at: Math.floor(ago(minutesAgo).getTime() / 60_000) * 60_000, what, detail, count };
}

test.for([
  [
    'first-steps',
    'Waiting for the first event Start your receiver. Call receiver.start() in your application, and run it. ' +
      'Register its URL in the dashboard of the Commerce Ordering Service. Use the public URL of your webhook route. ' +
      'Give hookbox the signing secret that the dashboard shows. Send an event. Place an order, or send a signed test event. This page shows the event ' +
      'when it arrives. npx hookbox trigger order.created --to http://localhost:3000/webhooks Copy',
    overviewScreen,
  ],
  ['none', 'No event is dead. Dead events appear here, grouped by last error.', deadEventsScreen],
  ['rates', 'In the last 24 h No deliveries were rejected.', rejectedScreen],
  ['none', 'No rejected deliveries in this period.', rejectedScreen],
  [
    'none',
    'No bulk actions yet. Start one from a group on the Dead events screen, or from a filter on the Events screen.',
    bulksScreen,
  ],
  [
    'none',
    'No entries yet. The audit records each action of an operator, such as a rerun, a pause, a prune or an export.',
    auditScreen,
  ],
  ['ready', 'Ready: a test write just succeeded.', healthScreen],
] as const)('without anything in it, in #%s: %s', async ([id, said, screen]) => {
  expect(await textOfPart(screen(stubVisit()), id)).toBe(said);
});

describe('Overview', () => {
  test('names what is dead before what holds up others, and of that not what came first, with links', async () => {
    const waits = summary({ seq: 1, id: 'evt_1', receivedAt: ago(47) });
    const lastError = { name: 'TypeError', message: 'no vat' };
    const failing = summary({
      seq: 5,
      id: 'evt_5',
      receivedAt: ago(20),
      attempts: 15,
      failures: 15,
      dueAt: ago(-5),
      lastError,
    });
    const blocker = { event: failing, runningSince: null, waiting: { count: 63, more: false } };
    const visit = stubVisit({
      search: async () => ({
        events: [summary({ seq: 8, id: 'evt_8', entity: 'order:mer_7:ord_43', receivedAt: ago(2) }), failing, waits],
        next: null,
        examined: 3,
      }),
      waits: async (keys) =>
        keys.map(({ id }) =>
          id === 'evt_1' ? { reason: 'behind', blocker } : { reason: 'no processor', lastSeen: ago(120) },
        ),
      deadGroups: async () => [
        deadGroup(),
        deadGroup({ fingerprint: 'crashed', reason: 'crashed', sample: null, count: 2 }),
      ],
      gauges: async () => ({
        ...noGauges,
        dead: { count: 14, more: false },
        oldestPending: { endpoint: 'default', id: 'evt_1', receivedAt: ago(47), since: ago(47) },
      }),
    });
    const html = await htmlOf(await overviewScreen(visit));
    expect(textIn(html, 'headline')).toBe(
      'Loss: TypeError: Cannot read properties of undefined The last 24 hours; at most 12 in an hour 12 dead Show newest event: 03:29 Rerun… ' +
        'Loss: the process ended three times while the handler was running The last 24 hours; at most 12 in an hour ' +
        '2 dead Show newest event: 03:29 Rerun… ' +
        'Retry: 2 orders are stuck: evt_5 has failed 15 times: TypeError: no vat; next attempt in 5 min; 63 events are waiting behind it ' +
        '3 waiting 03:12 – 03:57 Open',
    );
    expect(hrefsIn(partOf(html, 'headline'))).toEqual([
      '/ops/events?state=dead&fingerprint=0123456789abcdef',
      '/ops/events/default/evt_9',
      '/ops/events?state=dead&fingerprint=crashed',
      '/ops/events/default/evt_9',
      '/ops/events?state=pending&order=oldest',
      '/ops/events/default/evt_5',
      '/ops/events/default/evt_5',
    ]);
  });

  test('names an event that no processor has taken, and counts kinds apart', async () => {
    const visit = stubVisit({
      search: async () => ({
        events: [
          summary({ seq: 4, entity: null }),
          summary({ seq: 3, entity: 'cart::cart_1' }),
          summary({ seq: 2, entity: 'inventory:m:p:l' }),
          summary({ seq: 1, entity: 'named by the merchant' }),
        ],
        next: 1,
        examined: 5_000,
      }),
      waits: async (keys) => keys.map(() => ({ reason: 'no processor', lastSeen: null })),
    });
    const html = await htmlOf(await overviewScreen(visit));
    const headline = textIn(html, 'headline');
    expect(headline).toContain('At least 1 event, 1 cart, 1 product and 1 entity are stuck');
    expect(headline).toContain('evt_1 is waiting; no processor for order.created has ever run');
    expect(textIn(html, 'vital')).toMatch(/^The last delivery arrived 47 min ago\./);
  });

  test('takes in the oldest pending events when the search has looked at newer ones only', async () => {
    const oldest = summary({ seq: 1, id: 'evt_old', entity: 'order:mer_7:ord_1', receivedAt: ago(600) });
    const next = summary({ seq: 2, id: 'evt_next', entity: 'order:mer_7:ord_2', receivedAt: ago(599) });
    const newer = summary({ seq: 900, id: 'evt_900', entity: 'order:mer_7:ord_900', receivedAt: ago(2) });
    const failing = summary({ seq: 50, id: 'evt_50', entity: 'order:mer_7:ord_50', receivedAt: ago(9), failures: 2 });
    const all = [newer, next, oldest];
    const waits = (event: EventSummary): WaitingEvent => ({ ...event, since: event.receivedAt });
    const visit = stubVisit({
      waits: async (keys) => keys.map(() => ({ reason: 'later', dueAt: ago(-5), waiting: { count: 0, more: false } })),
      search: async ({ id, retrying }) =>
        retrying === true
          ? { events: [failing], next: null, examined: 1 }
          : id === undefined
            ? { events: [newer], next: 900, examined: 5_000 }
            : { events: all.filter((event) => event.id === id), next: null, examined: 1 },
      gauges: async () => ({ ...noGauges, oldestPending: waits(oldest), oldest: [waits(oldest), waits(next)] }),
    });
    const html = await htmlOf(await overviewScreen(visit));
    expect(textIn(html, 'headline')).toBe(
      'Retry: At least 3 orders are stuck: evt_old is delayed; first attempt in 5 min 3+ waiting 13 Mar 17:59 – 14 Mar 03:57 Open ' +
        'Retry: At least 1 order is waiting for a retry: evt_50 has failed twice; first attempt in 5 min ' +
        '1+ retrying 03:50 Show',
    );
  });

  test('tiles tell of the span and of now, and lead to the events they count', async () => {
    const visit = stubVisit(
      {
        ...counting([
          counted(3, 'stored', 'order.created', 30),
          counted(3, 'duplicate', '', 10),
          counted(2, 'processed', 'order.created', 28),
          counted(2, 'failed', 'order.created', 1),
          counted(2, 'dead', 'order.created', 2),
        ]),
        gauges: async () => ({ ...noGauges, retrying: { count: 10_000, more: true }, dead: { count: 5, more: false } }),
      },
      { path: '/?range=24h' },
    );
    const html = await htmlOf(await overviewScreen(visit));
    const tiles = partOf(html, 'tiles');
    expect(textIn(tiles, 'tile-received')).toBe('Received in 24 h 30 and 10 redeliveries (25%)');
    expect(textIn(tiles, 'tile-processed')).toBe('Processed in 24 h 28 1 failed, to be retried');
    expect(textIn(tiles, 'tile-retrying')).toContain('10,000+');
    expect(textIn(tiles, 'tile-dead')).toBe('Dead now 5 2 died in 24 h');
    expect(textIn(tiles, 'tile-oldest-pending')).toBe('Oldest pending none no event is pending');
    expect(hrefsIn(tiles)).toEqual([
      '/ops/events?since=2026-03-13T04%3A00Z',
      '/ops/events?state=processed&since=2026-03-13T04%3A00Z',
      '/ops/events?state=pending&retrying=yes',
      '/ops/dead',
      '/ops/events?state=pending',
    ]);
  });

  test.for([
    ['', '24 h', 48],
    ['?range=1h', '1 h', 60],
    ['?range=24h', '24 h', 48],
    ['?range=7d', '7 d', 56],
    ['?range=30d', '30 d', 60],
    ['?range=<b>', '24 h', 48],
  ] as const)('with "%s" it shows %s in %d steps that end with the one under way', async ([query, label, steps]) => {
    const spans: (readonly [number, number])[] = [];
    const visit = stubVisit(
      {
        totals: async () => [],
        totalsIn: async (asked) => {
          for (const { since, until } of asked) spans.push([since, until]);
          return asked.map(() => []);
        },
      },
      { path: `/${query}` },
    );
    const html = await htmlOf(await overviewScreen(visit));
    const all = spans.slice(-steps - 1, -1);
    const [[since, next] = [0, 0]] = all;
    const step = next - since;
    const until = all.at(-1)?.[1] ?? 0;
    expect(new Set(all.map(([from, to]) => to - from))).toEqual(new Set([step]));
    expect(spans.at(-1)).toEqual([2 * since - until, since]);
    expect([since % step, until % step]).toEqual([0, 0]);
    expect(until).toBeGreaterThan(NOW.getTime());
    expect(until - NOW.getTime()).toBeLessThanOrEqual(step);
    const current = tagsOf(html).filter(({ attributes }) => attributes['aria-current'] === 'true');
    expect(current.map(({ attributes }) => attributes['href'])).toEqual(
      query.includes('<') ? [] : [`?range=${label.replace(' ', '')}`],
    );
    if (query.includes('<')) expect(textIn(html, 'unread')).toMatch(/^This is not a time range\./);
  });
});

describe('Dead events', () => {
  test('a group has its error, its count, its times, an event of it, and a row that keys can open', async () => {
    const visit = stubVisit({ deadGroups: async () => [deadGroup({ count: 10_000, more: true })] });
    const row = partOf(await htmlOf(await deadEventsScreen(visit)), 'group-0123456789abcdef');
    expect(textOf(row)).toContain(
      'TypeError: Cannot read properties of undefined 10,000+ 03:29 Show newest event: 03:29',
    );
    expect(row).toContain('title="2026-03-14 03:29:07 UTC (30 min ago)"');
    expect(row).toContain('aria-label="12 events became dead in the last 24 hours"');
    const exported = '/ops/maintenance/export?state=dead&fingerprint=0123456789abcdef';
    expect(hrefsIn(row)).toEqual([
      '/ops/events?state=dead&fingerprint=0123456789abcdef',
      '/ops/events/default/evt_9',
      exported,
      `${exported}&format=json`,
      `${exported}&format=csv`,
    ]);
    expect(tagsOf(row)[0]?.attributes['data-href']).toBe('/ops/events?state=dead&fingerprint=0123456789abcdef');
  });

  test('its forms ask for a preview of exactly this group', async () => {
    const visit = stubVisit({ deadGroups: async () => [deadGroup()] });
    const forms = formsOf(await htmlOf(await deadEventsScreen(visit)));
    const fields = { csrf: 'token-of-ada', fingerprint: '0123456789abcdef' };
    expect([...forms]).toEqual([
      [
        '/ops/bulks',
        [
          { ...fields, act: 'rerun', state: 'dead' },
          { ...fields, act: 'discard', state: 'dead' },
        ],
      ],
      ['/ops/dead/acknowledge', [{ ...fields, count: '12', at: 'none', reason: '', link: '' }]],
      ['/ops/maintenance/export', [{ csrf: 'token-of-ada', state: 'dead' }]],
    ]);
  });

  test('a group without an error says why its events are dead', async () => {
    const visit = stubVisit({
      deadGroups: async () => [deadGroup({ fingerprint: 'crashed', reason: 'crashed', sample: null })],
    });
    expect(await textOfPart(deadEventsScreen(visit), 'group-crashed')).toContain('the process ended three times');
  });
});

describe('Rejected', () => {
  test('gives rates by reason, in words, with what to do', async () => {
    const visit = stubVisit({
      ...counting([
        counted(9, 'stored', 'order.created', 90),
        counted(9, 'rejected', 'signature-mismatch', 9),
        counted(8, 'rejected', 'body-too-large', 1),
      ]),
    });
    const html = await htmlOf(await rejectedScreen(visit));
    expect(textIn(html, 'rates')).toContain('10 deliveries were rejected (10% of all).');
    expect(textIn(html, 'reason-signature-mismatch')).toMatch(/^signature-mismatch 9 90% The signature does not match/);
    expect(textIn(html, 'reason-body-too-large')).toContain('maxBodyBytes');
  });

  test('lists what was refused: cause, size, hash, source, how often and when', async () => {
    const visit = stubVisit({
      rejected: async () => [
        {
          seq: 4,
          endpoint: 'default',
          reason: 'signature-missing',
          bytes: 812,
          sha256: 'a3'.repeat(32),
          source: '203.0.113.7',
          count: 214,
          firstAt: ago(500),
          lastAt: ago(1),
        },
        {
          seq: 5,
          endpoint: 'default',
          reason: 'body-too-slow',
          bytes: null,
          sha256: null,
          source: null,
          count: 1,
          firstAt: ago(2),
          lastAt: ago(2),
        },
      ],
    });
    const html = await htmlOf(await rejectedScreen(visit));
    expect(textIn(html, 'rejection-4')).toBe(
      'The X-Signature header is missing. 214 03:58 13 Mar 19:39 ' +
        `default 203.0.113.7 812 bytes SHA-256 ${'a3'.repeat(32)}`,
    );
    expect(textIn(html, 'rejection-5')).toMatch(/default unknown not read$/);
    expect(textIn(html, 'rejections')).toMatch(/^215 deliveries in 2 lines\. cause times last/);
    const href = '?range=24h&reason=signature-missing#latest';
    expect(tagsOf(partOf(html, 'rejection-4'))[0]?.attributes['data-href']).toBe(href);
    expect(hrefsIn(partOf(html, 'rejection-4'))).toEqual([href, '/ops/events?endpoint=default']);
  });

  test('there are words for every reason a delivery is refused for, and for unknown ones', () => {
    const reasons: Record<Reason, true> = {
      'signature-missing': true,
      'signature-malformed': true,
      'signature-mismatch': true,
      'not-an-event': true,
      'body-incomplete': true,
      'body-too-large': true,
      'encoding-unsupported': true,
      'method-not-allowed': true,
      'body-not-base64': true,
      'body-too-slow': true,
      'body-consumed': true,
      'body-in-tiny-chunks': true,
      'body-no-room': true,
      'no-secret': true,
      overloaded: true,
      closing: true,
      deadline: true,
      internal: true,
      'handler-busy': true,
      'handler-failed': true,
      'handler-timeout': true,
      'handler-late': true,
      'handler-lost': true,
      'not-passed-on': true,
      'not-passed-on-in-time': true,
      'inbox-failing': true,
    };
    const refused = Object.keys(reasons).filter((reason) => {
      return ['rejected', 'unavailable'].includes(errorOutcome(reason as Reason).kind);
    });
    for (const reason of refused) expect(causeOfRejection(reason, {}).cause, reason).toMatch(/^[A-Z].*\.$/);
    expect(refused.length).toBeGreaterThan(15);
    for (const reason of ['of-another-version', 'constructor', '__proto__']) {
      expect(causeOfRejection(reason, {}).cause).toBe(reason);
    }
  });
});

describe('Bulk actions', () => {
  const startedAt = ago(3);
  const endedAt = ago(1);
  const running = { state: 'running', startedAt, worked: 32, counts: { done: 32 }, audit: 3 } as const;
  const nothing = { total: 0, breakdown: { types: {}, states: {}, deadReasons: {}, endpoints: {} } };
  const bulkHtml = async (parts: Partial<StoredBulk> = {}, path = '/bulks/7', operations: Partial<Operations> = {}) =>
    htmlOf(await bulkScreen(stubVisit({ bulk: async () => bulkOf(parts), ...operations }, { path }), 7));
  const routesIn = (html: string) => [...formsOf(html).keys()].map((to) => to.replace('/ops/bulks/7/', ''));

  test('is called for what it lists, which are not reruns alone', async () => {
    expect((await bulksScreen(stubVisit())).title).toBe('Bulk actions');
    expect(OPERATORS_LOOK.navigation).toContainEqual(['/bulks', 'Bulk actions', 'bulks']);
  });

  test('lists them, and leads to older ones only when the page is full', async () => {
    const asked: PageRequest[] = [];
    const bulks = Array.from({ length: 20 }, (_, n) => bulkOf({ id: 90 - n }));
    const answered = async (page: PageRequest) => {
      asked.push(page);
      return page.before === null ? bulks : bulks.slice(0, 3);
    };
    const at = async (path: string) => htmlOf(await bulksScreen(stubVisit({ bulks: answered }, { path })));
    const html = await at('/bulks');
    expect(textIn(html, 'bulk-90')).toBe(
      'rerun 90 previewed, not run 128 not run state dead group 0123456789abcdef (no events now) ada no reason given 03:54',
    );
    expect(hrefsIn(partOf(html, 'older'))).toEqual(['?before=71']);
    const last = await at('/bulks?before=71');
    expect(partOf(last, 'older')).toBe('');
    expect([partOf(html, 'back'), hrefsIn(partOf(last, 'back'))]).toEqual(['', ['?']]);
    await at('/bulks?before=-1%20OR%201');
    expect(asked.map(({ before }) => before)).toEqual([null, 71, null]);
  });

  test.for([
    [{ processed: 463, dead: 60 }, 523, null, '463 processed, 60 dead again'],
    [
      { waiting: 900, retrying: 1, processed: 99 },
      4_000,
      777,
      'of the first 1,000: 99 processed, 900 waiting to be handled, 1 waiting for a retry',
    ],
    [{}, 12, null, 'no longer known'],
    [{}, 0, null, 'nothing done'],
  ] as const)('the list tells outcome: %j of %i', async ([counts, done, next, told]) => {
    const asked: unknown[] = [];
    const bulk = bulkOf({ state: 'done', startedAt, endedAt, counts: { done }, reason: 'the shop is up' });
    const visit = stubVisit({
      bulks: async () => [bulk, bulkOf({ id: 6 })],
      outcomePart: async (...args) => (asked.push(args), { counts, again: 0, next }),
    });
    const row = partOf(await htmlOf(await bulksScreen(visit)), 'bulk-7');
    expect(textOf(row)).toContain(` ${told} state dead`);
    expect(textOf(row)).toContain(' ada the shop is up ');
    // However many events it has, and none for a preview.
    expect(asked).toEqual([[7, 0, 1_000]]);
    expect(hrefsIn(row).filter((href) => href.includes('bulk=7'))).toHaveLength(Object.keys(counts).length);
  });

  test.for([
    [{}, 'The run has not begun yet.'],
    [{ state: 'running', startedAt }, 'The run has begun.'],
    [{ state: 'done', startedAt, endedAt }, ''],
    [{ state: 'cancelled', startedAt, endedAt }, ''],
  ] as const)('one that was just begun: %j', async ([parts, expected]) => {
    const begun = textIn(await bulkHtml(parts, '/bulks/7?done=running'), 'begun');
    expect(begun.split(/(?<=\.) /)[0]).toBe(expected);
    expect(textIn(await bulkHtml(parts), 'begun')).toBe('');
  });

  test('an unknown one is a 404 that leads back', async () => {
    const screen = await bulkScreen(stubVisit(), 4_711);
    expect(screen.status).toBe(404);
    expect(hrefsIn(await htmlOf(screen))).toEqual(['/ops/bulks']);
  });

  test.for([
    [{}, 'Will rerun 128 events: 120 order.created and 8 order.ready; all dead (failed). Nothing has happened yet.'],
    [
      {
        act: 'discard',
        state: 'done',
        total: 10,
        breakdown: {
          types: { 'order.ready': 10 },
          states: { dead: 8, pending: 2 },
          deadReasons: { crashed: 3, failed: 5 },
          endpoints: { default: 10 },
        },
      },
      'Discarded 10 events: 10 order.ready; 8 were dead (5 failed, 3 crashed) and 2 were pending.',
    ],
    [
      {
        state: 'running',
        total: 28,
        breakdown: {
          types: { a: 7, b: 6, c: 5, d: 4, e: 3, f: 2, g: 1 },
          states: { ignored: 28 },
          deadReasons: {},
          endpoints: { live: 21, test: 7 },
        },
      },
      'Rerunning 28 events: 7 a, 6 b, 5 c, 4 d, 3 e and 3 of 2 other types; all were ignored; 21 at live and 7 at test.',
    ],
    [
      { breakdown: { types: { a: 128 }, states: { dead: 128 }, deadReasons: {}, endpoints: { test: 128 } } },
      'Will rerun 128 events: 128 a; all dead; all at test. Nothing has happened yet.',
    ],
    [
      nothing,
      'No event matches the filter, so there is nothing to rerun. A rerun includes dead events. It includes ignored and discarded events only if the filter names them.',
    ],
  ] as const)('says in one sentence what it is: %#', async ([parts, sentence]) => {
    expect(textIn(await bulkHtml(parts), 'sentence')).toBe(sentence);
  });

  test('a preview can be run at a rate and with a reason, which has the focus, or cancelled', async () => {
    const html = await bulkHtml({ reason: 'fixed' });
    expect([...formsOf(html)]).toEqual([
      ['/ops/bulks/7/run', [{ csrf: 'token-of-ada', rate: '500', reason: 'fixed' }]],
      ['/ops/bulks/7/cancel', [{ csrf: 'token-of-ada', state: 'previewed' }]],
    ]);
    expect(textIn(html, 'acts')).toContain('Rerun 128 events');
    expect(partOf(html, 'progress')).toBe('');
    expect(partOf(html, 'run')).toContain('autofocus');
    expect(partOf(await bulkHtml({}, '/bulks/7?done=running'), 'run')).not.toContain('autofocus');
    expect(routesIn(await bulkHtml(nothing))).toEqual(['cancel']);
  });

  test('one that runs shows how far it is and what came of it, and can be paused or stopped', async () => {
    const html = await bulkHtml({ ...running, ranMs: 2_000, counts: { done: 30, 'still invalid': 1, pruned: 1 } });
    const progress = partOf(html, 'progress');
    expect(textOf(progress)).toContain('32 of 128 events (25%) About 6 s left.');
    expect(textIn(html, 'results')).toBe(
      '30 rerun 1 still invalid under the current schemas 1 pruned: the handler needs the body, which was removed',
    );
    const bar = tagsOf(progress).find(({ name }) => name === 'progress');
    expect(bar?.attributes).toMatchObject({ max: '128', value: '32' });
    expect(routesIn(html)).toEqual(['pause', 'cancel']);
    expect(textIn(html, 'acts')).toBe('Pause Cancel the rest The remaining 96 events would stay unchanged.');
  });

  test.each([
    [true, 'It has stopped at 32 of 128.'],
    [false, 'It has stopped at 32 of 128: its process ended.'],
  ])('one that nobody runs any more says so, and how to run the rest: %#', async (stopped, said) => {
    const parts = { ...running, heartbeat: { ms: 1, silentMs: 120_000, stopped } };
    const html = await bulkHtml(parts);
    expect(textIn(html, 'sentence')).toContain(said);
    expect(routesIn(html)).toEqual(['run', 'cancel']);
    expect(textIn(html, 'acts')).toContain('Resume the remaining 96');
    const list = bulksScreen(stubVisit({ bulks: async () => [bulkOf(parts)] }, { path: '/bulks' }));
    expect(await textOfPart(list, 'bulk-7')).toContain(said.slice(7, -1));
  });

  test.for(['done', 'cancelled'] as const)(
    'one that is %s has no forms, and says how far it came and how long it took',
    async (state) => {
      const html = await bulkHtml({ ...running, state, endedAt });
      expect(formsOf(html).size).toBe(0);
      expect(textIn(html, 'facts')).toContain(`${state === 'done' ? 'ended' : state} 2026-03-14 03:58:07 UTC`);
      expect(textIn(html, 'facts')).toMatch(/took 2 min$/);
      expect(partOf(html, 'progress')).toBe('');
    },
  );

  test('one that is done says each of its counts once', async () => {
    const counts = { done: 119, 'still invalid': 9 };
    const outcomePart = async () => ({ counts: { processed: 86, dead: 33 }, again: 0, next: null });
    const html = await bulkHtml({ ...running, state: 'done', endedAt, worked: 128, counts }, '/bulks/7', {
      outcomePart,
    });
    const text = textOf(html);
    expect(text).toContain('Reran 119 of 128 events');
    expect(text).toContain('Of 119 events rerun, 86 are processed and 33 are dead again.');
    for (const count of ['86', '33', '9']) expect(text.match(new RegExp(`\\b${count} [a-z]`, 'g'))).toHaveLength(1);
    expect(textIn(html, 'results')).toBe('9 still invalid under the current schemas');
    for (const absent of ['119 rerun', '128 of 128']) expect(text).not.toContain(absent);
    expect(hrefsIn(partOf(html, 'outcome'))).toEqual([
      '/ops/events?state=processed&bulk=7',
      '/ops/events?state=dead&bulk=7',
    ]);
  });
});

describe('Audit', () => {
  const line = {
    seq: 12,
    at: ago(10),
    actor: 'grace@shop-1',
    via: 'cli',
    act: 'rerun',
    reason: 'the tax service is back',
    filter: { endpoint: 'default', ids: ['evt_1', 'evt 2/3'] },
    counts: { done: 1, 'not needed': 1 },
  } as const;
  const asked: unknown[] = [];

  async function auditHtml(options: Parameters<typeof stubVisit>[1] = {}, filter: unknown = line.filter, next = 12) {
    asked.length = 0;
    const lines: Operations['lines'] = async (request) => {
      asked.push(request);
      return { lines: [{ ...line, filter }], next };
    };
    return htmlOf(await auditScreen(stubVisit({ lines }, options)));
  }

  test('a line says who did what, through what, to what, with what outcome and why', async () => {
    const html = await auditHtml();
    expect(textIn(html, 'audit-12')).toBe(
      '2026-03-14 03:49:07 UTC (10 min ago) rerun grace@shop-1 on the command line ' +
        'endpoint default events evt_1, evt 2/3 1 done, 1 not needed the tax service is back',
    );
    expect(hrefsIn(partOf(html, 'audit-12'))).toEqual([
      '/ops/audit?actor=grace%40shop-1',
      '/ops/events/default/evt_1',
      '/ops/events/default/evt%202%2F3',
    ]);
    expect(hrefsIn(partOf(html, 'older'))).toEqual(['?before=12']);
  });

  test('the URL says of whom and of which day, and links keep it', async () => {
    const html = await auditHtml({ path: '/audit?actor=+grace%40shop-1+&day=2026-03-13&before=40' });
    const since = new Date('2026-03-13T00:00:00Z');
    const until = new Date('2026-03-14T00:00:00Z');
    expect(asked).toEqual([{ actor: 'grace@shop-1', since, until, before: 40, limit: 50 }]);
    const kept = '?actor=grace%40shop-1&day=2026-03-13';
    expect(hrefsIn(partOf(html, 'older'))).toEqual([`${kept}&before=12`]);
    expect(hrefsIn(partOf(html, 'back'))).toEqual([kept]);
    expect(hrefsIn(partOf(html, 'audit-12'))[0]).toBe(`/ops/audit${kept}`);
    const days = tagsOf(html).filter(({ name, attributes }) => name === 'a' && attributes['href']?.includes('audit'));
    expect(days.slice(0, 3).map(({ attributes }) => [attributes['href'], attributes['aria-current']])).toEqual([
      ['/ops/audit?actor=grace%40shop-1', undefined],
      ['/ops/audit?actor=grace%40shop-1&day=2026-03-14', undefined],
      ['/ops/audit?actor=grace%40shop-1&day=2026-03-13', 'true'],
    ]);
  });

  test.for([
    ['/audit?day=2026-03-13', null, 'No entry matches the filter.'],
    ['/audit?day=2026-03-13', 900, 'No match among the 5,000 entries searched. Older entries exist.'],
    ['/audit?actor=ada&before=900', null, 'No older entry matches the filter.'],
    ['/audit?before=900', null, 'No older entries.'],
  ] as const)('%s has words for nothing, where the next page is at %s', async ([path, next, words]) => {
    const visit = stubVisit({ lines: async () => ({ lines: [], next }) }, { path });
    const html = await htmlOf(await auditScreen(visit));
    expect(textIn(html, 'none')).toBe(words);
    expect(partOf(html, 'older') === '').toBe(next === null);
  });

  test.for(['2026-02-31', 'yesterday', '2026-3-1', '0000-00-00', '<b>'])('%s is no day', async (day) => {
    const html = await auditHtml({ path: `/audit?day=${encodeURIComponent(day)}` });
    expect(textIn(html, 'problems')).toBe(`${day} is not a valid date. Write dates as YYYY-MM-DD, such as 2026-01-31.`);
    expect(asked).toEqual([]);
  });

  test.for([
    [null, 'all events'],
    [{}, 'all events'],
    [
      { states: ['dead', 'ignored'], since: '2026-03-01T00:00:00.000Z' },
      'state dead, ignored received since 2026-03-01 00:00:00 UTC',
    ],
    [
      { body: [{ path: 'data.total', value: '12.5' }], redelivered: true },
      'body contains data.total = 12.5 redelivered yes',
    ],
    [
      { bulk: 1_234, filter: { error: 'timeout' }, total: 5_000 },
      'bulk action 1,234 filter last error contains timeout total 5,000',
    ],
    [
      {
        events: [
          { endpoint: 'a', ids: ['1'] },
          { endpoint: 'b', ids: ['2'] },
        ],
      },
      'events endpoint a; events 1, endpoint b; events 2',
    ],
    [{ ids: Array.from({ length: 500 }, (_, n) => n) }, 'events 0, 1, 2, 3, 4, 5 and 494 more'],
    ['a text', 'what a text'],
    [{ unawaited: { of: null } }, 'unawaited all events'],
  ] as const)('what it was about is readable: %j', async ([filter, words]) => {
    expect(textIn(await auditHtml({}, filter), 'audit-12')).toContain(`on the command line ${words} 1 done`);
  });

  test('does not tell the values of masked fields that somebody searched for elsewhere', async () => {
    const body = ['data.customer.email', 'data.total'].map((path) => ({ path, value: 'x@y' }));
    const html = await auditHtml({ masked: ['data.customer.email', 'data.merchant_id'] }, { merchant: 'mer_7', body });
    expect(textIn(html, 'audit-12')).toContain(
      'merchant ••• body contains data.customer.email = ••• and data.total = x@y',
    );
  });

  test('something nested without end is shown as it is', async () => {
    const filter: unknown = JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`);
    expect(textIn(await auditHtml({}, filter), 'audit-12')).toContain('{"a":{"a":');
  });
});

describe('Health', () => {
  test('says whether a delivery could be stored, how things stand, and where monitoring looks', async () => {
    const visit = stubVisit({
      gauges: async () => ({
        ...noGauges,
        pending: { count: 3, more: false },
        retrying: { count: 1, more: false },
        oldestPending: { endpoint: 'default', id: 'evt_1', receivedAt: ago(47), since: ago(47) },
      }),
      ...counting([counted(3, 'answer-ms', '7', 99), counted(3, 'answer-ms', '1500', 1)]),
    });
    const html = await htmlOf(await healthScreen(visit));
    expect(textIn(html, 'ready')).toContain('Ready: a test write just succeeded.');
    const standing = textIn(html, 'standing');
    expect(standing).toContain('oldest pending evt_1, received 2026-03-14 03:12:07 UTC (47 min ago)');
    expect(standing).toContain('3 pending (1 of them waiting for a retry)');
    expect(standing).toContain('p50 7 ms, p99 7 ms, for 100 deliveries');
    expect(hrefsIn(html)).toEqual(expect.arrayContaining(['/ops/metrics', '/ops/health/live', '/ops/health/ready']));
  });

  test('is there when nothing else works', async () => {
    const broken = async () => {
      throw new Error('disk I/O error');
    };
    const html = await htmlOf(await healthScreen(stubVisit({ ping: broken, gauges: broken })));
    expect(textIn(html, 'ready')).toContain('Not ready');
    expect(textIn(html, 'standing')).toContain('The inbox cannot be read: disk I/O error');
  });
});

describe('Maintenance', () => {
  test('has a form for each act, which says what is lost', async () => {
    const html = await htmlOf(await maintenanceScreen(stubVisit()));
    expect([...formsOf(html).keys()]).toEqual([
      '/ops/maintenance/prune',
      '/ops/maintenance/erase',
      '/ops/maintenance/import',
      '/ops/maintenance/backup',
    ]);
    expect(hrefsIn(html)).toContain('/ops/maintenance/export');
    for (const act of ['prune', 'erase', 'export', 'import', 'backup']) {
      expect(textIn(html, act)).toMatch(/This permanently deletes|Nothing is deleted/);
    }
    const upload = tagsOf(html).find(({ attributes }) => attributes['action'] === '/ops/maintenance/import');
    expect(upload?.attributes['enctype']).toBe('multipart/form-data');
  });

  test('has no form for a backup where the inbox is no file, and says what copies it', async () => {
    const { operated, ...visit } = stubVisit();
    const { file: _, ...inbox } = operated.inbox;
    const named = { db: 'postgres://ada:secret@db.example/shop' };
    const html = await htmlOf(await maintenanceScreen({ ...visit, named, operated: { inbox } }));
    expect([...formsOf(html).keys()]).not.toContain('/ops/maintenance/backup');
    expect(textIn(html, 'backup')).toContain('--file=hookbox.dump postgres://db.example/shop');
    expect(html).not.toContain('secret');
  });

  test('asks whether to prune what was found, and sends back what was asked and the count', async () => {
    const html = await htmlOf(
      await maintenanceScreen(stubVisit(), {
        act: 'prune',
        olderThanDays: 30,
        settledBefore: new Date('2026-02-12T03:59:07.250Z'),
        states: ['processed', 'dead'],
        types: ['order.ready'],
        endpoint: 'shop-b',
        count: 1_234,
      }),
    );
    const preview = partOf(html, 'preview');
    expect(textOf(preview)).toContain(
      'Would prune 1,234 events: processed and dead, settled more than 30 days ago, of type order.ready, at the endpoint shop-b.',
    );
    expect(textOf(preview)).toContain('Dead, ignored and discarded events cannot be rerun after they are pruned');
    const sent = tagsOf(preview).filter(({ name, attributes }) => name === 'input' && attributes['type'] === 'hidden');
    expect(sent.map(({ attributes: { name, value } }) => `${name}=${value}`)).toEqual([
      'csrf=token-of-ada',
      'olderThanDays=30',
      'settledBefore=2026-02-12T03:59:07.250Z',
      'states=processed',
      'states=dead',
      'types=order.ready',
      'endpoint=shop-b',
      'confirm=1234',
    ]);
  });

  test('has nothing to confirm when nothing fits', async () => {
    const html = await htmlOf(
      await maintenanceScreen(stubVisit(), {
        act: 'prune',
        olderThanDays: 1,
        settledBefore: NOW,
        states: ['processed'],
        types: [],
        endpoint: '',
        count: 0,
      }),
    );
    expect(textIn(html, 'preview')).toContain(
      'No events match these conditions: processed, settled more than 1 day ago, of all types.',
    );
    expect(formsOf(partOf(html, 'preview')).size).toBe(0);
  });

  test('asks whether to erase, and tells of what is in processing', async () => {
    const report = { erased: 3, inProcessing: 1, logEmptied: true, audit: null };
    const html = await htmlOf(await maintenanceScreen(stubVisit(), { act: 'erase', entity: 'ord_42', report }));
    const preview = partOf(html, 'preview');
    expect(textOf(preview)).toContain('Would erase 3 events about ord_42.');
    expect(textOf(preview)).toContain('1 more event is being processed');
    expect([...formsOf(preview)]).toEqual([
      ['/ops/maintenance/erase', [{ csrf: 'token-of-ada', entity: 'ord_42', confirm: '3', reason: '', typed: '' }]],
    ]);
  });

  test('hands out no copy where fields are masked', async () => {
    const html = await htmlOf(await maintenanceScreen(stubVisit({}, { masked: ['data.customer'] })));
    expect(hrefsIn(html)).not.toContain('/ops/maintenance/export');
    expect([...formsOf(html).keys()]).not.toContain('/ops/maintenance/backup');
  });

  test('says what was wrong', async () => {
    const message = 'olderThanDays must be a number of days.';
    const screen = maintenanceScreen(stubVisit(), { act: 'problem', message });
    expect(await textOfPart(screen, 'problem')).toBe(message);
  });
});
