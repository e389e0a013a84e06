import { ConfigurationError } from '../../errors.ts';
import { whole } from '../../option-rules.ts';
import { stepsOf } from '../../events/json-paths.ts';
import { type EventKey, type DeadReason, type EventState, deadReasons, eventStates } from '../event.ts';
import type { Acknowledgement } from '../rules/acknowledging.ts';
import type { Attempt } from '../work.ts';
import { bodyPath } from './finding/bodies.ts';

/** A stored event without its body, as lists show it. */
export interface EventSummary extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly deadReason: DeadReason | null;
  readonly receivedAt: Date;
  /** When the event was processed, ignored or discarded, or became dead. */
  readonly settledAt: Date | null;
  /** When a pending event is due. */
  readonly dueAt: Date | null;
  /** How many attempts have begun. If a newer event superseded this one, that counts as one. */
  readonly attempts: number;
  /** How many attempts were used up since the event was stored or rerun: those that failed and count. */
  readonly failures: number;
  /** How the last attempt since the event was stored or rerun ended. `null` if none has ended. */
  readonly lastOutcome: Attempt['outcome'] | null;
  /** How many times the service sent the event again. */
  readonly redeliveries: number;
  /** How many times the service sent a different body with the event's id. */
  readonly conflicts: number;
  /** The latest error. For an invalid event, the places in its body that do not fit the current schemas. */
  readonly lastError: { readonly name: string; readonly message: string } | null;
  /** The group of dead events that this event belongs to. `null` for a tombstone. */
  readonly fingerprint: string | null;
  /** `true` for a tombstone: its body is gone. */
  readonly pruned: boolean;
}

/** One page of events. */
export interface EventPage {
  /** Newest first, unless `order` is set. */
  readonly events: readonly EventSummary[];
  /** Pass this value as `before` to get the next page. `null` if all events were examined. */
  readonly next: number | null;
  /** In the order `failed`, pass this value as `beforeAt` to get the next page. */
  readonly nextAt?: Date;
  /** How many events were examined. A page with few or no events may still have a `next`. */
  readonly examined: number;
}

/** Dead events whose errors differ only in ids, numbers and quoted text. Tombstones are in no group. */
export interface DeadGroup {
  readonly fingerprint: string;
  readonly reason: DeadReason;
  /** The error of the newest event. */
  readonly sample: { readonly name: string; readonly message: string } | null;
  readonly count: number;
  /** `true` if there are more events than `count`. */
  readonly more: boolean;
  /** The event that arrived last. */
  readonly newest: EventSummary;
  readonly oldest: EventSummary;
  /** When the first of these events became dead. */
  readonly firstDeadAt: Date;
  /** When the last of these events became dead. */
  readonly lastDeadAt: Date;
  /** How many events became dead in each of the last 24 hours, oldest hour first; at most 1,000 are counted an hour. */
  readonly recent: readonly number[];
  /** The types of the hundred events that became dead last; `invalid` has no readable type. */
  readonly types: Readonly<Record<string, number>>;
  /** `false` if an operator acknowledged the group and no event has died in it since. */
  readonly open: boolean;
  /** The last acknowledgement, also of a group that has reopened. */
  readonly acknowledged: Acknowledgement | null;
}

/** Retrying events whose last errors are the same except for ids, numbers and quoted text. */
export interface RetryGroup extends Pick<DeadGroup, 'fingerprint' | 'sample' | 'count' | 'more' | 'newest' | 'oldest'> {
  /** When the first of these events is due. */
  readonly nextDueAt: Date | null;
}

