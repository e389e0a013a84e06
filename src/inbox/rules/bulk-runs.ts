import type { StoredBulk } from '../operator/acts.ts';

/** Who is slow, as one whose disk hangs, is heard of again within that. */
const SILENT_MS = 60_000;
/** Two clocks of one machine may lie so far apart. */
const TOLERATED_MS = 1_000;

/**
 * Whether somebody runs a bulk: `told` where whoever ran it has said that it stops, `silent` where it seems to have gone without
 * a word, `null` where it runs, where it need not, and where an older hookbox may run it, which says nothing.
 */
export function runOf({
  state,
  worked,
  heard,
}: Pick<StoredBulk, 'state' | 'worked' | 'heard'>): 'told' | 'silent' | null {
  // Who has worked since without a word is an older hookbox.
  if (state !== 'running' || heard === null || heard.worked !== worked) return null;
  if (heard.stopped) return 'told';
  // What was heard in the future was heard before the clock was set back.
  return heard.silentMs > SILENT_MS || heard.silentMs < -TOLERATED_MS ? 'silent' : null;
}
