import { TAKER_MS } from '../inbox/work.ts';

/** Who is there, as one processor may judge. */
export interface Presence {
  /** This processor has announced itself, as it does every five minutes. */
  announced(now: number): void;
  /** Whoever was seen since then is there; milliseconds since 1970. */
  takenSince(now: number): number;
  /** For the announcement that is made now: what has been due since then may be put away; `null` for nothing yet. */
  ignoreBefore(now: number): number | null;
}

/**
 * A clock that jumps forward, as that of a machine that was suspended, makes everybody look as if they had gone long ago. So
 * nobody counts as gone who was seen since this processor's own announcement two before: timers do not jump, so ten
 * minutes have really passed since then, in which everybody who is there has announced themselves too.
 */
export function createPresence(): Presence {
  /** what the clock showed at the last three announcements */
  const readings: number[] = [];
  return {
    announced(now) {
      readings.push(now);
      if (readings.length > 3) readings.shift();
    },
    takenSince(now) {
      const [first = now] = readings;
      return Math.min(now - TAKER_MS, readings.length < 3 ? first - TAKER_MS : first);
    },
    ignoreBefore(now) {
      const twoBefore = readings.at(-2);
      return twoBefore === undefined ? null : Math.min(now - TAKER_MS, twoBefore);
    },
  };
}