/** A request that its caller can abort. */
export interface Abortable {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of a search. */
export interface SearchRequest extends PageRequest, Abortable {
  /**
   * The order.
   *
   * @defaultValue `'newest'`
   */
  readonly order?: SearchOrder;
  /** In the order `failed`: the `nextAt` of the previous page. */
  readonly beforeAt?: Date;
}

export interface CountRequest extends Abortable {
  readonly examined?: number;
}

/** The number of events that match a filter, counted up to a limit. */
export interface EventCount {
  readonly count: number;
  /** `true` if there are more events than `count`. */
  readonly more: boolean;
  /** `true` if the count ended early for another reason, so there may be more events than `count`. */
  readonly cut: boolean;
}

/** A name by which events can be found. */
export interface FoundName {
  readonly what: 'id' | 'entity' | 'merchant';
  readonly name: string;
}

export interface Search {
  /**
   * For each page, the inbox examines at most a few thousand events.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  search(filter: EventFilter, page: SearchRequest): Promise<EventPage>;
  /**
   * Counts up to 10,000 events, and examines at most `examined` (20,000 by default). With 0, only an index can provide
   * the number.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  countFound(filter: EventFilter, options: CountRequest): Promise<EventCount>;
  /**
   * The event ids, entity names, ids in these, and merchants that begin with a text, in alphabetical order, ignoring
   * the case of A to Z. At most `limit` of each kind.
   */
  namesLike(text: string, limit: number): Promise<readonly FoundName[]>;
  /** Returns the summary of one event, or `null` if the event is unknown. */
  summary(key: EventKey): Promise<EventSummary | null>;
  /**
   * Open groups first, then largest first, at most 200.
   *
   * @param request - `now` is the end of the 24 hours
   * @throws `signal.reason` if the signal is aborted
   */
  deadGroups(request?: Abortable & { readonly now?: number }): Promise<readonly DeadGroup[]>;
  /**
   * Adds one batch of new events to the index of entities and merchants, and returns how many are left. A search also
   * finds events that are not indexed.
   *
   * @param upTo - the `seq` of the last event to index; without it, the number may never reach 0
   */
  indexNew(limit: number, upTo?: number): Promise<number>;
}

/**
 * An event must match all conditions. An empty list matches no event. hookbox throws for unknown conditions, texts
 * longer than 1,000 characters and lists with more than 100 values.
 */
export interface EventFilter {
  readonly endpoint?: string;
  /** The event with this exact id. */
  readonly id?: string;
  /** One of these events; at most 100. */
  readonly events?: readonly EventKey[];
  /** One of these types. */
  readonly types?: readonly string[];
  /** In one of these states. */
  readonly states?: readonly EventState[];
  /** Dead for one of these reasons. */
  readonly deadReasons?: readonly DeadReason[];
  /** Received at or after this time; exact unless the receiver's clock was wrong by more than an hour. */
  readonly since?: Date;
  /** Received before this time. */
  readonly until?: Date;
  /**
   * Last failed at or after this time: when a dead event with a body became dead, or when the last attempt of a
   * retrying event ended. Other events do not match.
   */
  readonly failedSince?: Date;
  /** Last failed before this time. */
  readonly failedUntil?: Date;
  /**
   * The name of an entity (`order:mer_7:ord_42`), or the id in it (`ord_42`). For an event without an entity: the name
   * that `entityOf` returns, or the `id`, `order_id`, `cart_id` or `product_id` in its data.
   */
  readonly entity?: string;
  /** The `merchant_id` in the data of the event. */
  readonly merchant?: string;
  /** Text in the latest error of the event, written as `name: message`, ignoring case. */
  readonly error?: string;
  /** Text in the id, type, entity name or latest error of the event, ignoring case. */
  readonly text?: string;
  /** The group of a dead event or, with `retrying: true`, of a retrying event. Tombstones never match. */
  readonly fingerprint?: string;
  /** Ignored at or after this time because no processor handled its type. */
  readonly ignoredSince?: Date;
  /** `true`: an attempt failed and another will follow. */
  readonly retrying?: boolean;
  /** Whether the event was delivered more than once. */
  readonly redelivered?: boolean;
  /** Whether a different body was delivered with the id of the event. */
  readonly conflict?: boolean;
  /** Whether the event was processed without a run, because a newer event was waiting (`latest`). */
  readonly superseded?: boolean;
  /** The id of a bulk action that acted on the event; kept for a week after the bulk action ends. */
  readonly bulk?: number;
  /** Values in the body of the event, if the body is still stored. At most 8. */
  readonly body?: readonly BodyCondition[];
  /** Text in any string or number in the body of the event, ignoring case. Names of fields are not searched. */
  readonly bodyText?: string;
  /** Paths that `bodyText` does not search, such as `data.customer.email` or `data.items[].name`. */
  readonly bodyTextExcept?: readonly string[];
}

/** A value in the body of an event. */
export interface BodyCondition {
  /** The path from the root: names joined by dots, and `[n]` for an index from 0, as in `data.items[0].name`. */
  readonly path: string;
  /** The text of a string, or `true`, `false`, `null` or a number. `12.5` and `12.50` are the same number. */
  readonly value: string;
}

/**
 * `newest` and `oldest` sort by arrival. `failed` lists only dead events that are not tombstones, most recently dead
 * first.
 */
export type SearchOrder = 'newest' | 'oldest' | 'failed';

/** The start and size of a page. */
export interface PageRequest {
  /**
   * The `next` of the previous page.
   *
   * @defaultValue the newest
   */
  readonly before?: number | null;
  /**
   * The maximum number of entries, 500 or less.
   *
   * @defaultValue 50
   */
  readonly limit?: number;
}

/** A viewer may send a filter, so a filter must not keep the process busy. */
const MOST_LISTED = 100;
const MOST_VALUES = new Map([
  ['body', 8],
  ['bodyTextExcept', 1_000],
]);
export const LONGEST_TEXT = 1_000;

const text = (value: unknown): boolean => typeof value === 'string';
const flag = (value: unknown): boolean => typeof value === 'boolean';
const time = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());
const listOf =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every((one) => fits(one));
const oneOf =
  (names: readonly string[]) =>
  (value: unknown): boolean =>
    names.some((name) => name === value);

