import type { By } from './acts.ts';

/** The events of one endpoint that have one type. */
export interface Lane {
  readonly endpoint: string;
  readonly type: string;
}

/** A type whose events are stored and not handled, with who wants it so. */
export interface StoredPause extends Lane {
  readonly since: Date;
  readonly actor: string;
  readonly reason: string | null;
}

/** A pause, and what waits for its end. */
export interface Pause extends StoredPause {
  /** how many of its events are pending, counted up to a bound */
  readonly waiting: number;
  /** there are more than that, or may be: not everything was looked at */
  readonly more: boolean;
}

/** Types that nobody handles for a while. Each of these is written into the audit in the transaction that does it. */
export interface Pauses {
  /** `changed` is `false` where it was paused already: that stays as it is. */
  pauseType(lane: Lane, by: By): Promise<{ readonly pause: StoredPause; readonly changed: boolean }>;
  /** Resolves with the pause that has ended, or `null` where there was none. */
  resumeType(lane: Lane, by: By): Promise<StoredPause | null>;
  /** By endpoint and type. */
  pausedTypes(): Promise<readonly Pause[]>;
}
