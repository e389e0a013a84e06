import type { AnyInbox, Operations } from '../inbox/contract.ts';
import type { CountRow, CountTotal } from '../inbox/rules/counted.ts';
import type { CountSpan } from '../inbox/operator/counts.ts';
import { operationsOf } from './operations-of.ts';

/** The deliveries to an endpoint, compared with earlier days. */
export interface Traffic {
  /** `null` for all endpoints together. */
  readonly endpoint: string | null;
  /**
   * When a delivery was last accepted, accurate to the second, minute or hour, in the last 36 days. `null` if unknown.
   */
  readonly lastReceived: Date | null;
  /** The usual time between deliveries at this hour, in milliseconds. `null` if unknown or if deliveries are rare. */
  readonly usualGapMs: number | null;
  /** Deliveries since the last accepted one, or in the last hour if that is longer. */
  readonly lately: {
    readonly since: Date;
    readonly accepted: number;
    readonly rejected: number;
    /** The most frequent reason for rejection. `null` if no delivery was rejected. */
    readonly cause: string | null;
  };
  /**
   * `silent`: no deliveries arrive, although many are expected. `rejecting`: all or nearly all deliveries are rejected.
   * `null` if neither applies, or if unknown.
   */
  readonly alarm: 'silent' | 'rejecting' | null;
}

/** The traffic of an inbox. */
export interface AllTraffic {
  readonly all: Traffic;
  /** The traffic of each endpoint, if there are several endpoints. */
  readonly endpoints: readonly Traffic[];
}

/** `null` for all endpoints together. */
type Endpoint = string | null;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

/** Silent: nothing for this long, while this many deliveries were expected. */
const LEAST_SILENCE_MS = 10 * MINUTE_MS;
const LEAST_EXPECTED = 50;
/** Rejecting: this many rejections, and few accepted compared with them and with the expected number. */
const LEAST_REJECTED = 5;
const MOST_ACCEPTED_OF_REJECTED = 1 / 20;
const MOST_ACCEPTED_OF_EXPECTED = 1 / 5;
/** Receivers write the counts of an endpoint only once a second. */
const UNDER_WAY = 20;
/** Most inboxes need only the first step. */
const LOOKED_BACK_MS = [2 * HOUR_MS, 36 * DAY_MS];

export async function trafficOf(inbox: AnyInbox, now: number): Promise<AllTraffic> {
  const operations = operationsOf(inbox);
  const [totals, { events }] = await Promise.all([operations.totals(), operations.search({}, { limit: 1 })]);
  const names = endpointsIn(totals);
  const { begin, rows } = await countsUntilLast(operations, [null, ...names], now);
  const each = [null, ...(names.length > 1 ? names : [])].map((endpoint) => {
    const counted = lastAccepted(endpoint, rows);
    const last = endpoint === null ? precise(counted, events[0]?.receivedAt.getTime(), now) : counted;
    // The minute of the last delivery may also contain earlier ones.
    const since = Math.max(Math.min((last ?? -Infinity) + 1, now - HOUR_MS), now - WEEK_MS);
    return { endpoint, last, since };
  });
  const before = await hoursBefore(operations, [now, ...each.map(({ since }) => since)], now);

  const [all, ...endpoints] = each.map(({ endpoint, last, since }): Traffic => {
    const ever = sum(totals.filter((total) => isAccepted(endpoint, total)));
    const accepted = rows.filter((row) => isAccepted(endpoint, row));
    // An endpoint may be younger than the inbox.
    const isYoung = sum(accepted) >= ever;
    const history: History = {
      hours: hoursAt(endpoint, before),
      begin: isYoung ? accepted.reduce((first, { at }) => Math.min(first, at), Infinity) : begin,
    };
    const usual = usualAt(hourOf(now), now, history);
    const lately = { since: new Date(since), ...cameSince(endpoint, rows, since) };
    const isGivenUp = endpoint !== null && ever > 0 && (last === null || now - last > WEEK_MS);
    const isUnsure = endpoint !== null && !isAccountedFor(rows, since);
    return {
      endpoint,
      lastReceived: last === null ? null : new Date(last),
      usualGapMs: usual === null || usual < 1 ? null : HOUR_MS / usual,
      lately,
      alarm: isGivenUp || isUnsure ? null : alarmOf({ last, now, lately, history }),
    };
  }) as [Traffic, ...Traffic[]];
  return { all, endpoints };
}

