import type { AnyInbox } from '../inbox/contract.ts';
import { type Gauges } from '../inbox/operator/counts.ts';
import { LATENCY_BUCKETS_MS, latencyBound, type Counted, type CountTotal } from '../inbox/rules/counted.ts';
import { EVERYTHING } from '../inbox/work.ts';
import { isReason } from '../receive/outcome.ts';
import { VERSION } from '../version.ts';
import { operationsOf } from './operations-of.ts';
import { exposition, EXPOSITION_TYPE, gauge, typeLabels, type Family, type Sample } from './metric-family.ts';
import { vitalSigns } from './vital-signs.ts';
import { watch } from './watch.ts';

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
