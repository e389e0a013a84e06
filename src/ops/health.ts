import { InboxUnavailableError, isInstance, messageOf } from '../errors.ts';
import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/host-limits.ts';
import type { AnyInbox, DatabaseFault } from '../inbox/contract.ts';
import { PING_LIMIT_MS } from '../inbox/ping.ts';
import type { UnhandledType } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';
import { databaseFaults } from './database-faults.ts';
import { operationsOf } from './operations-of.ts';
import type { AllTraffic, Traffic } from './traffic.ts';
import { type Unhandled, watch, type Watch, type Alarm } from './watch.ts';
import { age, bounded, listed, number, plural, shortTime } from './words/format.ts';
import { causeOfRejection } from './words/rejection-causes.ts';

/** The result of {@link readiness}. */
export type Readiness =
  | {
      readonly ready: true;
      /** Events that no processor handles. They are stored, but need attention. */
      readonly unhandled: Unhandled['waiting'];
      /** Problems that need attention. A load balancer should continue to send deliveries. */
      readonly warnings: readonly Warning[];
      /** Why the checks did not finish in time. `unhandled` and `warnings` are then empty. */
      readonly unwatched?: string;
    }
  | {
      readonly ready: false;
      /** Safe to show to anyone. */
      readonly code: InboxUnavailableError['code'];
      /** Show this only to people who may see the path of the file or the names of servers. */
      readonly why: string;
    };

/**
 * Tests whether the inbox can store a delivery now, by writing and removing a row. The test takes at most two seconds.
 * The result also contains the events that no processor handles, and warnings about silence, rejections, missing
 * processors and the database server. If these checks do not finish in time, the inbox still counts as ready, and `unwatched` contains the
 * reason.
 * @example
 * ```ts
 * import { readiness } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const health = await readiness(inbox);
 * console.log(health.ready ? 'ready' : health.why);
 * if (health.ready) for (const { alarm, text } of health.warnings) console.log(alarm, text);
 * ```
 */
export async function readiness(inbox: AnyInbox): Promise<Readiness> {
  const operations = operationsOf(inbox);
  const deadline = startDeadline(PING_LIMIT_MS);
  try {
    await operations.ping();
    return { ready: true, ...(await watched(inbox, deadline)) };
  } catch (failure) {
    const code = isInstance(failure, InboxUnavailableError) ? failure.code : 'FAILED';
    return { ready: false, code, why: messageOf(failure) };
  } finally {
    deadline.met();
  }
}

type Watched = Omit<Extract<Readiness, { ready: true }>, 'ready'>;

async function watched(inbox: AnyInbox, deadline: Deadline): Promise<Watched> {
  const blind = (unwatched: string): Watched => ({ unhandled: [], warnings: [], unwatched });
  try {
    const seen = await withinDeadline(watchOnce(inbox), deadline);
    if (seen === LATE) return blind(`checking the inbox took more than ${PING_LIMIT_MS / 1_000} s`);
    const [watched, faults] = seen;
    const ofDatabase = faults.map(({ what, advice }): Warning => {
      return { alarm: 'database', endpoint: null, types: [], text: `${what} ${advice}.` };
    });
    return {
      unhandled: watched.unhandled.waiting,
      warnings: [...warningsOf(watched, inbox, new Date()), ...ofDatabase],
    };
  } catch (failure) {
    return blind(messageOf(failure));
  }
}

const underWay = new WeakMap<AnyInbox, Promise<readonly [Watch, readonly DatabaseFault[]]>>();

/** Simultaneous probes share one check, so slow checks do not pile up. */
function watchOnce(inbox: AnyInbox): Promise<readonly [Watch, readonly DatabaseFault[]]> {
  const begun =
    underWay.get(inbox) ??
    Promise.all([watch(inbox), databaseFaults(inbox)] as const).finally(() => underWay.delete(inbox));
  underWay.set(inbox, begun);
  return begun;
}

/** A problem, described in one or two sentences. */
export interface Warning {
  readonly alarm: Alarm;
  /** `null` for all endpoints. */
  readonly endpoint: string | null;
  readonly text: string;
  /** The types that no processor handles. */
  readonly types: readonly string[];
}

/** The worst first. */
export function warningsOf(seen: Watch, inbox: Pick<AnyInbox, 'file'>, now: Date): readonly Warning[] {
  return [
    ...alarmedLanes(seen.traffic).map((lane) => trafficWarning(lane, inbox, now)),
    ...processorWarnings(seen, now),
  ];
}

/** One warning for all endpoints, unless only some have this problem, or for different reasons. */
function alarmedLanes({ all, endpoints }: AllTraffic): readonly Traffic[] {
  const alarmed = endpoints.filter(({ alarm }) => alarm !== null);
  if (all.alarm === null) return alarmed;
  if (alarmed.length === 0) return [all];
  const isOfOne = all.alarm === 'rejecting' && alarmed.length === 1;
  const isAlike = alarmed.every(({ alarm }) => alarm === all.alarm);
  const isActiveElsewhere = lastAmong(endpoints.filter(({ alarm }) => alarm === null)) > lastAmong(alarmed);
  return isOfOne || !isAlike || isActiveElsewhere ? alarmed : [all];
}

