/** A point in time, precise to the nanosecond, by which the inbox sorts the events of an entity. */
export interface Instant {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly ms: number;
  /** Nanoseconds within the millisecond, 0 to 999,999. Decimal places of a second after the ninth are dropped. */
  readonly ns: number;
}

/** `08`, `08:22`, `082230`, `08:22:30.915` */
const CLOCK = String.raw`(?<hour>\d\d?)(?::?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?)?`;
/** `Z`, `UTC`, `+02`, `GMT+0200`; a name after an offset is ignored: `+0200 (CEST)`, `+02:00[Europe/Berlin]` */
const OFFSET = String.raw`(?<sign>[+\-−])(?<zoneHours>\d\d)(?::?(?<zoneMinutes>\d\d))?(?:[ \t]*\(?[A-Z][A-Z ]*\)?)?`;
const ZONE = String.raw`[ \t]*(?<utc>Z|UTC|UT|GMT)?[ \t]*(?:${OFFSET})?(?<place>\[[\w/+\-]+\])?`;
const WEEKDAY = String.raw`(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?[ \t]+)?`;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = String.raw`(?<monthName>${MONTHS.join('|')})[a-z]*`;

/** Each form says which number is the day. */
const FORMS: readonly RegExp[] = [
  // ISO 8601 and formats like it: SQL, Python, Ruby, Go, Java
  String.raw`(?<year>\d{4})(?:(?<apart>[-/])(?<month>\d\d?)\k<apart>(?<day>\d\d?)|(?<monthDigits>\d\d)(?<dayDigits>\d\d))(?:T|[ \t]+)${CLOCK}${ZONE}`,
  // 20260314082230
  String.raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)${ZONE}`,
  // RFC 5322, HTTP: Sat, 14 Mar 2026 08:22:30 GMT
  String.raw`${WEEKDAY}(?<day>\d\d?)[ \t-]+${MONTH}[ \t-]+(?<year>\d{4})[ \t]+${CLOCK}${ZONE}`,
  // JavaScript: Sat Mar 14 2026 08:22:30 GMT+0000 (Coordinated Universal Time)
  String.raw`${WEEKDAY}${MONTH}[ \t]+(?<day>\d\d?),?[ \t]+(?<year>\d{4}),?[ \t]+${CLOCK}${ZONE}`,
  // C, Java: Sat Mar 14 08:22:30 UTC 2026
  String.raw`${WEEKDAY}${MONTH}[ \t]+(?<day>\d\d?)[ \t]+${CLOCK}${ZONE}[ \t]+(?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`, 'i'));

/** Also milli-, micro- or nanoseconds: from 2001 to 2286, the first ten digits are the seconds. */
const SINCE_1970 = /^(?<seconds>\d{10})(?:\.(?<point>\d+)|(?<digits>\d{3}|\d{6}|\d{9}))?$/;

/** A time without a zone is UTC. `24:00` is the next midnight, and a leap second the next second. `null` for 30 February or 3/4/2026. */
export function parseInstant(text: string): Instant | null {
  return parseUsual(text) ?? parseAny(text);
}

export function isInstant(text: string): boolean {
  return USUAL.test(text) || parseAny(text) !== null;
}

/** Matches nearly every event, but not the 29th to 31st or 24:00, which Date.parse accepts for any month. */
const USUAL = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Takes a fifth of the time of the general way. */
function parseUsual(text: string): Instant | null {
  return USUAL.test(text) ? { ms: Date.parse(text), ns: 0 } : null;
}

function parseAny(text: string): Instant | null {
  const since = SINCE_1970.exec(text)?.groups;
  if (since !== undefined) return instantOf(Number(since['seconds']), since['point'] ?? since['digits']);
  if (text.length > MOST_CHARACTERS) return null;
  for (const form of FORMS) {
    const parts = form.exec(text.trim())?.groups;
    if (parts !== undefined) return instantIn(parts);
  }
  return null;
}

/** Longer than any form with nine digits of a fraction and a zone name. */
const MOST_CHARACTERS = 100;

function instantIn(parts: Readonly<Record<string, string | undefined>>): Instant | null {
  const number = (name: string): number => Number(parts[name] ?? 0);
  const named = MONTHS.indexOf(parts['monthName']?.toLowerCase() ?? '') + 1;
  const month = named || number('month') || number('monthDigits');
  const day = number('day') || number('dayDigits');
  const [hour, minute, second] = [number('hour'), number('minute'), number('second')];
  const [offsetHours, offsetMinutes] = [number('zoneHours'), number('zoneMinutes')];
  const isOfPlaceAlone = parts['place'] !== undefined && (parts['utc'] ?? parts['sign']) === undefined;
  if (isOfPlaceAlone || (parts['utc']?.toLowerCase() === 'z' && parts['sign'] !== undefined)) return null;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && Number(parts['fraction'] ?? 0) === 0;
  if ((hour > 23 && !isEndOfDay) || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;

  // setUTCFullYear, because Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const midnight = new Date(0);
  midnight.setUTCFullYear(number('year'), month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return null;

  const offset = (offsetHours * 60 + offsetMinutes) * (parts['sign'] === undefined || parts['sign'] === '+' ? 1 : -1);
  return instantOf(midnight.getTime() / 1_000 + (hour * 60 + minute - offset) * 60 + second, parts['fraction']);
}

function instantOf(seconds: number, fraction = ''): Instant {
  const nanoseconds = Number(fraction.slice(0, 9).padEnd(9, '0'));
  const ns = nanoseconds % 1_000_000;
  return { ms: seconds * 1_000 + (nanoseconds - ns) / 1_000_000, ns };
}

/** Clocks are off by minutes and zones by hours. */
const FAR_AHEAD_MS = 24 * 60 * 60_000;

/** Such a time would supersede all other events until then. */
export function isFarAhead(created: Instant, now: number): boolean {
  return created.ms - now > FAR_AHEAD_MS;
}
