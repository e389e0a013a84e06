import { eventTypes } from '../events/event-types.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import {
  LATENCY_BUCKETS_MS,
  latencyBound,
  type Counted,
  type CountTotal,
  ownTypesAmong,
} from '../inbox/rules/counted.ts';
import { type Gauges } from '../inbox/operator/counts.ts';
import { EVERYTHING } from '../inbox/work.ts';
import { isReason } from '../receive/outcome.ts';
import { VERSION } from '../version.ts';
import { operationsOf } from './operations-of.ts';
import type { Traffic } from './traffic.ts';
import { watch, type Watch } from './watch.ts';

/** The response to a Prometheus scrape. */
export interface Metrics {
  /** The value of the header `Content-Type`. */
  readonly contentType: string;
  /** The metrics in the text format of Prometheus. */
  readonly text: string;
}

/**
 * Returns metrics for Prometheus. The metrics come from the inbox, so all processes report the same numbers, and no
 * numbers are lost in a restart. Counters start at zero with a new inbox and only grow. Labels are fixed names, your
 * endpoints, and at most 50 types from your handlers. Labels never contain text from a sender.
 *
 * - `hookbox_events{state}`: the current number of events in this state, counted up to 10,000;
 *   `hookbox_events_capped{state}` is 1 if there are more
 * - `hookbox_oldest_pending_seconds`: the age of the oldest pending event; 0 if no event is pending
 * - `hookbox_oldest_due_seconds`: the delay of the event that has waited longest for its attempt, not counting events of paused types
 * - `hookbox_last_received_timestamp_seconds`, `hookbox_usual_gap_seconds`, `hookbox_silent`, `hookbox_rejecting`:
 *   traffic compared with earlier days; if you use several endpoints, there is also a series for each endpoint, with
 *   the label `endpoint`
 * - `hookbox_processors`, `hookbox_missing_processors`, `hookbox_unhandled_events`,
 *   `hookbox_processor_last_seen_timestamp_seconds{type}`: running and missing processors; if you use several
 *   endpoints, the last metric also has a series for each endpoint, with the label `endpoint`
 * - `hookbox_deliveries_total{outcome, type, reason}`, `hookbox_attempts_total{outcome, type}`, and counters for
 *   conflicts, for reruns, and for discarded and ignored events
 * - `hookbox_answer_seconds`, `hookbox_handler_seconds`: histograms
 *
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
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
    ...standing(gauges, due, now),
    paused(pauses.length),
    ...vitalSigns(watched, types),
    ...counters(totals, types),
    ...histograms(totals),
  ];
  return { contentType: EXPOSITION_TYPE, text: exposition(families) };
}

function standing(gauges: Gauges, due: number | null, now: number): Family[] {
  const { oldestPending } = gauges;
  const states = ['pending', 'processing', 'dead', 'ignored', 'discarded'] as const;
  const waited = oldestPending === null ? 0 : Math.max(0, now - oldestPending.since.getTime()) / 1_000;
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
    gauge('hookbox_retrying_events', 'Pending events with a failed attempt, counted up to 10,000.', [
      { value: gauges.retrying.count, labels: {} },
    ]),
    gauge(
      'hookbox_oldest_pending_seconds',
      'Time since the oldest pending event was received or rerun; 0 if no event is pending.',
      [{ value: waited, labels: {} }],
    ),
    gauge(
      'hookbox_oldest_due_seconds',
      'Longest time since an event became due or its lease expired; 0 if no event is due. Events of paused types do not count.',
      [{ value: due === null ? 0 : Math.max(0, now - due) / 1_000, labels: {} }],
    ),
  ];
}

/** Their names are what people have typed: no label. */
function paused(count: number): Family {
  return gauge('hookbox_paused_types', 'Paused types, counted per endpoint.', [{ value: count, labels: {} }]);
}

