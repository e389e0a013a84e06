/** How the command and the page write figures, times and lists. */

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 2 });
const dayAndMonth = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
const dayOfAnotherYear = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});

/** `12,345` */
export function number(value: number): string {
  return whole.format(value);
}

/** `12`, or `10,000+` beyond the limit of counting */
export function bounded({ count, more }: { readonly count: number; readonly more: boolean }): string {
  return more ? `${number(count)}+` : number(count);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c` */
export function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}

/** `0.4%`; only an exact zero is 0%, and only an exact one is 100%. */
export function percent(part: number): string {
  if (part > 0 && part < 0.001) return '< 0.1%';
  if (part < 1 && part >= 0.9995) return '> 99.9%';
  return `${Math.round(part * 1_000) / 10}%`;
}

/** `512 bytes`, `1.5 KiB`, `64 MiB` */
export function bytes(size: number): string {
  if (size < 1_024) return plural(size, 'byte');
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = size / 1_024;
  let unit = 0;
  // From 1,023.95 on, it would round to 1,024.
  while (value >= 1_023.95 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value < 10 ? Math.round(value * 10) / 10 : number(value)} ${units[unit] ?? ''}`;
}

/** `70 ms`, `1.5 s`, `over 60 s`; `–` if nothing was measured */
export function latency(ms: number | null): string {
  if (ms === null) return '–';
  if (ms === Infinity) return 'over 60 s';
  return ms < 1_000 ? `${number(ms)} ms` : `${short.format(ms / 1_000)} s`;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Milliseconds as `12 s`, `47 min`, `3 h 5 min` or `12 d 4 h`. */
export function age(ms: number): string {
  const lasted = Math.max(ms, 0);
  if (lasted < MINUTE) return `${Math.floor(lasted / SECOND)} s`;
  if (lasted < HOUR) return `${Math.floor(lasted / MINUTE)} min`;
  if (lasted < DAY) return pair(lasted, HOUR, 'h', MINUTE, 'min');
  return pair(lasted, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${number(Math.floor(ms / large))} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** `47 min ago`, `in 5 min`, `now` */
export function relative(at: Date, now: Date): string {
  const since = now.getTime() - at.getTime();
  if (Math.abs(since) < SECOND) return 'now';
  return since > 0 ? `${age(since)} ago` : `in ${age(-since)}`;
}

/** `2026-01-01 03:12:07 UTC` */
export function timestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `03:12` on the same day, else `31 Dec 03:12`; UTC. */
export function shortTime(at: Date, now: Date): string {
  return timeOnDay(at, now, at.getUTCFullYear() === now.getUTCFullYear() ? dayAndMonth : dayOfAnotherYear);
}

/** `03:12`, or the day at its beginning; UTC. */
export function axisTime(at: Date): string {
  const time = at.toISOString().slice(11, 16);
  return time === '00:00' ? axisDay(at) : time;
}

/** `31 Dec`, UTC. */
export function axisDay(at: Date): string {
  return dayAndMonth.format(at);
}

function timeOnDay(at: Date, now: Date, day: Intl.DateTimeFormat): string {
  const iso = at.toISOString();
  const time = iso.slice(11, 16);
  return iso.slice(0, 10) === now.toISOString().slice(0, 10) ? time : `${day.format(at)} ${time}`;
}

/** `(3 dead) Overview`: tabs are narrow. */
export function withDead(dead: { readonly count: number; readonly more: boolean }, title: string): string {
  return dead.count === 0 ? title : `(${bounded(dead)} dead) ${title}`;
}
