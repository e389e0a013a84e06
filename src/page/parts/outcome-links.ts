import type { StatsStep } from '../../ops/stats.ts';
import { eventsHref } from './screen-links.ts';

/** What a link of a bar needs. */
export interface StepLinks {
  readonly base: string;
  readonly stepMs: number;
}

/** The events that a bar counts, as far as a filter can say. */
export function outcomeHref(
  outcome: 'stored' | 'processed' | 'failed' | 'dead' | 'rejected',
  { at }: StatsStep,
  { base, stepMs }: StepLinks,
): string {
  const until = new Date(at.getTime() + stepMs);
  switch (outcome) {
    case 'stored':
      return eventsHref(base, { since: at, until });
    case 'processed':
      // It is counted when it was processed, which is soon after it came, if not at once.
      return eventsHref(base, { states: ['processed'], since: at, until });
    case 'failed':
      // Without what has failed again since, or is over by now.
      return eventsHref(base, { states: ['pending'], retrying: true, failedSince: at, failedUntil: until });
    case 'dead':
      return eventsHref(base, { states: ['dead'], failedSince: at, failedUntil: until });
    case 'rejected':
      return `${base}/rejected`;
  }
}