export function alarmOf({
  last,
  now,
  lately: { since, accepted, rejected },
  history,
}: {
  readonly last: number | null;
  readonly now: number;
  readonly lately: Traffic['lately'];
  readonly history: History;
}): Traffic['alarm'] {
  if (rejected >= LEAST_REJECTED && accepted <= rejected * MOST_ACCEPTED_OF_REJECTED) {
    const expected = expectedIn({ since: since.getTime(), until: now }, history);
    const isFew = accepted <= (expected ?? 0) * MOST_ACCEPTED_OF_EXPECTED;
    if (isFew && (expected === null || expected >= LEAST_REJECTED)) return 'rejecting';
  }
  if (last === null || now - last < LEAST_SILENCE_MS) return null;
  const span = { since: last, until: Math.min(now, last + WEEK_MS) };
  return (expectedIn(span, history) ?? 0) >= LEAST_EXPECTED ? 'silent' : null;
}

export interface History {
  readonly hours: ReadonlyMap<number, number>;
  readonly begin: number;
}

/**
 * How many deliveries a span should have brought. For each hour, the lowest usual number of it and its neighbours
 * counts, as clocks may have changed by an hour, and a shop may open late. `null` without an earlier day.
 */
function expectedIn({ since, until }: CountSpan, history: History): number | null {
  let expected = 0;
  for (let hour = hourOf(since); hour < until; hour += HOUR_MS) {
    const usual = [-HOUR_MS, 0, HOUR_MS].map((ms) => usualAt(hour + ms, since, history));
    if (usual.includes(null)) return null;
    const part = Math.min(until, hour + HOUR_MS) - Math.max(since, hour);
    expected += (Math.min(...usual.map(Number)) * part) / HOUR_MS;
  }
  return expected;
}

/**
 * The median of the last seven days or, if lower, of the same weekday in the last four weeks. `null` without an earlier
 * day.
 *
 * @param until - only hours before this time count
 */
export function usualAt(hour: number, until: number, { hours, begin }: History): number | null {
  const first = Math.max(1, Math.floor((hour - until) / DAY_MS) + 1);
  const medians = [
    [0, 1, 2, 3, 4, 5, 6].map((days) => first + days),
    [7, 14, 21, 28].filter((days) => days >= first),
  ].flatMap((days) => {
    const counts = days
      .map((ago) => hour - ago * DAY_MS)
      .filter((at) => at >= begin)
      .map((at) => hours.get(at) ?? 0)
      .toSorted((one, other) => one - other);
    return counts[Math.floor((counts.length - 1) / 2)] ?? [];
  });
  return medians.length === 0 ? null : Math.min(...medians);
}

function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

async function hoursBefore(
  operations: Operations,
  begins: readonly number[],
  now: number,
): Promise<readonly CountRow[]> {
  const spans: { since: number; until: number }[] = [];
  for (const begin of new Set(begins)) {
    const since = hourOf(begin) - 2 * HOUR_MS;
    const until = hourOf(now) + 2 * HOUR_MS;
    if (now - begin > DAY_MS) spans.push({ since: since - 28 * DAY_MS, until: since + 3 * HOUR_MS });
    else
      for (const days of [1, 2, 3, 4, 5, 6, 7, 14, 21, 28])
        spans.push({ since: since - days * DAY_MS, until: until - days * DAY_MS });
  }
  const apart: typeof spans = [];
  for (const span of spans.toSorted((one, other) => one.since - other.since)) {
    const before = apart.at(-1);
    if (before === undefined || span.since > before.until) apart.push(span);
    else before.until = Math.max(before.until, span.until);
  }
  return (await operations.deliveries(apart, 'hour')).rows;
}

