import type { AnyInbox, Operations } from '../../inbox/contract.ts';
import type { CountSpan } from '../../inbox/operator/counts.ts';
import type { CountRow } from '../../inbox/rules/counted.ts';
import { operationsOf } from '../operations-of.ts';
import { acceptedIn, cameAt, endpointsIn, firstAt, hoursAt, lastAt, type Endpoint } from './lanes.ts';
import { comparedSpans, DAY_MS, HOUR_MS, type History } from './rhythm.ts';
import { gapOf, isRejecting, isSilent, rejectingSpan, spanOfGap, spansToKnow, usualGapMs } from './silence.ts';

/** The deliveries to an endpoint, compared with earlier days. */
export interface Traffic {
  /** `null` for all endpoints together. */
  readonly endpoint: string | null;
  /**
   * When a delivery was last accepted, accurate to the second, minute or hour. `null` if unknown. hookbox examines the
   * counts of the last 36 days. For one endpoint, while other endpoints receive deliveries, hookbox examines only the
   * last nine days.
   */
  readonly lastReceived: Date | null;
  /** The usual time between deliveries at this hour, in milliseconds. `null` if unknown or if deliveries are rare. */
  readonly usualGapMs: number | null;
  /**
   * Deliveries since the last accepted one or, if that one arrived in the last hour, all deliveries in the last hour.
   */
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

const MINUTE_MS = 60_000;
/** How far it is looked back for what was accepted last, the near past first; what is longer ago does not matter. */
const LOOKED_BACK_MS = [2 * HOUR_MS, 26 * HOUR_MS, 9 * DAY_MS, 36 * DAY_MS];
/** An endpoint at which nothing is accepted for a week while others go on was given up. */
const GIVEN_UP_MS = 7 * DAY_MS;
/** So many deliveries may be under way between two counts. */
const UNDER_WAY = 20;

/**
 * What comes in at an inbox and at each of its endpoints, compared with earlier days.
 *
 * @param now - milliseconds since 1970
 */
export async function trafficOf(inbox: AnyInbox, now: number): Promise<AllTraffic> {
  const operations = operationsOf(inbox);
  const [totals, newest] = await Promise.all([operations.totals(), newestReceived(operations, now)]);
  const names = endpointsIn(totals);
  const lanes: readonly Endpoint[] = [null, ...(names.length > 1 ? names : [])];
  const { begin, rows } = await countsUntilLast(operations, lanes, now);
  const lasts = lanes.map((lane) => {
    const last = lastAt(lane, rows, now);
    return lane === null ? precise(last, newest) : last;
  });
  const before = await hoursOf(
    operations,
    lasts.flatMap((last) => spansToKnow(last, now, begin)),
  );
  const gaps = await usualGaps(operations, lanes, { before, begin, now });
  const [all, ...endpoints] = lanes.map((endpoint, n) => {
    const last = lasts[n] ?? null;
    const span = rejectingSpan(last, now);
    const came = cameAt(endpoint, rows, span);
    const ever = acceptedIn(endpoint, totals);
    // Of an endpoint that is younger than the inbox the days before it tell nothing.
    const history = { hours: hoursAt(endpoint, before), begin: firstAt(endpoint, rows, ever) ?? begin };
    const everAccepted = ever > 0;
    return {
      endpoint,
      lastReceived: last === null ? null : new Date(last),
      usualGapMs: gaps[n] ?? null,
      lately: { ...came, since: new Date(span.since) },
      alarm: alarmOf({ endpoint, last, now, span, rows }, { ...came, everAccepted }, history),
    };
  }) as [Traffic, ...Traffic[]]; // the first one is that of all
  return { all, endpoints };
}

function alarmOf(
  lane: {
    readonly endpoint: Endpoint;
    readonly last: number | null;
    readonly now: number;
    readonly span: CountSpan;
    readonly rows: readonly CountRow[];
  },
  came: Parameters<typeof isRejecting>[1],
  history: History,
): Traffic['alarm'] {
  const { endpoint, last, now, span, rows } = lane;
  if (endpoint !== null) {
    const isGivenUp = came.everAccepted && (last === null || now - last > GIVEN_UP_MS);
    if (isGivenUp || !isAccountedFor(rows, span)) return null;
  }
  if (isRejecting(span, came, history)) return 'rejecting';
  return last !== null && isSilent(last, now, history) ? 'silent' : null;
}

/** The counts of a receiver that was killed may lack its last deliveries: then no endpoint is known to be silent. */
function isAccountedFor(rows: readonly CountRow[], span: CountSpan): boolean {
  const arrived = rows.filter(({ what, at }) => what === 'arrived' && at >= span.since && at <= span.until);
  return cameAt(null, rows, span).accepted <= arrived.reduce((sum, { count }) => sum + count, 0) + UNDER_WAY;
}

/** What was counted, from so long ago on that it holds the last delivery of each lane that was not given up. */
async function countsUntilLast(
  operations: Operations,
  lanes: readonly Endpoint[],
  now: number,
): Promise<{ readonly begin: number; readonly rows: readonly CountRow[] }> {
  const rows: CountRow[] = [];
  let begin: number | null = null;
  let until = now + MINUTE_MS;
  for (const ms of LOOKED_BACK_MS) {
    const since = Math.floor((now - ms) / HOUR_MS) * HOUR_MS;
    const counted = await operations.deliveries([{ since, until }], 'minute');
    rows.push(...counted.rows);
    begin = counted.begin;
    if (begin === null || begin >= since) break;
    // What was given up is looked for no further.
    const isEnough = (lane: Endpoint) => lastAt(lane, rows, now) !== null || (lane !== null && ms > GIVEN_UP_MS);
    if (lanes.every(isEnough)) break;
    until = since;
  }
  return { begin: begin ?? now, rows };
}

/** When the newest event was received, which may have been imported; `null` where there is none. */
async function newestReceived(operations: Operations, now: number): Promise<number | null> {
  const { events } = await operations.search({}, { limit: 1 });
  const at = events[0]?.receivedAt.getTime();
  return at === undefined ? null : Math.min(at, now);
}

/** To the second, where the newest event is of the minute in which the last delivery was counted. */
function precise(last: number | null, newest: number | null): number | null {
  if (last === null || newest === null) return last ?? newest;
  return newest > last && newest - last < MINUTE_MS ? newest : last;
}

/** How often something comes at this hour, or on this day where that is less than once an hour. */
async function usualGaps(
  operations: Operations,
  lanes: readonly Endpoint[],
  { before, begin, now }: { readonly before: readonly CountRow[]; readonly begin: number; readonly now: number },
): Promise<readonly (number | null)[]> {
  const gapsIn = (rows: readonly CountRow[], span: CountSpan) =>
    lanes.map((endpoint) => usualGapMs(span, { hours: hoursAt(endpoint, rows), begin }));
  const hourly = gapsIn(before, spanOfGap(now, 'hour'));
  if (hourly.every((gap) => gap !== null)) return hourly;
  const day = spanOfGap(now, 'day');
  const daily = gapsIn(await hoursOf(operations, comparedSpans(day, begin)), day);
  return hourly.map((gap, n) => gapOf(gap, daily[n] ?? null));
}

/** What was counted in the hours of some spans, each once. */
async function hoursOf(operations: Operations, spans: readonly CountSpan[]): Promise<readonly CountRow[]> {
  return spans.length === 0 ? [] : (await operations.deliveries(joined(spans), 'hour')).rows;
}

/** Each hour once. */
function joined(spans: readonly CountSpan[]): readonly CountSpan[] {
  const apart: CountSpan[] = [];
  for (const span of spans.toSorted((one, other) => one.since - other.since)) {
    const before = apart.at(-1);
    if (before === undefined || span.since > before.until) apart.push(span);
    else apart[apart.length - 1] = { since: before.since, until: Math.max(before.until, span.until) };
  }
  return apart;
}
