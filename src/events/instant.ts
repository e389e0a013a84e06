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

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])(\d\d):?(\d\d)?)?$/;

/**
 * Reads an ISO 8601 date-time as a point in time; a time without a zone is UTC. `null` when it is none, such as
 * the 30th of February.
 */
export function parseInstant(text: string): Instant | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] =
    match;
  const h = Number(hour);
  const min = Number(minute);
  const s = Number(second);
  if (h > 23 || min > 59 || s > 59 || Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return null;

  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;

  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -1 : 1);
  const nanoseconds = Number(fraction.slice(0, 9).padEnd(9, '0'));
  const withinMs = nanoseconds % 1_000_000;
  return {
    ms: date.getTime() + ((h * 60 + min - offset) * 60 + s) * 1000 + (nanoseconds - withinMs) / 1_000_000,
    ns: withinMs,
  };
}
