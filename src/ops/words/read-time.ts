import { parseInstant } from '../../events/instant.ts';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(?:\d+(?:\.\d+)?\s*(?:ms|s|min|m|h|d)\s*)+$/;
const PART = /(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)/g;

/** Milliseconds of a text such as `5m`, `30 min`, `1h 30m`, `250ms` or `0`; `null` for anything else. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '0') return 0;
  if (!DURATION.test(trimmed)) return null;
  let ms = 0;
  for (const [, amount, unit] of trimmed.matchAll(PART)) ms += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Math.round(ms);
}

/**
 * A time as people name it: `2h` ago, a date, or a date-time; without a zone it is UTC. `null` for anything else.
 *
 * @param now - what `2h` is counted back from, in milliseconds since 1970
 */
export function parseTime(text: string, now: number): Date | null {
  // Who writes 0 means the beginning rather than now: it is refused.
  const ago = text === '0' ? null : parseDuration(text);
  const ms = ago === null ? instantOf(text) : now - ago;
  const read = ms === null ? null : new Date(ms);
  return read === null || Number.isNaN(read.getTime()) ? null : read;
}

function instantOf(text: string): number | null {
  const written = text
    .replace(/^\S{10}$/, (date) => `${date}T00:00`)
    .replace(/^(\S{10}) (?=\d)/, '$1T')
    .replace(/ ?UTC$/i, 'Z');
  return parseInstant(written)?.ms ?? null;
}
