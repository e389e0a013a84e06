/** A time range that a visitor typed. */
export interface TypedRange {
  readonly since: Date;
  readonly until: Date;
  /** whether the span ends at the current time */
  readonly isLast: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const LONGEST_MS = 400 * DAY_MS;

const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const LENGTH = /^(?:last )?(\d{1,5}) ?(m|h|d|w)(?:in|ins|inutes?|ours?|ays?|eeks?)?$/;
const TIMES = /^(\d{1,2})(?::(\d\d))?(?: ?- ?(\d{1,2})(?::(\d\d))?)?$/;
const DAY_AND_TIMES = /^([\w ,.-]*?)(?:(?:^| )(\d{1,2}(?::\d\d)?(?: ?- ?\d{1,2}(?::\d\d)?)?))?$/;

/**
 * Reads `90m`, `14:00`, `9-11`, `yesterday`, `yesterday 9-11`, `mon 14:00`, `26 nov 9:30-11`, `2026-11-26`, or two
 * instants such as `2026-11-26T09:00Z/2026-11-26T11:00Z`. Times without a day are those of today, or of yesterday if
 * they are still to come.
 *
 * @param aheadMs - how far the clock of the reader is ahead of UTC
 * @returns `null` for any other text, and for a span that is empty, in the future or too long
 */
export function readRange(text: string, now: Date, aheadMs = 0): TypedRange | null {
  const typed = text
    .trim()
    .toLowerCase()
    .replaceAll(/[–—]/g, '-')
    .replaceAll(/ (?:to|until) /g, '-');
  const at = now.getTime();
  const length = LENGTH.exec(typed);
  if (length !== null) return span(at - Number(length[1]) * (UNITS[length[2] ?? ''] ?? 0), at, at);
  if (typed.includes('/')) {
    const [from = '', to = '', ...rest] = typed.split('/').map((each) => each.toUpperCase());
    return rest.length > 0 ? null : span(instant(from), instant(to), at);
  }
  const today = Math.floor((at + aheadMs) / DAY_MS) * DAY_MS;
  const [found, dayText = '', timesText] = dayAndTimes(typed);
  const day = dayText === '' ? today : dayOf(dayText, today);
  const times = timesText === undefined ? null : timesIn(timesText);
  if (day === null || (timesText !== undefined && times === null) || !found) return null;
  if (times === null) return span(day - aheadMs, Math.min(day + DAY_MS - aheadMs, at), at);
  const begin = day + times.from - aheadMs;
  const isToCome = dayText === '' && begin >= at;
  const since = isToCome ? begin - DAY_MS : begin;
  return span(since, times.to === null ? at : since + times.to - times.from, at);
}

function dayAndTimes(typed: string): readonly (string | undefined)[] {
  // The number of `26 nov` and `nov 26` is a day.
  const isDate = dayOf(typed, 0) !== null;
  return isDate ? [typed, typed] : (DAY_AND_TIMES.exec(typed) ?? []);
}

function span(since: number, until: number, now: number): TypedRange | null {
  const end = Math.min(until, now);
  if (!(since < end) || end - since > LONGEST_MS) return null;
  return { since: new Date(since), until: new Date(end), isLast: end === now };
}

function instant(text: string): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text) ? Date.parse(text) : Number.NaN;
}

/** In milliseconds of the day. An end that is not after the beginning is on the next day. */
function timesIn(text: string): { readonly from: number; readonly to: number | null } | null {
  const found = TIMES.exec(text);
  if (found === null) return null;
  const from = timeOf(found[1], found[2]);
  const to = found[3] === undefined ? null : timeOf(found[3], found[4]);
  if (from === null || (to === null && found[3] !== undefined)) return null;
  return { from, to: to !== null && to <= from ? to + DAY_MS : to };
}

function timeOf(hours: string | undefined, minutes = '0'): number | null {
  const ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  return Number(minutes) < 60 && ms <= DAY_MS ? ms : null;
}

function dayOf(text: string, today: number): number | null {
  if (text === 'today') return today;
  if (text === 'yesterday') return today - DAY_MS;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) {
    const day = Date.parse(text);
    // Date.parse reads 31 June as 1 July.
    return Number.isNaN(day) || new Date(day).getUTCDate() !== Number(text.slice(-2)) ? null : day;
  }
  const weekday = /^[a-z]{3,9}$/.test(text) ? DAYS.indexOf(text.slice(0, 3)) : -1;
  if (weekday >= 0) {
    const back = (new Date(today).getUTCDay() - weekday + 7) % 7;
    return today - back * DAY_MS;
  }
  const date = /^(?:(\d{1,2}) ([a-z]{3,9})|([a-z]{3,9}) (\d{1,2}))$/.exec(text);
  if (date === null) return null;
  const month = MONTHS.indexOf((date[2] ?? date[3] ?? '').slice(0, 3));
  const number = Number(date[1] ?? date[4]);
  if (month < 0) return null;
  const year = new Date(today).getUTCFullYear();
  const thisYear = Date.UTC(year, month, number);
  const day = thisYear > today ? Date.UTC(year - 1, month, number) : thisYear;
  return new Date(day).getUTCDate() === number ? day : null;
}
