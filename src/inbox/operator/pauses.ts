import type { By } from './acts.ts';

/** One endpoint and type. */
export interface EndpointType {
  readonly endpoint: string;
  readonly type: string;
}

/** A paused type, and the operator who paused it. */
export interface StoredPause extends EndpointType {
  readonly since: Date;
  readonly actor: string;
  readonly reason: string | null;
}

/** A pause, and the number of pending events of the paused type. */
export interface Pause extends StoredPause {
  /** The number of pending events of the paused type, counted up to a limit. */
  readonly waiting: number;
  /** `true` if there are, or may be, more than `waiting`. */
  readonly more: boolean;
}

/** Pauses of types. The transaction of each also writes its audit line. */
export interface Pauses {
  /**
   * Pauses a type. `changed` is `false` if the type was already paused, in which case the earlier pause stays
   * unchanged.
   */
  pauseType(lane: EndpointType, by: By): Promise<{ readonly pause: StoredPause; readonly changed: boolean }>;
  /** Resumes a type. Returns the pause that was ended, or `null` if there was none. */
  resumeType(lane: EndpointType, by: By): Promise<StoredPause | null>;
  /** Lists paused types by endpoint and type. */
  pausedTypes(): Promise<readonly Pause[]>;
}
