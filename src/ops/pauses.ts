import { ConfigurationError } from '../errors.ts';
import { eventTypes, isEventType } from '../events/event-types.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By, Bulk } from '../inbox/operator/acts.ts';
import type { Pause } from '../inbox/operator/pauses.ts';
import { type EndpointType, type StoredPause, assertLane } from '../inbox/rules/pauses.ts';
import { seenSince } from '../inbox/rules/processors.ts';
import type { RunningProcessor } from '../inbox/work.ts';
import { assertOptions, type RulesFor } from '../option-rules.ts';
import { nearest } from '../nearest.ts';
import { oneLine } from '../printable.ts';
import { operationsOf } from './operations-of.ts';
import { listed, plural, timestamp } from './words/format.ts';
import { typesText } from './health.ts';

/** The options of {@link resumeType}. */
export interface PauseOptions {
  /**
   * The endpoint. Each endpoint is paused separately.
   *
   * @defaultValue `'default'`
   */
  readonly endpoint?: string;
}

/** The options of {@link pauseType}. */
export interface PauseTypeOptions extends PauseOptions {
  /**
   * `true` lets you pause an unseen type. A type is unseen if hookbox does not know it, no processor has handled it,
   * and no stored event is of that type. Without this option, `pauseType` throws for an unseen type, because the name
   * may be a typo.
   *
   * @defaultValue `false`
   */
  readonly unseen?: boolean;
}

const OPTIONS: RulesFor<PauseOptions> = { endpoint: true };
const PAUSE: RulesFor<PauseTypeOptions> = { ...OPTIONS, unseen: 'boolean' };

/**
 * Pauses a type. Deliveries of the type are still stored and get a 200, also in inline mode, but no processor on any
 * machine starts to handle events of the type until you call `resumeType`. Replaces a pause by a handler
 * (`RetryLaterError`), which would end by itself.
 *
 * Handlers that are already running are not interrupted. Events of a paused type are never ignored. Newer events of the
 * same entity wait behind them, unless `ordering` is off.
 *
 * @returns the pause; `changed` is `false` if the type was already paused, in which case the earlier pause stays
 * unchanged
 * @throws ConfigurationError `INVALID_OPTION` for a missing `by`, a name that is empty or longer than 150 characters,
 * or an unseen type without `unseen`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { pauseType } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { changed } = await pauseType(inbox, 'order.created', { actor: 'ada', reason: 'the till is down' });
 * console.log(changed); // true
 * ```
 */
export async function pauseType(
  inbox: AnyInbox,
  type: string,
  by: By,
  options: PauseTypeOptions = {},
): Promise<{ readonly pause: StoredPause; readonly changed: boolean }> {
  assertOptions('pauseType', options, PAUSE);
  const pausedType = laneOf(type, options);
  const fault = options.unseen === true ? null : await unseenInWords(inbox, pausedType);
  if (fault !== null) {
    throw new ConfigurationError('INVALID_OPTION', `${fault} To pause it anyway, set unseen (--unseen).`);
  }
  return operationsOf(inbox).pauseType(pausedType, by);
}

/** Why the name of a type may be a typo; `null` if the type was seen. */
export async function unseenInWords(inbox: AnyInbox, lane: EndpointType): Promise<string | null> {
  assertLane(lane);
  const { type } = lane;
  if (isEventType(type)) return null;
  const operations = operationsOf(inbox);
  const { handled } = await inbox.processors(Date.now());
  const known = new Set([...eventTypes, ...handled.map((each) => each.type).filter((each) => each !== '*')]);
  if (known.has(type)) return null;
  // Pending events have an index; of the others, only the newest are examined.
  for (const filter of [{ types: [type], states: ['pending'] }, { types: [type] }] as const) {
    if ((await operations.search(filter, { limit: 1 })).events.length > 0) return null;
  }
  const near = nearest(type, [...known]).map((each) => oneLine(each, 80));
  const meant = near.length === 0 || near.length > MOST_MEANT ? '' : ` Did you mean ${near.join(' or ')}?`;
  return `Unknown type ${oneLine(JSON.stringify(type), 160)}: no processor handles it, and no event has it.${meant}`;
}

const MOST_MEANT = 3;

/**
 * Resumes a type, also one that a handler paused. Processors start to claim its pending events within about a second, oldest first.
 *
 * @returns the pause that was ended, or `null` if the type was not paused
 * @throws ConfigurationError `INVALID_OPTION` for a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { resumeType } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * console.log(await resumeType(inbox, 'order.created', { actor: 'ada' })); // null
 * ```
 */
export async function resumeType(
  inbox: AnyInbox,
  type: string,
  by: By,
  options: PauseOptions = {},
): Promise<StoredPause | null> {
  assertOptions('resumeType', options, OPTIONS);
  return operationsOf(inbox).resumeType(laneOf(type, options), by);
}

