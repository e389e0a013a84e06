import { parseInstant } from '../../events/instant.ts';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(?:\d+(?:\.\d+)?\s*(?:ms|s|min|m|h|d)\s*)+$/;
const PART = /(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)/g;

/** `5m`, `30 min`, `1h 30m`, `250ms` or `0`; `null` for anything else. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '0') return 0;
  if (!DURATION.test(trimmed)) return null;
  let ms = 0;
  for (const [, amount, unit] of trimmed.matchAll(PART)) ms += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Math.round(ms);
}

/**
 * `2h` ago, a date, a date-time, `14:00` (its last occurrence), or `31 Jan 08:00`. Without a zone it is UTC.
 * `null` for anything else.
 *
 * @param now - milliseconds since 1970
 */
export function parseTime(text: string, now: number): Date | null {
  // 0 could mean 1970 or now, so it is invalid.
  const ago = text === '0' ? null : parseDuration(text.replace(/ ago$/, ''));
  const ms = ago === null ? (instantOf(text) ?? shortInstantOf(text.trim(), now)) : now - ago;
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

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const SHORT =
  /^(?:(?<day>\d{1,2}) (?<month>[a-z]{3})[a-z]*(?: (?<year>\d{4}))?,? )?(?<time>\d{1,2}:\d{2}(?::\d{2})?)(?: ?UTC)?$/i;

/** Without a year or a day, it is the last such time. */
function shortInstantOf(text: string, now: number): number | null {
  const { day, month, year, time } = SHORT.exec(text)?.groups ?? {};
  if (time === undefined) return null;
  const today = new Date(now);
  const at = (y: number, m: number, d: number): number | null => {
    const date = `${y}-${String(m + 1).padStart(2, '0')}-${String(d).padStart(2, '0')}`;
    return instantOf(`${date} ${time.padStart(time.length < 6 ? 5 : 8, '0')}`);
  };
  if (day === undefined || month === undefined) {
    const ms = at(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
    return ms === null || ms <= now ? ms : ms - UNIT_MS.d;
  }
  const m = MONTHS.indexOf(month.toLowerCase());
  if (m === -1) return null;
  if (year !== undefined) return at(Number(year), m, Number(day));
  const ms = at(today.getUTCFullYear(), m, Number(day));
  return ms === null || ms <= now ? ms : at(today.getUTCFullYear() - 1, m, Number(day));
}
