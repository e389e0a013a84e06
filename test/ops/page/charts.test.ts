import { describe, expect, test } from 'vitest';
import { DeadByTypeChart } from '../../../src/page/charts/dead-by-type-chart.tsx';
import { LatencyChart } from '../../../src/page/charts/latency-chart.tsx';
import { OutcomesChart } from '../../../src/page/charts/outcomes-chart.tsx';
import type { Percentiles, StatsStep } from '../../../src/ops/stats.ts';
import { partOf, tagsOf, textOf, type Tag } from './read-html.ts';
import { NOW } from './stub-visit.ts';

const STEP_MS = 60_000;
const unmeasured: Percentiles = { count: 0, p50: null, p90: null, p99: null, max: null };

function step(n: number, parts: Partial<StatsStep> = {}): StatsStep {
  return {
    at: new Date(NOW.getTime() - (10 - n) * STEP_MS),
    stored: 0,
    duplicate: 0,
    conflict: 0,
    processed: 0,
    failed: 0,
    dead: 0,
    ignored: 0,
    rerun: 0,
    discarded: 0,
    rejected: 0,
    answerMs: unmeasured,
    ...parts,
  };
}

function measured(p50: number, p99: number, count = 10): Percentiles {
  return { count, p50, p90: p99, p99, max: p99 };
}

function classed(html: string, name: string, className: string): readonly Tag[] {
  return tagsOf(html).filter((tag) => tag.name === name && tag.attributes['class'] === className);
}

function figure(tag: Tag | undefined, attribute: string): number {
  return Number.parseFloat(tag?.attributes[attribute] ?? '');
}

/** An element as HTML; without components that wait for something it is there at once. */
function written(element: unknown): string {
  return String(element);
}

/** The drawing itself, without the legend. */
function drawing(html: string): string {
  return html.slice(html.indexOf('role="img"'), html.indexOf('<details'));
}

describe('outcomes over time', () => {
  const steps = [
    step(0, { stored: 100, processed: 90, failed: 5, dead: 5 }),
    step(1),
    step(2, { stored: 50, processed: 49, dead: 1 }),
  ];
  const html = written(OutcomesChart({ steps, stepMs: STEP_MS, now: NOW }));

  test('is a picture with a title, a description and its figures in a table', () => {
    const picture = tagsOf(html).find(({ attributes }) => attributes['role'] === 'img');
    expect(textOf(partOf(html, picture?.attributes['aria-labelledby'] ?? ''))).toBe('Outcomes over time');
    expect(textOf(partOf(html, picture?.attributes['aria-describedby'] ?? ''))).toBe(
      'In this span: 150 received, 139 processed, 5 failed, tried again, 6 dead. Most died from 03:49 on: 5.',
    );
    expect(textOf(partOf(html, 'outcomes-table'))).toContain('03:49 100 90 5 5 03:51 50 49 0 1');
  });

  test('bars are as high as what they count, and stand on one another', () => {
    const bars = ['processed', 'failed', 'dead'].map((outcome) => classed(drawing(html), 'rect', outcome)[0]);
    const heights = bars.map((bar) => figure(bar, 'height'));
    expect((heights[0] ?? 0) / (heights[1] ?? 1)).toBeCloseTo(18, 0);
    const [processed, failed, dead] = bars;
    expect(figure(failed, 'y') + figure(failed, 'height')).toBeCloseTo(figure(processed, 'y'));
    expect(figure(dead, 'y') + figure(dead, 'height')).toBeCloseTo(figure(failed, 'y'));
    const stored = classed(drawing(html), 'rect', 'stored')[0];
    expect(figure(stored, 'height')).toBeCloseTo(heights.reduce((a, b) => a + b, 0));
  });

  test('one dead event among ten thousand is seen, and nothing is higher than the chart', () => {
    const busy = [step(0, { stored: 10_000, processed: 9_999, dead: 1 })];
    const drawn = drawing(written(OutcomesChart({ steps: busy, stepMs: STEP_MS, now: NOW })));
    expect(figure(classed(drawn, 'rect', 'dead')[0], 'height')).toBeGreaterThanOrEqual(2);
    for (const outcome of ['stored', 'processed', 'dead']) {
      expect(figure(classed(drawn, 'rect', outcome)[0], 'y')).toBeGreaterThanOrEqual(0);
    }
  });

  test('what failed and what died have patterns, so colours are not needed', () => {
    const fills = tagsOf(drawing(html)).flatMap(({ attributes }) => attributes['fill'] ?? []);
    expect(fills).toEqual(['url(#outcomes-failed)', 'url(#outcomes-dead)', 'url(#outcomes-dead)']);
    const patterns = tagsOf(html).flatMap(({ name, attributes }) =>
      name === 'pattern' ? (attributes['id'] ?? []) : [],
    );
    expect(patterns).toEqual(['outcomes-failed', 'outcomes-dead']);
  });

  test('without anything to show it says so', () => {
    const quiet = written(OutcomesChart({ steps: [step(0), step(1)], stepMs: STEP_MS, now: NOW }));
    expect(textOf(partOf(quiet, 'outcomes-table'))).toContain('Nothing happened in this span.');
    expect(tagsOf(drawing(quiet)).filter(({ name }) => name === 'rect')).toEqual([]);
    expect(textOf(drawing(quiet))).not.toContain('NaN');
  });
});

