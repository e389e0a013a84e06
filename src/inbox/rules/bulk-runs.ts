import type { StoredBulk } from '../operator/acts.ts';

/** A slow process, such as one whose disk hangs, reports again within this time. */
const SILENT_MS = 60_000;
/** Two clocks of one machine may lie so far apart. */
const TOLERATED_MS = 1_000;

/**
 * Why a running bulk has no process: `told` if that process reported that it stops, `silent` if its heartbeats ended. `null`
 * for one that has a process or needs none.
 */
export function runOf({ state, heartbeat }: Pick<StoredBulk, 'state' | 'heartbeat'>): 'reported' | 'silent' | null {
  if (state !== 'running' || heartbeat === null) return null;
  if (heartbeat.stopped) return 'reported';
  // A heartbeat in the future came before the clock was set back.
  return heartbeat.silentMs > SILENT_MS || heartbeat.silentMs < -TOLERATED_MS ? 'silent' : null;
}
