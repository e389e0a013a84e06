import { describe, expect, test } from 'vitest';
import type { Mark } from '../../../src/inbox/rules/marks.ts';
import { LatencyChart } from '../../../src/page/charts/latency-chart.tsx';
import { OutcomesChart } from '../../../src/page/charts/outcomes-chart.tsx';
import type { Percentiles, StatsStep } from '../../../src/ops/stats.ts';
import { partOf, tagsOf, textOf, type Tag, textIn } from './read-html.ts';
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
    superseded: 0,
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

function inLink(step: StatsStep | undefined): string {
  return step?.at.toISOString().replace('.000Z', 'Z') ?? '';
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

function written(element: unknown): string {
  return String(element);
}

function drawing(html: string): string {
  return html.slice(html.search(/role="(img|group)"/), html.search(/<details|<ul class="marks/));
}

describe('outcomes over time', () => {
  const steps = [
    step(0, { stored: 100, processed: 90, failed: 6, dead: 3 }),
    step(1),
    step(2, { stored: 50, processed: 49, dead: 1, rejected: 700 }),
    step(9, { stored: 5, processed: 4 }),
    step(10, { stored: 2 }),
  ];
  const began = (minutes: number, parts: Partial<Mark> = {}): Mark => {
    return {
      kind: 'release',
      name: 'v42',
      endpoint: 'default',
      at: new Date(NOW.getTime() - minutes * STEP_MS),
      ...parts,
    };
  };
  const chartOf = (steps: readonly StatsStep[], marks: readonly Mark[] = []): string =>
    written(OutcomesChart({ steps, stepMs: STEP_MS, now: NOW, base: '/ops', marks }));
  const html = chartOf(steps);

  test('has a title, a description and its figures in a table', () => {
    const picture = tagsOf(html).find(({ attributes }) => attributes['role'] === 'group');
    expect(textIn(html, picture?.attributes['aria-labelledby'] ?? '')).toBe('Outcomes over time');
    expect(textIn(html, picture?.attributes['aria-describedby'] ?? '')).toBe(
      'In this period: 157 received, 143 processed, 6 failed (to be retried), 4 dead, 700 rejected. The interval with the most dead events (3) began at 03:49.',
    );
    expect(textIn(html, 'outcomes-table')).toContain('03:49 100 90 6 3 0 03:51 50 49 0 1 700');
  });

  test('bars are as high as what they count, and what failed stands on what died', () => {
    const [stored, processed, failed, dead] = ['stored', 'processed', 'failed', 'dead'].map(
      (outcome) => classed(drawing(html), 'rect', outcome)[0],
    );
    expect(figure(stored, 'height') / figure(processed, 'height')).toBeCloseTo(10 / 9, 1);
    expect(figure(failed, 'height') / figure(dead, 'height')).toBeCloseTo(2, 1);
    expect(figure(failed, 'y') + figure(failed, 'height')).toBeCloseTo(figure(dead, 'y'));
  });

  test('39 dead among 2,000 are half as high as 78 failed attempts, whatever was processed or rejected', () => {
    const drawn = drawing(
      chartOf([step(0, { stored: 2_000, processed: 1_961, failed: 41, dead: 39, rejected: 90_000 })]),
    );
    const height = (outcome: string) => figure(classed(drawn, 'rect', outcome)[0], 'height');
    expect(height('dead')).toBeGreaterThan(height('processed') / 3);
    expect(height('dead') / height('failed')).toBeCloseTo(39 / 41, 1);
  });

  test('one dead event among ten thousand failed ones is seen, and nothing is higher than its plot', () => {
    const drawn = drawing(chartOf([step(0, { stored: 10_000, processed: 9_999, failed: 10_000, dead: 1 })]));
    expect(figure(classed(drawn, 'rect', 'dead')[0], 'height')).toBeGreaterThanOrEqual(2);
    const bottoms = classed(drawn, 'line', 'base').map((line) => figure(line, 'y1'));
    expect(bottoms).toHaveLength(2);
    expect(figure(classed(drawn, 'rect', 'stored')[0], 'y')).toBeGreaterThanOrEqual(0);
    expect(figure(classed(drawn, 'rect', 'failed')[0], 'y')).toBeGreaterThan(bottoms[0] ?? Infinity);
  });

  test('what failed, died or was rejected has a pattern, so colours are not needed', () => {
    const fills = tagsOf(drawing(html)).flatMap(({ attributes }) => attributes['fill'] ?? []);
    expect(new Set(fills)).toEqual(
      new Set(['failed', 'dead', 'rejected', 'unfinished'].map((name) => `url(#outcomes-${name})`)),
    );
    const patterns = tagsOf(html).flatMap(({ name, attributes }) =>
      name === 'pattern' ? (attributes['id'] ?? []) : [],
    );
    expect(new Set(fills)).toEqual(new Set(patterns.map((id) => `url(#${id})`)));
  });

  test('the step that is not over is marked, and said', () => {
    const whole = chartOf(steps.slice(0, -1));
    expect(classed(drawing(whole), 'rect', 'unfinished')).toEqual([]);
    expect(textOf(whole)).not.toContain('not complete');
    const [unfinished] = classed(drawing(html), 'rect', 'unfinished');
    expect(unfinished?.attributes['x']).toBe('80%');
    expect(textOf(drawing(html))).toContain('03:59: 2 received so far');
    expect(textIn(html, 'outcomes-table')).toContain('03:59 (not complete) 2 0 0 0 0');
  });

  test('bars are links to the events, which keys find in the table', () => {
    const links = (part: string) => tagsOf(part).filter(({ name }) => name === 'a');
    const drawn = links(drawing(html));
    expect(
      drawn.every(({ attributes }) => attributes['tabindex'] === '-1' && attributes['aria-hidden'] === 'true'),
    ).toBe(true);
    const hrefs = (tags: readonly Tag[]) => tags.map(({ attributes }) => attributes['href'] ?? '').toSorted();
    expect(hrefs(links(partOf(html, 'outcomes-table')))).toEqual(expect.arrayContaining(hrefs(drawn)));
    expect(hrefs(drawn)).toContainEqual(expect.stringMatching(/^\/ops\/rejected\?range=2026-\S+Z%2F2026-\S+Z$/));
    const from = new URLSearchParams({
      since: inLink(steps[0]),
      until: inLink(steps[1]),
    });
    expect(hrefs(drawn)).toContain(`/ops/events?${from.toString()}`);
  });

  test('a release and a secret have their marks where they began, and are named beneath as what they are: text', () => {
    const hostile = '<img src=x>\u202e';
    const marked = chartOf(steps, [
      began(9.5),
      began(8, { kind: 'secret', name: 'default' }),
      began(7.5, { name: hostile }),
    ]);
    const lines = tagsOf(drawing(marked)).filter(
      ({ name, attributes }) => name === 'line' && attributes['y1'] === '16',
    );
    expect(lines.map((line) => figure(line, 'x1'))).toEqual(expect.arrayContaining([10, 40, 50]));
    expect(textIn(marked, 'marks')).toMatch(
      /^release <img src=x>\\u\{202e\} began .+ a new secret is in use .+ release v42 began/,
    );
    expect(tagsOf(marked).filter(({ name }) => name === 'img')).toEqual([]);
  });

  test('without anything to show it says so', () => {
    const quiet = chartOf([step(0), step(1)]);
    expect(textIn(quiet, 'outcomes-table')).toContain('Nothing happened in this period.');
    expect(tagsOf(drawing(quiet)).filter(({ name }) => name === 'rect' || name === 'a')).toEqual([]);
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
    expect(textIn(html, 'latency-description')).toBe(
      'Of 30 responses, half took at most 10 ms and 99% over 60 s. 1 of 4 steps had a p99 above 10 s.',
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
    expect(textOf(mark)).toContain('10 s the service times out');
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
    expect(textIn(quiet, 'latency-description')).toBe('No delivery was answered in this period.');
  });
});

function partMarked(html: string): string {
  const from = html.indexOf('class="level mark"');
  return html.slice(html.lastIndexOf('<', from), html.indexOf('</g>', from));
}
