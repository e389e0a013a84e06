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

/** A pause, and the number of its pending events. */
export interface Pause extends StoredPause {
  /** The number of its pending events, counted up to a limit. */
  readonly waiting: number;
  /** `true` if there are or may be more. */
  readonly more: boolean;
}

/** Pauses of types. The transaction of each also writes its audit line. */
export interface Pauses {
  /** Pauses a type. `changed` is `false` if it was already paused; the earlier pause then stays unchanged. */
  pauseType(lane: EndpointType, by: By): Promise<{ readonly pause: StoredPause; readonly changed: boolean }>;
  /** Resumes a type. Returns the ended pause, or `null`. */
  resumeType(lane: EndpointType, by: By): Promise<StoredPause | null>;
  /** Lists paused types by endpoint and type. */
  pausedTypes(): Promise<readonly Pause[]>;
}
