import type { AnyInbox } from '../inbox/contract.ts';
import { rerunOfferedSince, IGNORE_AFTER_MS, PRESENT_MS, seenSince } from '../inbox/rules/processors.ts';
import {
  EVERYTHING,
  type IgnoredType,
  type UnhandledType,
  type ProcessorsSeen,
  type RunningProcessor,
} from '../inbox/work.ts';
import { operationsOf } from './operations-of.ts';
import { trafficOf, type AllTraffic } from './traffic.ts';

export interface Watch extends Processing {
  readonly traffic: AllTraffic;
  readonly unhandled: Unhandled;
}

/** A problem that hookbox warns about. */
export type Alarm =
  /** No deliveries arrive, although many are expected. */
  | 'silent'
  /** All or nearly all deliveries are rejected. */
  | 'rejecting'
  /** The processors of an endpoint are gone. */
  | 'no-processor'
  /** Events are pending and no running processor handles their type. */
  | 'unhandled'
  /** The database server needs attention. */
  | 'database';

export async function watch(inbox: AnyInbox, now = Date.now()): Promise<Watch> {
  const [traffic, unhandled, seen] = await Promise.all([
    trafficOf(inbox, now),
    unhandledEvents(inbox, now),
    inbox.processors(now),
  ]);
  const lastSeen = new Map<string, Date>();
  for (const { type, seenAt } of seen.handled) {
    if (seenAt > (lastSeen.get(type) ?? new Date(0))) lastSeen.set(type, seenAt);
  }
  const missing = missingProcessors(seen, now).filter(({ endpoint }) =>
    // Another warning reports their unhandled events.
    unhandled.waiting.every((type) => type.endpoint !== endpoint || type.since === null),
  );
  const areInline = await Promise.all(missing.map((one) => isProcessedSince(inbox, one)));
  return {
    traffic,
    unhandled,
    processors: seen.processors,
    lastSeen: Object.fromEntries(lastSeen),
    handled: seen.handled,
    missing: missing.filter((_, n) => areInline[n] !== true),
  };
}

/** Events that no processor handles, or that were ignored because no processor handled their type. */
export interface Unhandled {
  /** Events that have been pending for ten minutes and whose type no running processor handles. */
  readonly waiting: readonly UnhandledType[];
  /**
   * Events that were ignored in the last seven days for lack of a processor, and whose type a processor handles now.
   */
  readonly ignored: readonly IgnoredType[];
  /** The beginning of these seven days, to pass as the filter condition `ignoredSince`. */
  readonly ignoredSince: Date;
}

async function unhandledEvents(inbox: AnyInbox, now: number): Promise<Unhandled> {
  const since = rerunOfferedSince(now);
  const [waiting, ignored] = await Promise.all([inbox.unhandled(now), inbox.ignoredSince(EVERYTHING, since, now)]);
  return { waiting, ignored: ignored.filter(({ handled }) => handled), ignoredSince: new Date(since) };
}

/** An endpoint whose processors are all gone. */
export interface MissingProcessors {
  /** The endpoint; `*` for all endpoints. */
  readonly endpoint: string;
  /** The types that these processors handled; `*` for all types. */
  readonly types: readonly string[];
  /** When any of these processors was last seen. */
  readonly since: Date;
}

/** The running processors and the missing ones. */
export interface Processing {
  /** Running processors, in order of their start. */
  readonly processors: readonly RunningProcessor[];
  /**
   * For each type, when a processor that handles it was last seen, at any endpoint. The key `*` stands for all types.
   */
  readonly lastSeen: Readonly<Record<string, Date>>;
  /** The same for each endpoint and type. `*` stands for all endpoints or all types. */
  readonly handled: ProcessorsSeen['handled'];
  readonly missing: readonly MissingProcessors[];
}

/**
 * The endpoints that lost all their processors in the last seven days. Processors with named endpoints replace one for
 * every endpoint.
 */
function missingProcessors({ handled }: Pick<ProcessorsSeen, 'handled'>, now: number): MissingProcessors[] {
  const byEndpoint = Map.groupBy(handled, ({ endpoint }) => endpoint);
  const lastAt = (endpoint: string): number =>
    (byEndpoint.get(endpoint) ?? []).reduce((last, { seenAt }) => Math.max(last, seenAt.getTime()), -Infinity);
  const lastNamed = Math.max(...[...byEndpoint.keys()].filter((endpoint) => endpoint !== '*').map(lastAt));
  return [...byEndpoint.keys()].flatMap((endpoint) => {
    const last = lastAt(endpoint);
    if (Math.max(last, lastAt('*')) > seenSince(now) || last <= now - IGNORE_AFTER_MS) return [];
    if (endpoint === '*' && (lastNamed > seenSince(now) || lastNamed > last + PRESENT_MS)) return [];
    // Without types that were dropped earlier.
    const types = (byEndpoint.get(endpoint) ?? []).filter(({ seenAt }) => seenAt.getTime() > seenSince(last));
    return { endpoint, types: types.map(({ type }) => type).toSorted(), since: new Date(last) };
  });
}

/** Handlers run without a processor in inline mode. */
async function isProcessedSince(inbox: AnyInbox, { endpoint, since }: MissingProcessors): Promise<boolean> {
  const at = endpoint === '*' ? {} : { endpoint };
  const { events } = await operationsOf(inbox).search({ ...at, states: ['processed'], since }, { limit: 1 });
  // Attempts of the last processors may have ended some minutes later.
  return (events[0]?.settledAt?.getTime() ?? 0) > since.getTime() + PRESENT_MS;
}
