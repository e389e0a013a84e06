import { gauge, type Family, type Sample } from './metric-family.ts';
import type { Traffic } from './traffic/what-comes-in.ts';
import type { Watch } from './watch.ts';

/**
 * What Prometheus is told of a watch.
 *
 * @param types - the values of the label `type`
 */
export function vitalSigns(
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
      'Unix time of the latest accepted delivery in the last 36 days (nine days per endpoint); absent if unknown.',
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
