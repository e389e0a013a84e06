import { eventTypes } from '../events/event-types.ts';
import { ownTypesAmong } from '../inbox/rules/counted-types.ts';

/** A metric as the registry of prom-client hands its metrics on; samples with the same labels are added up there. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

/**
 * The values of the label `type`, whatever an inbox holds: the types that hookbox knows, those of your own that handlers name,
 * and what the rest is counted as.
 *
 * @param handled - the types that handlers name, or have named
 */
export function typeLabels(handled: Iterable<string>): ReadonlySet<string> {
  return new Set([...eventTypes, ...ownTypesAmong(handled), 'other', 'invalid']);
}

export function gauge(name: string, help: string, values: readonly Sample[]): Family {
  return { name, help, type: 'gauge', aggregator: 'sum', values };
}
