import type { EndpointType, StoredPause } from '../../operator/pauses.ts';

/** A row of hookbox_pauses. */
export interface PauseRow extends EndpointType {
  readonly since_ms: number;
  readonly actor: string;
  readonly reason: string | null;
}

export function pauseOf({ endpoint, type, since_ms, actor, reason }: PauseRow): StoredPause {
  return { endpoint, type, since: new Date(since_ms), actor, reason };
}
