import { eventTypes } from '../events/event-types.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import {
  LATENCY_BUCKETS_MS,
  latencyBound,
  type Counted,
  type CountTotal,
  ownTypesAmong,
} from '../inbox/rules/counted.ts';
import { type Gauges } from '../inbox/operator/gauges.ts';
import { EVERYTHING } from '../inbox/work.ts';
import { isReason } from '../receive/outcome.ts';
import { VERSION } from '../version.ts';
import { operationsOf } from './operations-of.ts';
import type { Traffic } from './traffic.ts';
import { watch, type Watch } from './watch.ts';

/** The response to a Prometheus scrape. */
export interface Metrics {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Returns metrics for Prometheus. The metrics come from the inbox, so all processes report the same numbers, and no
 * numbers are lost in a restart. Labels are fixed names, your endpoints, and at most 50 types from your handlers.
 * Labels never contain text from a sender.
 *
 * docs/monitoring/README.md explains each metric.
 *
 * @example
 * ```ts
 * import { metrics } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { contentType, text } = await metrics(inbox);
 * console.log(contentType, text.length);
 * ```
 */
export async function metrics(inbox: AnyInbox): Promise<Metrics> {
  const operations = operationsOf(inbox);
  const now = Date.now();
  const [gauges, totals, watched, due, pauses] = await Promise.all([
    operations.gauges(),
    operations.totals(),
    watch(inbox, now),
    inbox.nextDue(EVERYTHING),
    operations.pausedTypes(),
  ]);
  const types = typeLabels(Object.keys(watched.lastSeen));
  const families = [
    ...currentState(gauges, due, now),
    gauge('hookbox_paused_types', 'Paused types, counted per endpoint.', pauses.length),
    ...vitalSigns(watched, types),
    ...counters(totals, types),
    histogram('hookbox_answer_seconds', 'Time from the arrival of a delivery to its response', 'answer-ms', totals),
    histogram('hookbox_handler_seconds', 'Run time of handlers', 'handler-ms', totals),
  ];
  return { contentType: EXPOSITION_TYPE, text: exposition(families) };
}

function currentState(gauges: Gauges, due: number | null, now: number): Family[] {
  const states = ['pending', 'processing', 'dead', 'ignored', 'discarded'] as const;
  const secondsSince = (ms: number | undefined | null): number => Math.max(0, now - (ms ?? now)) / 1_000;
  return [
    gauge('hookbox_build_info', 'Version of hookbox.', [{ value: 1, labels: { version: VERSION } }]),
    gauge(
      'hookbox_events',
      'Events by state, counted up to 10,000; processed events are not counted.',
      states.map((state) => ({ value: gauges[state].count, labels: { state } })),
    ),
    gauge(
      'hookbox_events_capped',
      '1 if hookbox_events reached its counting limit and more events exist.',
      states.map((state) => ({ value: gauges[state].more ? 1 : 0, labels: { state } })),
    ),
    gauge(
      'hookbox_retrying_events',
      'Pending events with a failed attempt, counted up to 10,000.',
      gauges.retrying.count,
    ),
    gauge(
      'hookbox_oldest_pending_seconds',
      'Time since the oldest pending event was received or rerun; 0 if no event is pending.',
      secondsSince(gauges.oldestPending?.since.getTime()),
    ),
    gauge(
      'hookbox_oldest_due_seconds',
      'Longest time since an event became due or its lease expired; 0 if no event is due. Events of paused types do not count.',
      secondsSince(due),
    ),
  ];
}

function vitalSigns(
  { traffic: { all, endpoints }, processors, handled, missing, unhandled }: Watch,
  types: ReadonlySet<string>,
): Family[] {
  const ofEach = (value: (lane: Traffic) => number | null): Sample[] =>
    [all, ...endpoints].flatMap((lane) => {
      const figure = value(lane);
      return figure === null
        ? []
        : { value: figure, labels: lane.endpoint === null ? {} : { endpoint: lane.endpoint } };
    });
  const alarm = (alarm: Traffic['alarm']) => ofEach((lane) => (lane.alarm === alarm ? 1 : 0));
  return [
    gauge(
      'hookbox_last_received_timestamp_seconds',
      'Unix time of the latest accepted delivery in the last 36 days; absent if unknown.',
      ofEach(({ lastReceived }) => lastReceived && lastReceived.getTime() / 1_000),
    ),
    gauge(
      'hookbox_usual_gap_seconds',
      'Usual time between deliveries at this hour of the day; absent if unknown.',
      ofEach(({ usualGapMs }) => usualGapMs && usualGapMs / 1_000),
    ),
    gauge('hookbox_silent', '1 if no delivery is arriving even though earlier days had many.', alarm('silent')),
    gauge(
      'hookbox_rejecting',
      '1 if nearly all deliveries are rejected, for example because the secret is wrong.',
      alarm('rejecting'),
    ),
    gauge('hookbox_processors', 'Running processors.', processors.length),
    gauge(
      'hookbox_missing_processors',
      'Endpoints that had a processor in the last seven days and have none now.',
      missing.length,
    ),
    gauge(
      'hookbox_unhandled_events',
      'Events that have waited at least ten minutes because no processor handles their type, counted up to 1,000 per type.',
      unhandled.waiting.reduce((sum, { count }) => sum + count, 0),
    ),
    gauge(
      'hookbox_processor_last_seen_timestamp_seconds',
      'Unix time when a processor for the type was last seen; * stands for all types.',
      lastSeenByType(handled, types),
    ),
  ];
}

function lastSeenByType(handled: Watch['handled'], types: ReadonlySet<string>): Sample[] {
  const seen = new Map<string, Sample>();
  const see = (type: string, seenAt: Date, at: { readonly endpoint?: string }): void => {
    const labels = { type: type === '*' || types.has(type) ? type : 'other', ...at };
    const key = JSON.stringify(labels);
    seen.set(key, { value: Math.max(seen.get(key)?.value ?? 0, seenAt.getTime() / 1_000), labels });
  };
  const named = handled.filter(({ endpoint }) => endpoint !== '*');
  const areSeveral = new Set(named.map(({ endpoint }) => endpoint)).size > 1;
  for (const { endpoint, type, seenAt } of handled) {
    see(type, seenAt, {});
    if (!areSeveral) continue;
    for (const one of endpoint === '*' ? named.filter((other) => other.type === type) : [{ endpoint }])
      see(type, seenAt, { endpoint: one.endpoint });
  }
  return [...seen.values()];
}

const COUNTERS = {
  hookbox_deliveries_total:
    'Deliveries by outcome: stored, duplicate or rejected. Rejections are also counted by reason.',
  hookbox_conflicts_total: 'Redeliveries whose body differs from the stored one.',
  hookbox_attempts_total:
    'Ended attempts by outcome: processed, failed (failed or crashed, to be retried) or dead (failed or crashed, not ' +
    'to be retried). Interrupted attempts are not counted. An event that is invalid on arrival counts as dead ' +
    'without an attempt.',
  hookbox_superseded_total: 'Events that became processed without a run, because a newer event was waiting.',
  hookbox_ignored_total: 'Events ignored because no processor handled their type.',
  hookbox_reruns_total: 'Events rerun by operators.',
  hookbox_discarded_total: 'Events discarded by operators.',
} as const;

/** The meaning of each counter, its label `outcome`, and the label with the detail. */
const COUNTED: readonly (readonly [
  what: Counted,
  counter: keyof typeof COUNTERS,
  outcome: string | null,
  by: 'type' | 'reason' | null,
])[] = [
  ['stored', 'hookbox_deliveries_total', 'stored', 'type'],
  ['duplicate', 'hookbox_deliveries_total', 'duplicate', null],
  ['rejected', 'hookbox_deliveries_total', 'rejected', 'reason'],
  ['conflict', 'hookbox_conflicts_total', null, null],
  ['processed', 'hookbox_attempts_total', 'processed', 'type'],
  ['failed', 'hookbox_attempts_total', 'failed', 'type'],
  ['dead', 'hookbox_attempts_total', 'dead', 'type'],
  ['superseded', 'hookbox_superseded_total', null, 'type'],
  ['ignored', 'hookbox_ignored_total', null, 'type'],
  ['rerun', 'hookbox_reruns_total', null, 'type'],
  ['discarded', 'hookbox_discarded_total', null, 'type'],
];

function counters(totals: readonly CountTotal[], types: ReadonlySet<string>): Family[] {
  const samplesOf = ([what, , outcome, by]: (typeof COUNTED)[number]): Sample[] => {
    const isKnown = (detail: string): boolean => (by === 'type' ? types.has(detail) : isReason(detail));
    const sample = (detail: string, value: number): Sample => ({
      value,
      labels: { ...(outcome && { outcome }), ...(by && { [by]: isKnown(detail) ? detail : 'other' }) },
    });
    // `rate` misses the first event of a series that begins with it.
    const zeros = by === 'reason' ? [] : by === 'type' ? [...types] : [''];
    const counted = totals.filter((total) => total.what === what);
    return [...zeros.map((detail) => sample(detail, 0)), ...counted.map(({ detail, count }) => sample(detail, count))];
  };
  return Object.entries(COUNTERS).map(([name, help]) => ({
    name,
    help,
    type: 'counter',
    values: COUNTED.filter(([, counter]) => counter === name).flatMap(samplesOf),
  }));
}

function histogram(name: string, help: string, what: Counted, totals: readonly CountTotal[]): Family {
  const buckets = new Map(
    totals.filter((total) => total.what === what).map(({ detail, count }) => [latencyBound(detail), count]),
  );
  const values: Sample[] = [];
  let count = 0;
  let sum = 0;
  let lower = 0;
  for (const bound of [...LATENCY_BUCKETS_MS, Infinity]) {
    const inBucket = buckets.get(bound) ?? 0;
    count += inBucket;
    sum += (inBucket * (lower + (bound === Infinity ? lower : bound))) / 2 / 1_000;
    lower = bound;
    const le = bound === Infinity ? '+Inf' : bound / 1_000;
    values.push({ metricName: `${name}_bucket`, labels: { le }, value: count });
  }
  values.push({ metricName: `${name}_sum`, labels: {}, value: sum });
  values.push({ metricName: `${name}_count`, labels: {}, value: count });
  // histogram_quantile does not use the sum.
  return { name, help: `${help}; the sum is estimated from bucket midpoints.`, type: 'histogram', values };
}

/** A metric with its samples. Samples with the same labels are added up. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** for a histogram: the name with `_bucket`, `_sum` or `_count` */
  readonly metricName?: string;
}

/** Known types, types of handlers now or earlier, and the name for all others. */
function typeLabels(handled: Iterable<string>): ReadonlySet<string> {
  return new Set([...eventTypes, ...ownTypesAmong(handled), 'other', 'invalid']);
}

function gauge(name: string, help: string, values: readonly Sample[] | number): Family {
  return { name, help, type: 'gauge', values: typeof values === 'number' ? [{ value: values, labels: {} }] : values };
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The text format of Prometheus, version 0.0.4. */
export function exposition(families: readonly Family[]): string {
  return families.map((family) => `${familyText(family)}\n`).join('\n');
}

function familyText({ name, help, type, values }: Family): string {
  const sums = new Map<string, number>();
  for (const { metricName = name, labels, value } of values) {
    const series = `${metricName}${labelsText(labels)}`;
    sums.set(series, (sums.get(series) ?? 0) + value);
  }
  const lines = [...sums].map(([series, value]) => `${series} ${value}`);
  return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
}

function labelsText(labels: Sample['labels']): string {
  const texts = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  );
  return texts.length === 0 ? '' : `{${texts.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
