import type { DeliveryAttempt } from '../../sender/service.ts';

/** How a status is written where there may be none. */
export function statusOf(status: number | null): string {
  return status === null ? 'none' : String(status);
}

/** How many requests were answered with each status; `none` for those without an answer. */
export function statusesIn(requests: readonly DeliveryAttempt[]): Readonly<Record<string, number>> {
  return counts(requests.map(({ status }) => statusOf(status)));
}

/** How many faults requests had, by their kinds. */
export function faultsIn(requests: readonly DeliveryAttempt[]): {
  readonly count: number;
  readonly kinds: Readonly<Record<string, number>>;
} {
  const kinds = requests.flatMap(({ fault }) => (fault === null || fault === 'copy' ? [] : fault.split('+')));
  return { count: kinds.length, kinds: counts(kinds) };
}

/** The most frequent first. */
function counts(names: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length] as const);
  return Object.fromEntries(groups.toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}
