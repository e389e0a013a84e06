import { expect, it } from 'vitest';
import type { AnyInbox } from '../../src/inbox/contract.ts';
import type { Counted } from '../../src/inbox/rules/counted.ts';
import type { Mark } from '../../src/inbox/rules/marks.ts';
import { TypeChanges } from '../../src/page/screens/overview-screen.tsx';
import { stats } from '../../src/ops/stats.ts';
import { changesOf, type Changes, brokenInWords, failingMore, verdict } from '../../src/ops/releases.ts';
import { counted, HOUR, MINUTE, NOON } from './counted.ts';
import { partOf, textOf } from './page/read-html.ts';
import { counting, stubVisit } from './page/stub-visit.ts';

const until = NOON + HOUR;

/** An element as HTML; without components that wait for something it is there at once. */
function written(element: unknown): string {
  return String(element);
}

function changes(
  rows: readonly (readonly [minute: number, what: Counted, detail: string, count: number])[],
  marks: readonly Mark[] = [],
): Promise<Changes> {
  const all = rows.map(([minute, ...row]) => counted(NOON + minute * MINUTE, ...row));
  const { inbox } = stubVisit({
    ...counting(all),
    marks: async (since, until) => marks.filter(({ at }) => at.getTime() >= since && at.getTime() < until),
  }).operated;
  return inThatHour(inbox);
}

async function inThatHour(inbox: AnyInbox): Promise<Changes> {
  const figures = await stats(inbox, { since: new Date(NOON), until: new Date(until) });
  return changesOf(inbox, figures, '1 h', new Date(until));
}

const begun = (minute: number): Mark => ({
  kind: 'release',
  name: 'v42',
  endpoint: 'default',
  at: new Date(NOON + minute * MINUTE + 40_000),
});

it('whether the deployment broke it is one look: since it began, beside as long before', async () => {
  const { types, spans, release, isReleaseUnnamed } = await changes(
    [
      [-20, 'processed', 'order.ready', 200],
      [10, 'failed', 'order.ready', 2],
      [10, 'processed', 'order.created', 50],
      [10, 'type-ms', 'order.created 50', 50],
      [29, 'failed', 'order.created', 1],
      [30, 'failed', 'order.ready', 39],
      [31, 'dead', 'order.ready', 1],
      [40, 'processed', 'order.ready', 10],
      [40, 'processed', 'order.created', 40],
      [40, 'type-ms', 'order.created 700', 40],
      [40, 'dead', 'invalid', 9],
      [40, 'stored', 'cart.abandoned', 9],
    ],
    [begun(30)],
  );
  expect(types.map(({ type }) => type)).toEqual(['order.ready', 'order.created']);
  expect(types[0]).toMatchObject({
    before: { ended: 202, failed: 2, dead: 0, failedPart: 2 / 202 },
    after: { ended: 50, failed: 39, dead: 1, failedPart: 0.8 },
  });
  expect(spans).toBe('since release v42 began 29 min ago, compared with the 1 h before that');
  expect(verdict(types)).toBe(
    'Failed more often: order.ready (80%, previously 1%). Took longer: order.created (700 ms, previously 50 ms).',
  );
  const broken = failingMore(types);
  if (release === null) throw new Error('no release');
  expect(broken.map((change) => brokenInWords(change, release))).toEqual([
    'order.ready: 80% of its runs have failed since release v42; 1% failed in the 1 h before.',
  ]);
  const html = written(TypeChanges({ changes: { types, spans, isReleaseUnnamed } }));
  expect(textOf(partOf(html, 'verdict'))).toBe(verdict(types));
  expect(partOf(html, 'no-release')).toBe('');
  expect(textOf(html)).toContain('order.ready 50 80% ▲ was 1% 1 – too few runs to compare');
  expect(textOf(html)).toContain('order.created 40 0% was 2% 0 700 ms ▲ was 50 ms');
});

it('without anything that began, the span is beside the one before', async () => {
  const { types, spans } = await changes([
    [-60, 'failed', 'order.ready', 20],
    [0, 'failed', 'order.ready', 20],
    [59, 'processed', 'order.ready', 20],
    [60, 'failed', 'order.ready', 100],
  ]);
  expect(spans).toBe('in this period, compared with the 1 h before it');
  expect(types).toMatchObject([{ before: { ended: 20 }, after: { ended: 40, failedPart: 0.5 } }]);
  expect(verdict(types)).toBe('No type failed more often or took longer than before.');
});

