import type { EventKey } from '../event.ts';
import type { Gauge } from './counts.ts';
import type { StoredPause } from './pauses.ts';
import type { EventSummary } from './search.ts';

/** Why an event is where it is, as the rules that claims go by have it. */
export type Wait =
  /** its handler runs */
  | { readonly reason: 'running'; readonly since: Date; readonly waiting: Gauge }
  /** its type is paused: it is handled when an operator resumes that */
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  /** nobody is there who handles its type; `lastSeen` is `null` where nobody ever was */
  | { readonly reason: 'no taker'; readonly lastSeen: Date | null }
  /** another event of its entity comes first */
  | { readonly reason: 'behind'; readonly blocker: Blocker }
  /** it is not due yet */
  | { readonly reason: 'later'; readonly dueAt: Date; readonly waiting: Gauge }
  /** its process ended while it was handled, as that of another event that runs now: such events run one at a time */
  | { readonly reason: 'suspect'; readonly waiting: Gauge }
  /** nothing holds it back; whoever handles its type was last seen then */
  | { readonly reason: 'next'; readonly lastSeen: Date; readonly waiting: Gauge }
  /** an operator has put it away */
  | { readonly reason: 'discarded' }
  /** it was put away because nobody handled its type; `lastSeen` is when somebody was seen who does, `null` for never */
  | { readonly reason: 'not handled'; readonly lastSeen: Date | null };

/** The event that others of its entity wait for. */
export interface Blocker {
  readonly event: EventSummary;
  /** since when its handler runs; `null` where it waits itself */
  readonly runningSince: Date | null;
  /** its type is paused */
  readonly paused?: boolean;
  /** how many events of its entity wait behind it */
  readonly waiting: Gauge;
}

export interface Waits {
  /**
   * Why events wait, one by one; `null` for what is processed, dead or not there. A bounded number of steps for each, however
   * many wait.
   *
   * @param now - milliseconds since 1970
   */
  waits(keys: readonly EventKey[], now: number): Promise<readonly (Wait | null)[]>;
}
