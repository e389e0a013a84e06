import { eventTypes } from '../events/event-types.ts';
import { ownTypesAmong } from '../inbox/rules/counted.ts';

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
export function typeLabels(handled: Iterable<string>): ReadonlySet<string> {
  return new Set([...eventTypes, ...ownTypesAmong(handled), 'other', 'invalid']);
}

export function gauge(name: string, help: string, values: readonly Sample[]): Family {
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