const COUNTERS = {
  hookbox_deliveries_total:
    'Deliveries by outcome: stored, duplicate or rejected. Rejections are also counted by reason.',
  hookbox_conflicts_total: 'Redeliveries whose body differs from the stored one.',
  hookbox_attempts_total:
    'Ended attempts by outcome: processed, failed (failed or crashed, to be retried) or dead (failed or crashed, not ' +
    'to be retried). Interrupted attempts are not counted. An event that is invalid on arrival counts as dead ' +
    'without an attempt.',
  hookbox_ignored_total: 'Events ignored because no processor handled their type.',
  hookbox_reruns_total: 'Events rerun by operators.',
  hookbox_discarded_total: 'Events discarded by operators.',
} as const;

interface Counting {
  readonly counter: keyof typeof COUNTERS;
  readonly outcome?: string;
  /** which label its detail is */
  readonly by?: 'type' | 'reason';
}

type OfDeliveries = Exclude<Counted, 'answer-ms' | 'handler-ms' | 'type-ms' | 'arrived' | 'refused'>;

const COUNTED: Readonly<Record<OfDeliveries, Counting>> = {
  stored: { counter: 'hookbox_deliveries_total', outcome: 'stored', by: 'type' },
  duplicate: { counter: 'hookbox_deliveries_total', outcome: 'duplicate' },
  rejected: { counter: 'hookbox_deliveries_total', outcome: 'rejected', by: 'reason' },
  conflict: { counter: 'hookbox_conflicts_total' },
  processed: { counter: 'hookbox_attempts_total', outcome: 'processed', by: 'type' },
  failed: { counter: 'hookbox_attempts_total', outcome: 'failed', by: 'type' },
  dead: { counter: 'hookbox_attempts_total', outcome: 'dead', by: 'type' },
  ignored: { counter: 'hookbox_ignored_total', by: 'type' },
  rerun: { counter: 'hookbox_reruns_total', by: 'type' },
  discarded: { counter: 'hookbox_discarded_total', by: 'type' },
};

function counters(totals: readonly CountTotal[], types: ReadonlySet<string>): Family[] {
  const counted = Object.entries(COUNTED).flatMap(([what, { counter, outcome, by }]) => {
    const labelled = (detail: string) => ({
      ...(outcome && { outcome }),
      ...(by && { [by]: known(by, detail, types) }),
    });
    // A series that begins with its first event hides that one from `rate`. Reasons are many, and most never occur.
    const zeros = by === 'reason' ? [] : by === 'type' ? [...types] : [''];
    return [
      ...zeros.map((detail) => ({ counter, value: 0, labels: labelled(detail) })),
      ...totals
        .filter((total) => total.what === what)
        .map(({ detail, count }) => ({ counter, value: count, labels: labelled(detail) })),
    ];
  });
  return Object.entries(COUNTERS).map(([name, help]) => ({
    name,
    help,
    type: 'counter',
    values: counted.filter(({ counter }) => counter === name),
  }));
}

/** Whatever an inbox holds, the values of a label are those that this hookbox knows. */
function known(by: 'type' | 'reason', detail: string, types: ReadonlySet<string>): string {
  const isKnown = by === 'type' ? types.has(detail) : isReason(detail);
  return isKnown ? detail : 'other';
}

function histograms(totals: readonly CountTotal[]): Family[] {
  return [
    histogram('hookbox_answer_seconds', 'Time from the arrival of a delivery to its response', 'answer-ms', totals),
    histogram('hookbox_handler_seconds', 'Run time of handlers', 'handler-ms', totals),
  ];
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
  // Only the buckets are kept, so the sum is an estimate; histogram_quantile does not use it.
  return {
    name,
    help: `${help}; the sum is estimated from bucket midpoints.`,
    type: 'histogram',
    values,
  };
}

/** A metric with its samples. Those with the same labels are added up. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** of a histogram: the name with `_bucket`, `_sum` or `_count` */
  readonly metricName?: string;
}

