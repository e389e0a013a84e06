import { expect, it } from 'vitest';
import type { Counted } from '../../src/inbox/operator/counts.ts';
import type { Mark } from '../../src/inbox/operator/marks.ts';
import { TypeChanges } from '../../src/page/charts/type-changes.tsx';
import { changesOf, type Changes } from '../../src/ops/what-changed.ts';
import { verdict } from '../../src/ops/words/change-words.ts';
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
  const { inbox } = stubVisit({ ...counting(all), marks: async () => marks }).operated;
  return changesOf(inbox, { since: new Date(NOON), until: new Date(until) }, '1 h', new Date(until));
}

const release = (minute: number): Mark => ({
  kind: 'release',
  name: 'v42',
  at: new Date(NOON + minute * MINUTE + 40_000),
});

it('whether the deployment broke it is one look: since it began, beside as long before', async () => {
  const { types, spans } = await changes(
    [
      [-20, 'processed', 'order.ready', 200],
      [10, 'failed', 'order.ready', 2],
      [10, 'processed', 'order.created', 50],
      [10, 'type-ms', 'order.created 50', 50],
      [29, 'failed', 'order.created', 1],
      // The minute in which it began is its own.
      [30, 'failed', 'order.ready', 39],
      [31, 'dead', 'order.ready', 1],
      [40, 'processed', 'order.ready', 10],
      [40, 'processed', 'order.created', 40],
      [40, 'type-ms', 'order.created 700', 40],
      [40, 'dead', 'invalid', 9],
      [40, 'stored', 'cart.abandoned', 9],
    ],
    [release(30)],
  );
  expect(types.map(({ type }) => type)).toEqual(['order.ready', 'order.created']);
  expect(types[0]).toMatchObject({
    before: { ended: 202, failed: 2, dead: 0, failedPart: 2 / 202 },
    after: { ended: 50, failed: 39, dead: 1, failedPart: 0.8 },
  });
  expect(spans).toBe('since release v42 began 29 min ago, beside the 1 h before');
  expect(verdict(types)).toBe(
    'Fails more often: order.ready (80%, before 1%). Takes longer: order.created (700 ms, before 50 ms).',
  );
  const html = written(TypeChanges({ changes: types, spans }));
  expect(textOf(partOf(html, 'verdict'))).toBe(verdict(types));
  expect(textOf(html)).toContain('order.ready 50 80% ▲ was 1% 1 – was –');
  expect(textOf(html)).toContain('order.created 40 0% was 2% 0 700 ms ▲ was 50 ms');
});

it('without anything that began, the span is beside the one before', async () => {
  const { types, spans } = await changes([
    [-60, 'failed', 'order.ready', 2],
    [0, 'failed', 'order.ready', 2],
    [59, 'processed', 'order.ready', 2],
    [60, 'failed', 'order.ready', 100],
  ]);
  expect(spans).toBe('in this 1 h, beside the 1 h before');
  expect(types).toMatchObject([{ before: { ended: 2 }, after: { ended: 4, failedPart: 0.5 } }]);
  expect(verdict(types)).toBe('Nothing fails more often or takes longer than before.');
});

it('one or two failures may be chance, and of a few runs nobody knows how long they take', async () => {
  const { types } = await changes([
    [-9, 'processed', 'order.ready', 9],
    [-9, 'type-ms', 'order.ready 5', 9],
    [9, 'failed', 'order.ready', 2],
    [9, 'type-ms', 'order.ready 60000', 2],
  ]);
  expect(verdict(types)).toBe('Nothing fails more often or takes longer than before.');
});

it('where nothing ran before, it makes no comparison', async () => {
  const { types } = await changes([[9, 'failed', 'order.ready', 9]]);
  expect(verdict(types)).toBe('There is nothing before it to compare with.');
});

it('where no handler has run it says so', async () => {
  const { types, spans } = await changes([[1, 'dead', 'invalid', 1]]);
  expect(textOf(written(TypeChanges({ changes: types, spans })))).toBe(
    'By type No handler has run in this 1 h, beside the 1 h before.',
  );
});
