import { seenSince } from '../inbox/rules/processors.ts';

/** Which processors are running, as one of them may judge. */
export interface Presence {
  /** This processor has announced itself, as it does every five minutes. */
  announced(now: number): void;
  /** A processor that was seen since then is running; milliseconds since 1970. */
  handledSince(now: number): number;
  /** For the announcement that is made now: what has been due since then may be put away; `null` for nothing yet. */
  ignoreBefore(now: number): number | null;
}

/**
 * When the clock jumps forward, as on a machine that was suspended, all other processors seem to have gone long ago. So a
 * processor counts as gone only if it was not seen since this one's own announcement before last. Timers do not jump, so
 * ten minutes have really passed since then, in which each running processor has announced itself too. Of what the clock
 * showed at these announcements the earliest counts, because the clock may have been wrong for a while.
 */
export function createPresence(): Presence {
  /** what the clock showed at the last three announcements */
  const readings: number[] = [];
  return {
    announced(now) {
      readings.push(now);
      if (readings.length > 3) readings.shift();
    },
    handledSince(now) {
      const [first = now] = readings;
      return Math.min(seenSince(now), ...(readings.length < 3 ? [seenSince(first)] : readings));
    },
    ignoreBefore(now) {
      return readings.length < 2 ? null : Math.min(seenSince(now), ...readings.slice(-2));
    },
  };
}