describe('answer latency', () => {
  const steps = [
    step(0, { answerMs: measured(10, 100) }),
    step(1, { answerMs: measured(10, Infinity) }),
    step(2),
    step(3, { answerMs: measured(1_000, 10_000) }),
  ];
  const total = measured(10, Infinity, 30);
  const html = written(LatencyChart({ steps, stepMs: STEP_MS, now: NOW, total }));

  test('says in words how long answers took, and when they took too long', () => {
    expect(textOf(partOf(html, 'latency-description'))).toBe(
      'Half of 30 answers took at most 10 ms, 99 of 100 over 60 s. 1 step of 4 had a p99 beyond 10 s.',
    );
  });

  test('ten times as long is as far up each time, and beyond a minute is the top', () => {
    const dots = classed(drawing(html), 'circle', 'dot p99').map((dot) => figure(dot, 'cy'));
    const medians = classed(drawing(html), 'circle', 'dot p50').map((dot) => figure(dot, 'cy'));
    const [hundred = 0, beyond = 0, tenThousand = 0] = dots;
    const [ten = 0] = medians;
    expect((ten - tenThousand) / (ten - hundred)).toBeCloseTo(3, 1);
    expect(beyond).toBeLessThan(tenThousand);
    expect(beyond).toBeGreaterThan(0);
  });

  test('the line of 10 s is where 10 s are', () => {
    const mark = partMarked(drawing(html));
    expect(textOf(mark)).toContain('10 s: the service gives up');
    expect(
      figure(
        tagsOf(mark).find(({ name }) => name === 'line'),
        'y1',
      ),
    ).toBe(figure(classed(drawing(html), 'circle', 'dot p99')[2], 'cy'));
  });

  test('a step without a delivery interrupts the lines', () => {
    expect(classed(drawing(html), 'line', 'p99').length).toBe(1);
    expect(classed(drawing(html), 'circle', 'dot p99').length).toBe(3);
  });

  test('without a delivery it says so', () => {
    const quiet = written(LatencyChart({ steps: [step(0)], stepMs: STEP_MS, now: NOW, total: unmeasured }));
    expect(textOf(partOf(quiet, 'latency-description'))).toBe('No delivery was answered in this span.');
  });
});

function partMarked(html: string): string {
  const from = html.indexOf('class="level mark"');
  return html.slice(html.lastIndexOf('<', from), html.indexOf('</g>', from));
}

describe('dead by type', () => {
  const none = { stored: 9, processed: 9, failed: 9 };

  test('shows what died, the most first, and nothing else', () => {
    const byType = {
      'order.ready': { ...none, dead: 1 },
      'order.created': { ...none, dead: 3 },
      'cart.abandoned': { ...none, dead: 0 },
    };
    const html = written(DeadByTypeChart({ byType }));
    expect(textOf(partOf(html, 'dead-by-type-description'))).toBe('4 events died: 3 order.created, 1 order.ready.');
    expect(textOf(partOf(html, 'dead-by-type-table'))).toContain('order.created 3 75% order.ready 1 25%');
    const bars = classed(html, 'rect', 'dead').map((bar) => figure(bar, 'width'));
    expect(bars).toEqual([100, 33.3333]);
  });

  test('says that none died', () => {
    expect(textOf(written(DeadByTypeChart({ byType: { 'order.ready': { ...none, dead: 0 } } })))).toBe(
      'Dead by type No event died in this span.',
    );
  });
});