async function countsUntilLast(
  operations: Operations,
  endpoints: readonly Endpoint[],
  now: number,
): Promise<{ readonly begin: number; readonly rows: readonly CountRow[] }> {
  const rows: CountRow[] = [];
  let begin: number | null = null;
  let until = now + 1;
  for (const ms of LOOKED_BACK_MS) {
    const since = hourOf(now - ms);
    const counted = await operations.deliveries([{ since, until }], 'minute');
    rows.push(...counted.rows);
    begin = counted.begin;
    if (endpoints.every((endpoint) => lastAccepted(endpoint, rows) !== null)) break;
    until = since;
  }
  return { begin: begin ?? now, rows };
}

function hoursAt(endpoint: Endpoint, rows: readonly CountRow[]): History['hours'] {
  const hours = new Map<number, number>();
  for (const row of rows) {
    if (isAccepted(endpoint, row)) hours.set(row.at, (hours.get(row.at) ?? 0) + row.count);
  }
  return hours;
}

function lastAccepted(endpoint: Endpoint, rows: readonly CountRow[]): number | null {
  return rows.reduce<number | null>(
    (last, row) => (isAccepted(endpoint, row) ? Math.max(last ?? row.at, row.at) : last),
    null,
  );
}

/** The time of the newest event, if it belongs to the minute of the last counted delivery, or if none was counted. */
function precise(counted: number | null, newest: number | undefined, now: number): number | null {
  if (newest === undefined) return counted;
  if (counted === null) return Math.min(newest, now);
  return newest > counted && newest - counted < MINUTE_MS ? Math.min(newest, now) : counted;
}

function isAccepted(endpoint: Endpoint, { what, detail }: Pick<CountRow, 'what' | 'detail'>): boolean {
  return endpoint === null ? what === 'stored' || what === 'duplicate' : what === 'arrived' && detail === endpoint;
}

function endpointsIn(totals: readonly CountTotal[]): readonly string[] {
  const names = totals.flatMap(({ what, detail }) => {
    if (what === 'arrived') return detail;
    return what === 'refused' ? refusal(detail).endpoint : [];
  });
  return [...new Set(names)].toSorted();
}

/** `signature-mismatch default`: reasons contain no space. */
function refusal(detail: string): { readonly reason: string; readonly endpoint: string } {
  const at = detail.indexOf(' ');
  return { reason: detail.slice(0, at), endpoint: detail.slice(at + 1) };
}

function cameSince(endpoint: Endpoint, rows: readonly CountRow[], since: number): Omit<Traffic['lately'], 'since'> {
  const causes = new Map<string, number>();
  const lately = rows.filter(({ at }) => at >= since);
  for (const { what, detail, count } of lately) {
    const refused = what === 'refused' ? refusal(detail) : null;
    const cause = endpoint === null ? what === 'rejected' && detail : refused?.endpoint === endpoint && refused.reason;
    if (cause !== false) causes.set(cause, (causes.get(cause) ?? 0) + count);
  }
  const [commonest] = [...causes].toSorted(([, one], [, other]) => other - one);
  return {
    accepted: sum(lately.filter((row) => isAccepted(endpoint, row))),
    rejected: [...causes.values()].reduce((a, b) => a + b, 0),
    cause: commonest?.[0] ?? null,
  };
}

/** A receiver that was killed may not have counted its last deliveries: then no endpoint is known to be silent. */
function isAccountedFor(rows: readonly CountRow[], since: number): boolean {
  const arrived = rows.filter(({ what, at }) => what === 'arrived' && at >= since);
  return cameSince(null, rows, since).accepted <= sum(arrived) + UNDER_WAY;
}

function sum(rows: readonly Pick<CountRow, 'count'>[]): number {
  return rows.reduce((all, { count }) => all + count, 0);
}