/** JSON has no dates. */
export const filterTimes = [
  'since',
  'until',
  'failedSince',
  'failedUntil',
  'ignoredSince',
] as const satisfies readonly (keyof EventFilter)[];

const checks: Readonly<Record<keyof EventFilter, (value: unknown) => boolean>> = {
  endpoint: text,
  id: text,
  events: listOf(isEventKey),
  types: listOf(text),
  states: listOf(oneOf(eventStates)),
  deadReasons: listOf(oneOf(deadReasons)),
  since: time,
  until: time,
  failedSince: time,
  failedUntil: time,
  entity: text,
  merchant: text,
  error: text,
  text,
  fingerprint: text,
  ignoredSince: time,
  retrying: flag,
  redelivered: flag,
  conflict: flag,
  superseded: flag,
  bulk: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  body: listOf(isBodyCondition),
  bodyText: text,
  bodyTextExcept: listOf((path) => typeof path === 'string' && stepsOf(path).length > 0),
};

/**
 * An unknown condition would be ignored, and the filter would find too many events.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertFilter(filter: EventFilter): void {
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(checks, name)) {
      throw refused(
        `Unknown filter condition ${JSON.stringify(name.slice(0, 100))}. Allowed: ${Object.keys(checks).join(', ')}.`,
      );
    }
    const most = MOST_VALUES.get(name) ?? MOST_LISTED;
    if (Array.isArray(value) && value.length > most) {
      throw refused(`The filter condition ${name} must have at most ${most} values, not ${value.length}.`);
    }
    if (!checks[name as keyof EventFilter](value)) throw refused(`The filter condition ${name} has an invalid value.`);
    if (textsOf(value).some((one) => one.length > LONGEST_TEXT)) {
      throw refused(`The filter condition ${name} must have at most ${LONGEST_TEXT} characters.`);
    }
  }
  for (const { path } of filter.body ?? []) bodyPath(path);
}

export function filterFault(filter: EventFilter): string | null {
  try {
    assertFilter(filter);
    return null;
  } catch (failure) {
    if (failure instanceof ConfigurationError) return failure.message;
    throw failure;
  }
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (isEventKey(value)) return [value.endpoint, value.id];
  return isBodyCondition(value) ? [value.path, value.value] : [];
}

function refused(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}

function isEventKey(value: unknown): value is EventKey {
  return hasTexts(value, ['endpoint', 'id']);
}

function isBodyCondition(value: unknown): value is BodyCondition {
  return hasTexts(value, ['path', 'value']);
}

function hasTexts(value: unknown, names: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && names.every((name) => text(Reflect.get(value, name)));
}

const USUAL_LIMIT = 50;
export const PAGE_LIMIT = whole(1, 500);

/** The bounds of a page with their defaults; `before` is exclusive. */
export function pageBounds({ before, limit = USUAL_LIMIT }: PageRequest): { before: number; limit: number } {
  return { before: before ?? Number.MAX_SAFE_INTEGER, limit };
}