/**
 * The values of the label `type`, whatever an inbox holds: the types that hookbox knows, those of your own that handlers name,
 * and what the rest is counted as.
 *
 * @param handled - the types that handlers name, or have named
 */
function typeLabels(handled: Iterable<string>): ReadonlySet<string> {
  return new Set([...eventTypes, ...ownTypesAmong(handled), 'other', 'invalid']);
}

function gauge(name: string, help: string, values: readonly Sample[]): Family {
  return { name, help, type: 'gauge', values };
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

/**
 * What Prometheus is told of a watch.
 *
 * @param types - the values of the label `type`
 */
function vitalSigns(
  { traffic: { all, endpoints }, processors, handled, missing, unhandled }: Watch,
  types: ReadonlySet<string>,
): Family[] {
  const lanes = [all, ...endpoints];
  const each = (value: (lane: Traffic) => number | null): Sample[] =>
    lanes.flatMap((lane) => {
      const labels = lane.endpoint === null ? {} : { endpoint: lane.endpoint };
      const figure = value(lane);
      return figure === null ? [] : [{ value: figure, labels }];
    });
  const alarm = (alarm: Traffic['alarm']) => each((lane) => (lane.alarm === alarm ? 1 : 0));
  return [
    gauge(
      'hookbox_last_received_timestamp_seconds',
      'Unix time of the latest accepted delivery in the last 36 days; absent if unknown.',
      each(({ lastReceived }) => (lastReceived === null ? null : lastReceived.getTime() / 1_000)),
    ),
    gauge(
      'hookbox_usual_gap_seconds',
      'Usual time between deliveries at this hour of the day; absent if unknown.',
      each(({ usualGapMs }) => (usualGapMs === null ? null : usualGapMs / 1_000)),
    ),
    gauge('hookbox_silent', '1 if no delivery is arriving even though earlier days had many.', alarm('silent')),
    gauge(
      'hookbox_rejecting',
      '1 if nearly all deliveries are rejected, for example because the secret is wrong.',
      alarm('rejecting'),
    ),
    gauge('hookbox_processors', 'Running processors.', [{ value: processors.length, labels: {} }]),
    gauge('hookbox_missing_processors', 'Endpoints that had a processor in the last seven days and have none now.', [
      { value: missing.length, labels: {} },
    ]),
    gauge(
      'hookbox_unhandled_events',
      'Events that have waited at least ten minutes because no processor handles their type, counted up to 1,000 per type.',
      [{ value: unhandled.waiting.reduce((sum, { count }) => sum + count, 0), labels: {} }],
    ),
    gauge(
      'hookbox_processor_last_seen_timestamp_seconds',
      'Unix time when a processor for the type was last seen; * stands for all types.',
      lastSeenByType(handled, types),
    ),
  ];
}

/** A handler that is there at one endpoint hides none that is gone at another. */
function lastSeenByType(handled: Watch['handled'], types: ReadonlySet<string>): Sample[] {
  const seen = new Map<string, Sample & { value: number }>();
  const see = (type: string, seenAt: Date, at: { readonly endpoint?: string }): void => {
    const labels = { type: type === '*' || types.has(type) ? type : 'other', ...at };
    const key = JSON.stringify(labels);
    const sample = seen.get(key) ?? { value: 0, labels };
    seen.set(key, { ...sample, value: Math.max(sample.value, seenAt.getTime() / 1_000) });
  };
  const named = handled.filter(({ endpoint }) => endpoint !== '*');
  const areSeveral = new Set(named.map(({ endpoint }) => endpoint)).size > 1;
  for (const { endpoint, type, seenAt } of handled) {
    see(type, seenAt, {});
    if (!areSeveral) continue;
    // A processor of every endpoint handles those types at each.
    for (const one of endpoint === '*' ? named.filter((other) => other.type === type) : [{ endpoint }])
      see(type, seenAt, { endpoint: one.endpoint });
  }
  return [...seen.values()];
}
