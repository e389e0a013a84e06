/**
 * A point in time, finer than a Date: whole milliseconds since 1970 and the nanoseconds beyond them. Events of one
 * entity are ordered by it, and the service may write microseconds.
 */
export interface Instant {
  /** milliseconds since 1970-01-01T00:00:00Z */
  readonly ms: number;
  /** nanoseconds within the millisecond, 0 to 999,999; digits beyond the ninth are cut */
  readonly ns: number;
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)[Tt]/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?/;
const ZONE = /^(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?$/;

/**
 * Reads an ISO 8601 date-time as a point in time; a time without a zone is UTC. `null` for anything else, such as
 * the 30th of February.
 */
export function parseInstant(text: string): Instant | null {
  return parseUsual(text) ?? parseAny(text);
}

/** Tells whether a text is one. */
export function isInstant(text: string): boolean {
  return USUAL.test(text) || parseAny(text) !== null;
}

/** As nearly every event has it; without the days that only some months have, and the 24:00 that Date.parse takes too. */
const USUAL = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** `2026-01-01T12:00:00.000Z` in a fifth of the time of the general way. */
function parseUsual(text: string): Instant | null {
  return USUAL.test(text) ? { ms: Date.parse(text), ns: 0 } : null;
}

function parseAny(text: string): Instant | null {
  const date = DATE.exec(text);
  if (date === null) return null;
  const time = TIME.exec(text.slice(date[0].length));
  if (time === null) return null;
  const zone = ZONE.exec(text.slice(date[0].length + time[0].length));
  if (zone === null) return null;

  const [year, month, day] = date.slice(1).map(Number) as [number, number, number];
  const [hour, minute, second] = time.slice(1, 4).map((part) => Number(part ?? 0)) as [number, number, number];
  const [offsetHours, offsetMinutes] = zone.slice(2).map((part) => Number(part ?? 0)) as [number, number];
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return null;

  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return null;

  const offset = (offsetHours * 60 + offsetMinutes) * (zone[1] === '-' ? -1 : 1);
  const nanoseconds = Number((time[4] ?? '').slice(0, 9).padEnd(9, '0'));
  const ns = nanoseconds % 1_000_000;
  const ms = midnight.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000 + (nanoseconds - ns) / 1_000_000;
  return { ms, ns };
}
