import { parseInstant } from '../../events/instant.ts';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * A moment as people name it: `2h` ago, a date, or a date-time; without a zone it is UTC. `null` when it is none.
 *
 * @param now - what `2h` is counted back from, in milliseconds since 1970
 */
export function readMoment(text: string, now: number): Date | null {
  const [, count, unit] = /^(\d{1,9})\s*([smhd])$/.exec(text) ?? [];
  const ms = count === undefined ? instantOf(text) : now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
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
