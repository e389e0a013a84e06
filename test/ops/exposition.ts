import { expect } from 'vitest';

export interface ReadFamily {
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** value by series, written as `name{label="value",…}` with the labels in their order */
  readonly series: ReadonlyMap<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const SAMPLE = new RegExp(`^(${NAME})(\\{${LABEL}(?:,${LABEL})*\\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|[+-]Inf|NaN)$`);

/**
 * Reads the text format of Prometheus, version 0.0.4, and fails for whatever a strict reader would refuse: samples before
 * their type, a series twice, histograms whose buckets do not add up.
 */
export function readExposition(text: string): Map<string, ReadFamily> {
  expect(text.endsWith('\n')).toBe(true);
  const families = new Map<string, ReadFamily & { readonly series: Map<string, number> }>();
  const all = new Set<string>();
  let help: [name: string, text: string] | undefined;
  let current: [name: string, family: ReadFamily & { readonly series: Map<string, number> }] | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      expect(families.has(name), `${name} comes once`).toBe(false);
      help = [name, rest];
    } else if (kind === 'TYPE') {
      expect(help?.[0]).toBe(name);
      expect(name).toMatch(new RegExp(`^${NAME}$`));
      expect(rest).toMatch(/^(counter|gauge|histogram)$/);
      current = [name, { help: help?.[1] ?? '', type: rest as ReadFamily['type'], series: new Map() }];
      families.set(...current);
    } else {
      const [, sample = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
      expect(sample, `a sample: ${line}`).not.toBe('');
      if (current === undefined) throw new Error(`${line} comes before any type`);
      const [family, { type, series }] = current;
      const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => family + end) : [family];
      expect(names).toContain(sample);
      expect(all.has(sample + labels), `${sample}${labels} comes once`).toBe(false);
      all.add(sample + labels);
      series.set(sample + labels, value === '+Inf' ? Infinity : Number(value));
    }
  }
  for (const [name, { type, series }] of families) {
    if (type === 'counter') expect(name).toMatch(/_total$/);
    if (type !== 'gauge') expect([...series.values()].every((value) => value >= 0)).toBe(true);
    if (type === 'histogram') assertHistogram(name, series);
  }
  return families;
}

function assertHistogram(name: string, series: ReadonlyMap<string, number>): void {
  const buckets = [...series].filter(([key]) => key.startsWith(`${name}_bucket`));
  const bounds = buckets.map(([key]) => Number((/le="([^"]+)"/.exec(key)?.[1] ?? '').replace('+Inf', 'Infinity')));
  const counts = buckets.map(([, count]) => count);
  expect(bounds.at(-1)).toBe(Infinity);
  expect(bounds).toEqual([...new Set(bounds)].toSorted((a, b) => a - b));
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(series.get(`${name}_count`)).toBe(counts.at(-1));
  expect(series.has(`${name}_sum`)).toBe(true);
}
