import { withinBudget, type Budget } from './budget.ts';
import { isBefore } from './entity-order.ts';
import type { LatestTypes, Quiet } from '../work.ts';
import type { Burst, DueEvent, SizedEvent, WaitingEvent } from './store.ts';

/** A claim supersedes at most this many events of a burst in one transaction. */
const BATCH = 200;
export const OTHERS_TO_LOAD = BATCH + 1;

/** @param others - at most `OTHERS_TO_LOAD`, newest first */
export function othersOf(
  others: readonly WaitingEvent[],
  oldest: WaitingEvent | undefined,
): Pick<Burst, 'others' | 'oldest'> {
  return { others: others.slice(0, BATCH), oldest: others.length > BATCH ? oldest : undefined };
}

export function quietOf(latest: LatestTypes | undefined, type: string | null): Quiet | null {
  if (latest === undefined || type === null) return null;
  return (Object.hasOwn(latest, type) ? latest[type] : latest['*']) ?? null;
}

export function supersededBy(id: string): string {
  return `superseded by ${id}`;
}

export type BurstStep =
  /** the event is decided like any other */
  | { readonly kind: 'alone' }
  | { readonly kind: 'wait'; readonly until: number }
  | {
      readonly kind: 'supersede';
      readonly older: readonly SizedEvent[];
      /** the newest runs now; otherwise, the next in its queue may */
      readonly runsNewest: boolean;
      /** others are left for the next transaction */
      readonly more: boolean;
    };

/**
 * Decides about the waiting events of one type and entity: the newest runs, and supersedes the others in the same
 * commit. Until then they all wait, so the oldest one, which goes last, shows when `maxMs` has passed. An event that has
 * failed is superseded at once.
 */
export function planBurst(
  event: Pick<DueEvent, 'trigger' | 'seq'>,
  burst: Burst,
  quiet: Quiet,
  { now, ordered }: { readonly now: number; readonly ordered: boolean },
  budget: Budget,
): BurstStep {
  const { newest, others, oldest, isNext } = burst;
  const isRerun = event.trigger === 'manual';
  const until = quietUntil(burst, quiet, now);
  const isQuiet = until <= now;
  const wanted = isQuiet ? others : olderOf(burst).filter(wasTried);
  if (wanted.length > 0 && !(isRerun && event.seq !== newest.seq)) {
    const older = withinBudget(wanted, budget);
    const isInBackoff = wasTried(newest) && newest.dueAt > now;
    const more = older.length < wanted.length || (isQuiet && oldest !== undefined);
    return {
      kind: 'supersede',
      older,
      runsNewest: isQuiet && !more && (isNext || !ordered) && !isInBackoff,
      more,
    };
  }
  return isQuiet || isRerun ? { kind: 'alone' } : { kind: 'wait', until };
}

function olderOf({ others, oldest }: Burst): readonly WaitingEvent[] {
  return oldest === undefined ? others : [...others, oldest];
}

function wasTried({ attempts }: WaitingEvent): boolean {
  return attempts > 0;
}

/** A rerun or tried event does not wait. Neither does one from before the clock was set back. */
function quietUntil(burst: Burst, { quietMs, maxMs }: Quiet, now: number): number {
  const { newest } = burst;
  if (newest.trigger === 'manual' || wasTried(newest) || newest.receivedAt > now + quietMs) return now;
  const untried = olderOf(burst).filter((event) => !wasTried(event));
  const since = Math.min(...[newest, ...untried].map(({ receivedAt }) => receivedAt));
  return Math.min(newest.receivedAt + quietMs, since + maxMs);
}

/** Whether an older event of another type, or a rerun one, comes first. A front of the burst itself does not. */
export function waitsForOther({ front, hasLease, ...event }: DueEvent): boolean {
  if (hasLease) return true;
  return front !== undefined && front.type !== event.type && isBefore(front, event);
}
