import type { Counted } from '../operator/counts.ts';
import { HOUR_MS } from './coarsening.ts';
import { MINUTE_MS } from './tally.ts';

/** What is counted of deliveries. */
export const DELIVERIES = ['stored', 'duplicate', 'rejected', 'arrived', 'refused'] as const satisfies Counted[];
/** Of these it does not matter what the event was. */
export const COARSE_DETAILS = ['stored', 'duplicate'] as const satisfies Counted[];

export function lengthOf(per: 'minute' | 'hour'): number {
  return per === 'hour' ? HOUR_MS : MINUTE_MS;
}
