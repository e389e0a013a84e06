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

/** What nobody may notice by itself: that nothing comes, that all is rejected, that nobody handles anything. */
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
  | 'unhandled';

/** Looks at an inbox as a watchman does. */
export async function watch(inbox: AnyInbox, now = Date.now()): Promise<Watch> {
  const [traffic, handling] = await Promise.all([trafficOf(inbox, now), handlingOf(inbox, now)]);
  return { traffic, ...handling };
}

async function handlingOf(inbox: AnyInbox, now: number): Promise<Omit<Watch, 'traffic'>> {
  const unhandled = await unhandledEvents(inbox, now);
  return { unhandled, ...(await processingOf(inbox, unhandled.waiting, now)) };
}

/** Events that no processor handles, or that were ignored because no processor handled their type. */
export interface Unhandled {
  /** Events that have been pending for ten minutes and whose type no running processor handles. */
  readonly waiting: readonly UnhandledType[];
  /**
   * Events that were ignored in the last seven days because no processor handled their type, and whose type a processor
   * handles now.
   */
  readonly ignored: readonly IgnoredType[];
  /** The beginning of these seven days, to pass as the filter condition `ignoredSince`. */
  readonly ignoredSince: Date;
}

/** Whether somebody has to start a processor, or to rerun what was ignored before one came. */
async function unhandledEvents(inbox: AnyInbox, now = Date.now()): Promise<Unhandled> {
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
   * For each type, when a processor that handles this type was last seen, at any endpoint. The key `*` stands for all
   * types.
   */
  readonly lastSeen: Readonly<Record<string, Date>>;
  /**
   * For each endpoint and type, when a processor that handles this type was last seen. `*` stands for all endpoints or
   * all types.
   */
  readonly handled: ProcessorsSeen['handled'];
  /** Endpoints whose processors are all gone. */
  readonly missing: readonly MissingProcessors[];
}

/** Who handles the events of an inbox now. */
async function processingOf(inbox: AnyInbox, waiting: readonly UnhandledType[], now: number): Promise<Processing> {
  const seen = await inbox.processors(now);
  const missing = missingProcessors(seen, now).filter(({ endpoint }) =>
    // It is told of each of these already.
    waiting.every((type) => type.endpoint !== endpoint || type.since === null),
  );
  const lastSeen = new Map<string, Date>();
  for (const { type, seenAt } of seen.handled) {
    if (seenAt > (lastSeen.get(type) ?? new Date(0))) lastSeen.set(type, seenAt);
  }
  return {
    processors: seen.processors,
    lastSeen: Object.fromEntries(lastSeen),
    handled: seen.handled,
    missing: await stillMissing(inbox, missing, now),
  };
}

/**
 * The endpoints whose processors have gone, all of them, in the last seven days. Where others run, a deploy may have
 * dropped the handler of a type: that is reported only when its events wait. So a processor for every endpoint is not
 * missing if processors with named endpoints replaced it. Events that wait at an endpoint without a processor are
 * reported.
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
    // What the last ones handled; a type that was dropped days before is not among them.
    const types = (byEndpoint.get(endpoint) ?? []).filter(({ seenAt }) => seenAt.getTime() > seenSince(last));
    return { endpoint, types: types.map(({ type }) => type).toSorted(), since: new Date(last) };
  });
}

/**
 * Where events are processed all the same, handlers run before the answer: nobody announces that. What is processed at
 * other endpoints tells nothing of one.
 */
async function stillMissing(
  inbox: AnyInbox,
  missing: readonly MissingProcessors[],
  now: number,
): Promise<readonly MissingProcessors[]> {
  if (missing.length === 0) return [];
  const first = Math.min(...missing.map(({ since }) => since.getTime()));
  const [totals = []] = await operationsOf(inbox).totalsIn([{ since: first + PRESENT_MS, until: now }]);
  if (!totals.some(({ what }) => what === 'processed')) return missing;
  const processed = await Promise.all(missing.map((one) => isProcessedSince(inbox, one)));
  return missing.filter((_, n) => processed[n] !== true);
}

/** Of what came since they were seen last; it is looked for among the newest. */
async function isProcessedSince(inbox: AnyInbox, { endpoint, since }: MissingProcessors): Promise<boolean> {
  const at = endpoint === '*' ? {} : { endpoint };
  const page = await operationsOf(inbox).search({ ...at, states: ['processed'], since }, { limit: 1 });
  // What they had begun ends within some minutes. All of them were seen longer ago than that.
  const [newest] = page.events;
  return (newest?.settledAt?.getTime() ?? 0) > since.getTime() + PRESENT_MS;
}
