import { eventTypes } from '../events/event-types.ts';

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

/** The values of the label `type`, whatever an inbox holds. */
export const TYPES: readonly string[] = [...eventTypes, 'other', 'invalid'];

export function gauge(name: string, help: string, values: readonly Sample[]): Family {
  return { name, help, type: 'gauge', aggregator: 'sum', values };
}
