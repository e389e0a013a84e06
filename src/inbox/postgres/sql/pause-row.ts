import type { EndpointType, StoredPause } from '../../operator/pauses.ts';

/** A row of pauses, as `PAUSE_COLUMNS` have it. */
export interface PauseRow extends EndpointType {
  readonly since_ms: number;
  readonly actor: string;
  readonly reason: string | null;
}

export const PAUSE_COLUMNS = 'endpoint, type, since_ms, actor, reason';

/** With times of the database's clock. */
export function pauseOf({ endpoint, type, since_ms, actor, reason }: PauseRow): StoredPause {
  return {
    endpoint,
    type,
    since: new Date(since_ms),
    actor,
    reason,
  };
}
