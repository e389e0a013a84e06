import type { By } from './acts.ts';

/** One endpoint and type. */
export interface Lane {
  readonly endpoint: string;
  readonly type: string;
}

/** A paused type, and the operator who paused it. */
export interface StoredPause extends Lane {
  readonly since: Date;
  readonly actor: string;
  readonly reason: string | null;
}

/** A pause, and its pending events. */
export interface Pause extends StoredPause {
  /** The number of its pending events, counted up to a limit. */
  readonly waiting: number;
  /** `true` if there are or may be more. */
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