it.each([
  { what: 'as many runs as it takes, on both sides', before: [10, 0], after: [10, 3], said: /^Failed more often: / },
  { what: 'a run too few before', before: [9, 0], after: [500, 400], said: /^Too few runs to compare: / },
  { what: 'a run too few since', before: [500, 0], after: [9, 9], said: /^Too few runs to compare: / },
  { what: 'one run and two', before: [1, 0], after: [2, 2], said: /^Too few runs to compare: / },
  { what: 'two failures, which may be chance', before: [50, 0], after: [20, 2], said: /^No type failed more often/ },
  { what: 'not twice as many', before: [50, 10], after: [50, 19], said: /^No type failed more often/ },
  { what: 'twice as many', before: [50, 10], after: [50, 20], said: /^Failed more often: / },
] as const)('$what: the sentence, the arrow and the order say the same', async ({ before, after, said }) => {
  const { types, spans, isReleaseUnnamed } = await changes([
    [-9, 'processed', 'order.ready', before[0] - before[1]],
    [-9, 'failed', 'order.ready', before[1]],
    [9, 'processed', 'order.ready', after[0] - after[1]],
    [9, 'failed', 'order.ready', after[1]],
  ]);
  const [type] = types;
  expect(verdict(types)).toMatch(said);
  const row = textOf(written(TypeChanges({ changes: { types, spans, isReleaseUnnamed } })));
  expect(row.includes('▲')).toBe(said.source.includes('Failed'));
  expect(/was \d/.test(row)).toBe(!said.source.includes('few'));
  expect(failingMore(types)).toEqual(said.source.includes('Failed') ? [type] : []);
});

it('says how many types have too few runs, beside what it can tell of the others', async () => {
  const { types } = await changes([
    [-9, 'processed', 'order.ready', 50],
    [9, 'processed', 'order.ready', 50],
    [-9, 'processed', 'order.created', 50],
    [9, 'failed', 'order.created', 5],
  ]);
  expect(verdict(types)).toBe(
    'No type failed more often or took longer than before. ' +
      'Too few runs to compare 1 type: a comparison needs at least 10 runs in each period.',
  );
});

it('of a few runs nobody knows how long they take', async () => {
  const { types } = await changes([
    [-9, 'processed', 'order.ready', 9],
    [-9, 'type-ms', 'order.ready 5', 9],
    [9, 'processed', 'order.ready', 20],
    [9, 'type-ms', 'order.ready 60000', 20],
  ]);
  expect(verdict(types)).not.toContain('Takes longer');
});

it('compares with what was before the release also where a secret began since, which no handler knows of', async () => {
  const secret: Mark = {
    kind: 'secret',
    name: 'another shop',
    endpoint: 'another shop',
    at: new Date(NOON + 50 * MINUTE),
  };
  const rows = [
    [-20, 'processed', 'order.ready', 200],
    [31, 'failed', 'order.ready', 40],
    [55, 'processed', 'order.ready', 20],
  ] as const;
  const { marks, types, spans, release } = await changes(rows, [begun(30), secret]);
  expect(marks).toHaveLength(2);
  expect(spans).toMatch(/^since release v42 began /);
  expect(release).toMatchObject({ name: 'v42' });
  expect(failingMore(types).map(({ type }) => type)).toEqual(['order.ready']);
  const alone = await changes(rows, [secret]);
  expect(alone.spans).toMatch(/^since a new secret for endpoint another shop is in use /);
});

it('where no release was ever named it says how to name one, however many secrets have begun', async () => {
  const secret = (minute: number): Mark => ({ ...begun(minute), kind: 'secret', name: 'default' });
  const secrets = Array.from({ length: 120 }, (_, n) => secret(n / 10));
  const asked = async (all: readonly Mark[]): Promise<Changes> => {
    const { inbox } = stubVisit({
      totals: async () => [],
      marks: async (since, until) =>
        all
          .filter(({ at }) => at.getTime() >= since && at.getTime() < until)
          .toSorted((one, other) => one.at.getTime() - other.at.getTime())
          .slice(-50),
    }).operated;
    return inThatHour(inbox);
  };
  const unnamed = await asked(secrets);
  expect(unnamed).toMatchObject({ isReleaseUnnamed: true, release: null });
  const { types, spans, isReleaseUnnamed } = unnamed;
  const html = written(TypeChanges({ changes: { types, spans, isReleaseUnnamed } }));
  expect(textOf(partOf(html, 'no-release'))).toMatch(/^To compare releases, set the option release/);
  expect(await asked([begun(-30 * 24 * 60), ...secrets])).toMatchObject({ isReleaseUnnamed: false, release: null });
});

it('where nothing ran before, it makes no comparison', async () => {
  const { types } = await changes([[9, 'failed', 'order.ready', 9]]);
  expect(verdict(types)).toBe('No earlier runs to compare with.');
});

it('where no handler has run it says so', async () => {
  const { types, spans } = await changes([[1, 'dead', 'invalid', 1]]);
  expect(textOf(written(TypeChanges({ changes: { types, spans, isReleaseUnnamed: false } })))).toBe(
    'By type No handler ran in this period or in the one before it.',
  );
});
