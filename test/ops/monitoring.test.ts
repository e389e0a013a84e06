import type { SyntaxNodeRef } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { metrics } from 'hookbox/ops';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { counted, DAY, HOUR } from './counted.ts';
import { readExposition } from './exposition.ts';

const shipped = (name: string): string =>
  readFileSync(new URL(`../../docs/monitoring/${name}`, import.meta.url), 'utf8');

const duration = z.string().regex(/^(\d+(ms|[smhdwy]))+$/);
const rule = z.strictObject({
  alert: z.string().regex(/^[a-zA-Z_]\w*$/),
  expr: z.string(),
  for: duration.optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({ summary: z.string().min(10), description: z.string().min(10) }),
});
const rules = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule).min(1) })).min(1),
});

/** The parts of Grafana's dashboard JSON model that these panels use, and no others. */
const source = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('${datasource}') });
const step = z.strictObject({ color: z.string(), value: z.number().nullable() });
const panel = z.strictObject({
  id: z.int().positive(),
  type: z.enum(['stat', 'timeseries']),
  title: z.string().min(1),
  description: z.string().min(1),
  datasource: source,
  gridPos: z.strictObject({ x: z.int().min(0), y: z.int().min(0), w: z.int().min(1).max(24), h: z.int().min(1) }),
  fieldConfig: z.strictObject({
    defaults: z.strictObject({
      unit: z.enum(['none', 'short', 's', 'ops', 'reqps']),
      mappings: z.array(
        z.strictObject({
          type: z.literal('value'),
          options: z.record(z.string(), z.strictObject({ text: z.string(), index: z.int() })),
        }),
      ),
      thresholds: z.strictObject({ mode: z.literal('absolute'), steps: z.array(step).min(1) }),
      custom: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    }),
    overrides: z.array(z.never()),
  }),
  options: z.record(z.string(), z.unknown()),
  targets: z
    .array(
      z.strictObject({
        refId: z.string().regex(/^[A-Z]$/),
        datasource: source,
        expr: z.string(),
        legendFormat: z.string(),
        instant: z.boolean(),
        range: z.boolean(),
      }),
    )
    .min(1),
});
const dashboard = z.looseObject({
  uid: z
    .string()
    .max(40)
    .regex(/^[\w-]+$/),
  title: z.string(),
  schemaVersion: z.int().min(36),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z.tuple([
      z.looseObject({ name: z.literal('datasource'), type: z.literal('datasource'), query: z.literal('prometheus') }),
    ]),
  }),
  panels: z.array(panel).min(1),
});

/** Of what scrapers add, the rules leave these out. */
const SCRAPED = ['instance', 'pod'];

let printed: ReadonlyMap<string, ReadonlySet<string>>;

beforeAll(async () => {
  using folder = ownFolder();
  await using inbox = sqliteInbox(`${folder.path}/shop.db`);
  const now = Math.floor(Date.now() / HOUR) * HOUR;
  const days = Array.from({ length: 9 * 24 }, (_, n) => counted(now - n * HOUR, 'stored', 'order.ready', 9));
  await operationsOf(inbox).count([
    ...days,
    counted(now - DAY, 'arrived', 'one'),
    counted(now - DAY, 'arrived', 'two'),
    counted(now - DAY, 'rejected', 'signature-mismatch'),
  ]);
  await inbox.announce({ endpoints: '*', types: ['order.ready'] }, now, null);
  const labels = new Map<string, Set<string>>();
  for (const { series } of readExposition((await metrics(inbox)).text).values()) {
    for (const [key] of series) {
      const name = /^\w+/.exec(key)?.[0] ?? '';
      const known = labels.get(name) ?? new Set();
      for (const [, label = ''] of key.matchAll(/[{,](\w+)="/g)) known.add(label);
      labels.set(name, known);
    }
  }
  printed = labels;
});

/** What is wrong with an expression: that it is no PromQL, or names a metric or a label that is not printed. */
function faultsOf(expression: string): readonly string[] {
  const faults: string[] = [];
  const metricsIn = new Set<string>();
  const labelsIn = new Set<string>();
  const text = ({ from, to }: SyntaxNodeRef): string => expression.slice(from, to);
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError) faults.push(`no PromQL at ${node.from}: ${expression}`);
      if (node.name === 'Identifier') metricsIn.add(text(node));
      if (node.name === 'LabelName') labelsIn.add(text(node));
    },
  });
  if (metricsIn.size === 0) faults.push(`no metric: ${expression}`);
  for (const name of metricsIn) if (!printed.has(name)) faults.push(`${name} is not printed`);
  const known = new Set([...metricsIn].flatMap((name) => [...(printed.get(name) ?? [])]).concat(SCRAPED));
  for (const label of labelsIn) if (!known.has(label)) faults.push(`no label ${label}: ${expression}`);
  return faults;
}

it('an expression that is none, and a name that is not printed, would be found', () => {
  expect(faultsOf('sum(rate(hookbox_conflicts_total[5m])')).toHaveLength(1);
  expect(faultsOf('hookbox_no_such_metric')).toEqual(['hookbox_no_such_metric is not printed']);
  expect(faultsOf('hookbox_events{queue="a"}')).toEqual(['no label queue: hookbox_events{queue="a"}']);
});

it('the alerts are rules of Prometheus about metrics that are printed', () => {
  const { groups } = rules.parse(parse(shipped('alerts.yml')));
  const all = groups.flatMap((group) => group.rules);
  expect(all.flatMap(({ expr }) => faultsOf(expr))).toEqual([]);
  expect(new Set(all.map(({ alert }) => alert)).size).toBe(all.length);
  for (const { alert, annotations } of all) {
    const braces =
      Object.values(annotations)
        .join(' ')
        .match(/\{\{.*?\}\}/g) ?? [];
    for (const each of braces)
      expect(each, alert).toMatch(
        /^\{\{ (?:if \$labels\.endpoint|end|\$labels\.\w+|\$value(?: \| humanizeDuration)?) \}\}$/,
      );
  }
});

it('no alert is told for weeks of an endpoint that counts as given up', () => {
  const all = rules.parse(parse(shipped('alerts.yml'))).groups.flatMap((group) => group.rules);
  const since = all.flatMap(({ expr }) => expr.match(/hookbox_last_received_timestamp_seconds.*/g) ?? []);
  const ofEndpoints = since.filter((expr) => !expr.includes('{endpoint=""}'));
  expect(ofEndpoints).toEqual([expect.stringMatching(/\{endpoint!=""\}\) > 86400 < 604800\)$/)]);
  expect(since).toHaveLength(2);
});

it('the dashboard is one that Grafana loads, about metrics that are printed', () => {
  const { panels } = dashboard.parse(JSON.parse(shipped('grafana-dashboard.json')));
  expect(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => faultsOf(expr)))).toEqual([]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos, targets } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(taken.get(`${x},${y}`), `${title} lies on another`).toBeUndefined();
        taken.set(`${x},${y}`, title);
      }
    }
  }
});

it('every metric that is printed is explained, and no other', () => {
  const explained = Array.from(shipped('README.md').matchAll(/^- `(hookbox_\w+)`:/gm), ([, name = '']) => name);
  const families = [...printed.keys()].map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
  expect(explained.toSorted()).toEqual([...new Set(families)].toSorted());
  expect(new Set(explained).size).toBe(explained.length);
});