/**
 * Lists paused types in order of endpoint and type.
 * @example
 * ```ts
 * import { pausedTypes } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { type, since, actor, waiting } of await pausedTypes(inbox)) {
 *   console.log(`${type} is paused since ${since.toISOString()} by ${actor}; ${waiting} wait`);
 * }
 * ```
 */
export async function pausedTypes(inbox: AnyInbox): Promise<readonly Pause[]> {
  return operationsOf(inbox).pausedTypes();
}

function laneOf(type: string, { endpoint = 'default' }: PauseOptions): EndpointType {
  return { endpoint, type };
}

export interface HeldUp {
  readonly paused: readonly StoredPause[];
  readonly hasProcessor: boolean;
  readonly unhandled: readonly string[];
}

export interface HeldUpLanes {
  readonly types: readonly string[];
  /** `null` for any endpoint */
  readonly endpoints: readonly string[] | null;
}

export async function heldUp(inbox: AnyInbox, { types, endpoints }: HeldUpLanes, now = Date.now()): Promise<HeldUp> {
  const [pauses, { processors }] = await Promise.all([pausedTypes(inbox), inbox.processors(now)]);
  const isMeant = ({ endpoint, type }: EndpointType): boolean =>
    types.includes(type) && (endpoints === null || endpoints.includes(endpoint));
  const handles = (processor: RunningProcessor, type: string): boolean =>
    (processor.types === '*' || processor.types.includes(type)) &&
    (processor.endpoints === '*' ||
      endpoints === null ||
      processor.endpoints.some((endpoint) => endpoints.includes(endpoint)));
  return {
    paused: pauses.filter(isMeant),
    hasProcessor: processors.length > 0,
    unhandled: types.filter((type) => !processors.some((processor) => handles(processor, type))),
  };
}

export function lanesOf({ breakdown }: Pick<Bulk, 'breakdown'>): HeldUpLanes {
  const endpoints = Object.keys(breakdown.endpoints);
  return {
    types: Object.keys(breakdown.types).filter((type) => type !== 'invalid' && type !== 'other'),
    endpoints: endpoints.includes('other') ? null : endpoints,
  };
}

/** The named endpoints of processors; empty while a processor handles every endpoint. */
export async function namedEndpoints(inbox: AnyInbox, now: number): Promise<readonly string[]> {
  const { handled } = await inbox.processors(now);
  if (handled.some(({ endpoint, seenAt }) => endpoint === '*' && seenAt.getTime() > seenSince(now))) return [];
  const named = handled.map(({ endpoint }) => endpoint).filter((endpoint) => endpoint !== '*');
  return [...new Set(named)].toSorted();
}

export function pausedInWords({ type, endpoint, since, actor, reason, until, failures }: StoredPause): string {
  const at = endpoint === 'default' ? '' : ` at ${oneLine(endpoint, 40)}`;
  const why = reason === null ? '' : `: ${oneLine(reason, 300)}`;
  return `${oneLine(type, 80)}${at} was paused by ${oneLine(actor, 60)} at ${timestamp(since)}${untilInWords(until, failures)}${why}`;
}

function untilInWords(until: Date | undefined, failures: number | undefined): string {
  if (until === undefined) return '';
  if (failures === undefined) return ` until ${timestamp(until)}`;
  return `; ${plural(failures, 'failure')} in a row so far, next attempt from ${timestamp(until)}`;
}

export function endInWords({ until, failures }: StoredPause): string {
  if (failures !== undefined) return 'until an attempt succeeds, or you resume the type';
  return until === undefined ? 'until you resume the type' : 'until the pause ends, or you resume the type';
}

const MOST_ENDPOINTS = 5;

export function strangerInWords(endpoint: string, named: readonly string[]): string | null {
  if (named.length === 0 || named.includes(endpoint)) return null;
  const shown = named.slice(0, MOST_ENDPOINTS).map((each) => oneLine(each, 40));
  const rest = named.length - shown.length;
  const all = listed(rest === 0 ? shown : [...shown, plural(rest, 'other')]);
  return `No running processor handles events of the endpoint ${oneLine(endpoint, 40)}. Running processors handle ${all}.`;
}

export function heldUpInWords({ paused, hasProcessor, unhandled }: HeldUp): readonly string[] {
  const each = unhandled.length === 1 ? 'its' : 'their';
  return [
    ...paused.map((pause) => `${pausedInWords(pause)}. Its events wait ${endInWords(pause)}.`),
    ...(hasProcessor ? [] : ['No processor is running. The events wait until you start one.']),
    ...(hasProcessor && unhandled.length > 0
      ? [`No running processor handles ${typesText(unhandled)}: ${each} events are waiting.`]
      : []),
  ];
}