function lastAmong(all: readonly Traffic[]): number {
  return all.reduce((last, { lastReceived }) => Math.max(last, lastReceived?.getTime() ?? -Infinity), -Infinity);
}

function trafficWarning(traffic: Traffic, inbox: Pick<AnyInbox, 'file'>, now: Date): Warning {
  const { alarm, endpoint, lastReceived, usualGapMs, lately } = traffic;
  const at = endpoint === null ? '' : ` at ${oneLine(endpoint, 80)}`;
  if (alarm === 'rejecting') {
    const since = lastReceived === null && lately.accepted === 0 ? '' : ` since ${sinceText(lately.since, now)}`;
    const { rejected, accepted, cause } = lately;
    const all = plural(rejected + accepted, 'delivery', 'deliveries');
    const which =
      accepted === 0
        ? `Every delivery${at}${since} was rejected (${number(rejected)} in all)`
        : `${number(rejected)} of ${all}${at}${since} were rejected`;
    const why = cause === null ? '' : ` ${causeOfRejection(cause, inbox).cause}`;
    return { alarm, endpoint, types: [], text: `${which}.${why}` };
  }
  const usual = usualGapMs === null ? 'on earlier days, deliveries arrived at these hours' : usualText(usualGapMs);
  const since = lastReceived === null ? '' : ` since ${sinceText(lastReceived, now)}`;
  return { alarm: 'silent', endpoint, types: [], text: `No delivery has arrived${at}${since}; ${usual}.` };
}

function processorWarnings({ traffic, missing, unhandled }: Watch, now: Date): readonly Warning[] {
  const named = (endpoint: string): string =>
    endpoint === '*' || (endpoint === 'default' && traffic.endpoints.length === 0)
      ? ''
      : ` at ${oneLine(endpoint, 80)}`;
  const together = Map.groupBy(unhandled.waiting, ({ endpoint, since }) => `${since?.getTime() ?? ''} ${endpoint}`);
  const waiting = Array.from(together.values(), (some): Warning => {
    const [{ endpoint, since }] = some as [UnhandledType, ...UnhandledType[]];
    const types = some.map(({ type }) => type);
    const count = some.reduce((sum, each) => sum + each.count, 0);
    const where = `${typesText(types)}${named(endpoint)}`;
    const noProcessor =
      since === null
        ? `No processor has ever run for the endpoint that receives ${where}`
        : `No processor for ${where} has run since ${sinceText(since, now)}`;
    const events = `${bounded({ count, more: some.some(({ more }) => more) })} ${count === 1 ? 'event is' : 'events are'}`;
    return { alarm: 'unhandled', endpoint, types, text: `${noProcessor}: ${events} waiting.` };
  });
  const gone = missing.map(({ endpoint, types, since }): Warning => {
    const text = `No processor for ${typesText(types)}${named(endpoint)} has run since ${sinceText(since, now)}.`;
    return { alarm: 'no-processor', endpoint, types, text };
  });
  return [...waiting, ...gone];
}

const NAMED_TYPES = 3;

/** `order.created, order.ready and 2 more types`; `any type` for a handler of all types. */
export function typesText(types: readonly string[]): string {
  if (types.includes('*')) return 'any type';
  if (types.length === 0) return 'no type';
  const more = types.length - NAMED_TYPES;
  const named = types.slice(0, more > 1 ? NAMED_TYPES : types.length).map((type) => oneLine(type, 80));
  return listed(more > 1 ? [...named, `${more} more types`] : named);
}

/** `12:58 UTC (2 h 3 min)` */
export function sinceText(at: Date, now: Date): string {
  return `${shortTime(at, now)} UTC (${age(now.getTime() - at.getTime())})`;
}

function usualText(ms: number): string {
  const gap = ms < 10_000 ? `${Number((ms / 1_000).toPrecision(2))} s` : age(ms);
  return `at this hour, a delivery usually arrives every ${gap}`;
}

/** @param said - the warnings shown beside it, which are not repeated */
export function calmText(
  { traffic: { all }, processors }: Watch,
  now: Date,
  said: readonly Pick<Warning, 'alarm' | 'endpoint'>[],
): string {
  const isSilent = said.some(
    ({ alarm, endpoint }) => (alarm === 'silent' || alarm === 'rejecting') && endpoint === null,
  );
  const isNobodyThere =
    processors.length === 0 && said.some(({ alarm }) => alarm === 'unhandled' || alarm === 'no-processor');
  const { lastReceived, usualGapMs } = all;
  const usual = usualGapMs === null ? '' : `; ${usualText(usualGapMs)}`;
  const received =
    lastReceived === null
      ? 'No delivery has arrived yet'
      : `The last delivery arrived ${age(now.getTime() - lastReceived.getTime())} ago`;
  return [
    ...(isSilent ? [] : [`${received}${usual}.`]),
    ...(isNobodyThere ? [] : [`${processorsText(processors)}.`]),
  ].join(' ');
}

function processorsText(processors: Watch['processors']): string {
  if (processors.length === 0) return 'No processor is running';
  const types = new Set(processors.flatMap(({ types }) => types));
  const handled = types.has('*') ? 'every type' : plural(types.size, 'type');
  return processors.length === 1
    ? `1 processor is running and handles ${handled}`
    : `${number(processors.length)} processors are running and together handle ${handled}`;
}
