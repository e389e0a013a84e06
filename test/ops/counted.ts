import type { CountSpan } from '../../src/inbox/operator/counts.ts';
import type { Counted } from '../../src/inbox/rules/counted.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** Of some day: the beginning of an hour, and of a minute. */
export const NOON = Date.UTC(2026, 5, 1, 12);

/** A row as `count` takes it. */
export function counted(at: number, what: Counted, detail = '', count = 1) {
  return { at, what, detail, count };
}

/** Counts as they read: `stored order.ready 3`. */
export async function totalsOf(inbox: Inbox, span?: CountSpan): Promise<string[]> {
  const operations = operationsOf(inbox);
  const totals = span === undefined ? await operations.totals() : (await operations.totalsIn([span])).flat();
  return totals.map(({ what, detail, count }) => `${what} ${detail} ${count}`);
}
