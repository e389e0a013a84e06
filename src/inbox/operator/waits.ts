import type { EventKey } from '../event.ts';
import type { Gauge } from './counts.ts';
import type { StoredPause } from '../rules/pauses.ts';
import type { EventSummary } from './search.ts';

/** Why an event has not been processed, according to the rules that processors follow. */
export type Wait =
  /** The handler of the event is running. */
  | { readonly reason: 'running'; readonly since: Date; readonly waiting: Gauge }
  /** The type of the event is paused until an operator resumes it. */
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  /** No running processor handles the type of the event. `lastSeen` is `null` if no processor ever did. */
  | { readonly reason: 'no processor'; readonly lastSeen: Date | null }
  /** Another event of its entity comes first. */
  | { readonly reason: 'behind'; readonly blocker: Blocker }
  /** The event is not due yet. */
  | { readonly reason: 'later'; readonly dueAt: Date; readonly waiting: Gauge }
  /**
   * The event was being handled when a process died, and another such event is being handled now. Such events are
   * handled one at a time.
   */
  | { readonly reason: 'suspect'; readonly waiting: Gauge }
  /** A processor will claim the event next. `lastSeen`: when a processor that handles its type was last seen. */
  | { readonly reason: 'next'; readonly lastSeen: Date; readonly waiting: Gauge }
  /** An operator discarded the event. */
  | { readonly reason: 'discarded' }
  /**
   * The event was ignored because no processor handled its type. `lastSeen`: when such a processor was last seen;
   * `null` if never.
   */
  | { readonly reason: 'not handled'; readonly lastSeen: Date | null };

/** The event that other events of its entity wait for. */
export interface Blocker {
  readonly event: EventSummary;
  /** When the handler of this event started. `null` if this event is waiting too. */
  readonly runningSince: Date | null;
  /** `true` if the type of this event is paused. */
  readonly paused?: boolean;
  /** How many events of the same entity wait behind this event. */
  readonly waiting: Gauge;
}

export interface Waits {
  /**
   * Explains why each event has not been processed yet. `null` for an event that is processed, dead or unknown. The
   * work for each event is limited, no matter how many events are waiting.
   *
   * @param now - milliseconds since 1970
   */
  waits(keys: readonly EventKey[], now: number): Promise<readonly (Wait | null)[]>;
}
