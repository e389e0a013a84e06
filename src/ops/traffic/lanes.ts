import type { CountSpan } from '../../inbox/operator/counts.ts';
import type { CountRow, CountTotal } from '../../inbox/rules/counted.ts';
import { hourOf, type HourCounts } from './rhythm.ts';

/** Deliveries that are judged together: those of an endpoint, or, for `null`, all of them. */
export type Endpoint = string | null;

/** Of what was counted, the deliveries of an endpoint that were accepted. */
export function acceptedAt(endpoint: Endpoint, { what, detail }: Pick<CountRow, 'what' | 'detail'>): boolean {
  return endpoint === null ? what === 'stored' || what === 'duplicate' : what === 'arrived' && detail === endpoint;
}

/** Why the deliveries of an endpoint were rejected, where such were counted; else `null`. */
export function rejectedAt(endpoint: Endpoint, { what, detail }: Pick<CountRow, 'what' | 'detail'>): string | null {
  if (endpoint === null) return what === 'rejected' ? detail : null;
  if (what !== 'refused') return null;
  const rejected = refusal(detail);
  return rejected.endpoint === endpoint ? rejected.reason : null;
}

/** The endpoints that are known by what was counted at them, in the order of their names. */
export function endpointsIn(rows: readonly Pick<CountRow, 'what' | 'detail'>[]): readonly string[] {
  const names = rows.flatMap(({ what, detail }) => {
    if (what === 'arrived') return detail;
    return what === 'refused' ? refusal(detail).endpoint : [];
  });
  return [...new Set(names)].toSorted();
}

/** `signature-mismatch default`: no reason has a space. */
function refusal(detail: string): { readonly reason: string; readonly endpoint: string } {
  const at = detail.indexOf(' ');
  return { reason: detail.slice(0, at), endpoint: detail.slice(at + 1) };
}

export function hoursAt(endpoint: Endpoint, rows: readonly CountRow[]): HourCounts {
  const hours = new Map<number, number>();
  for (const row of rows) {
    if (!acceptedAt(endpoint, row)) continue;
    const hour = hourOf(row.at);
    hours.set(hour, (hours.get(hour) ?? 0) + row.count);
  }
  return hours;
}

/** The latest minute or hour in which one was accepted; of what lies in the future, as a clock was wrong, nobody knows when. */
export function lastAt(endpoint: Endpoint, rows: readonly CountRow[], now: number): number | null {
  const accepted = rows.filter((row) => row.count > 0 && row.at <= now && acceptedAt(endpoint, row));
  return accepted.length === 0 ? null : accepted.reduce((last, { at }) => Math.max(last, at), -Infinity);
}

export function acceptedIn(endpoint: Endpoint, totals: readonly CountTotal[]): number {
  return totals.reduce((sum, total) => (acceptedAt(endpoint, total) ? sum + total.count : sum), 0);
}

/**
 * The minute or hour in which the first one was accepted, where that is among the rows, and infinity where none ever was; `null`
 * where it was before them.
 *
 * @param ever - how many were
 */
export function firstAt(endpoint: Endpoint, rows: readonly CountRow[], ever: number): number | null {
  const accepted = rows.filter((row) => row.count > 0 && acceptedAt(endpoint, row));
  if (acceptedIn(endpoint, accepted) < ever) return null;
  return accepted.reduce((first, { at }) => Math.min(first, at), Infinity);
}

/** How many were accepted and rejected, from the minute on that a span begins in, and what most were rejected for. */
export function cameAt(
  endpoint: Endpoint,
  rows: readonly CountRow[],
  { since, until }: CountSpan,
): { readonly accepted: number; readonly rejected: number; readonly cause: string | null } {
  const causes = new Map<string, number>();
  let accepted = 0;
  for (const row of rows) {
    if (row.at < since || row.at > until) continue;
    if (acceptedAt(endpoint, row)) accepted += row.count;
    const cause = rejectedAt(endpoint, row);
    if (cause !== null) causes.set(cause, (causes.get(cause) ?? 0) + row.count);
  }
  const [commonest] = [...causes].toSorted(([, one], [, other]) => other - one);
  return { accepted, rejected: [...causes.values()].reduce((a, b) => a + b, 0), cause: commonest?.[0] ?? null };
}
