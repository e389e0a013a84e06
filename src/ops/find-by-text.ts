import { ConfigurationError } from '../errors.ts';
import { eventTypes } from '../events/event-types.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import {
  LONGEST_TEXT,
  type EventFilter,
  type EventPage,
  type EventSummary,
  type FoundName,
} from '../inbox/operator/search.ts';
import { assertOption, assertOptions, whole, textUpTo, type RulesFor } from '../option-rules.ts';
import { nearest } from '../nearest.ts';
import { operationsOf } from './operations-of.ts';

const USUAL_LIMIT = 50;
const MOST = 500;
const MOST_EXAMINED = 5_000;
const NAMES = 5;
/** A shorter beginning matches too many names. */
const FEWEST_LETTERS = 4;

const REQUEST: RulesFor<FindRequest> = { at: true, limit: whole(1, MOST), signal: true };

const PARTS = {
  dead: { states: ['dead'] },
  retrying: { retrying: true },
  others: { states: ['pending', 'processing', 'processed', 'ignored', 'discarded'], retrying: false },
} as const satisfies Record<FindPlace['among'], EventFilter>;
const PART_NAMES = Object.keys(PARTS) as FindPlace['among'][];
export const READINGS = ['id', 'entity', 'merchant', 'type', 'text'] as const satisfies readonly TakenFor['takenFor'][];

/** The position of the next step of {@link findEvents}, and how the first step interpreted the text. */
export interface FindPlace extends TakenFor {
  readonly among: 'dead' | 'retrying' | 'others';
  readonly before: number | null;
}

/** The options of {@link findEvents}. */
export interface FindRequest {
  /** The `next` of the previous step. */
  readonly at?: FindPlace | null;
  /**
   * The maximum number of events, 500 or less.
   *
   * @defaultValue 50
   */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Another possible meaning of the text. */
export interface Suggestion {
  readonly what: FoundName['what'] | 'type';
  readonly name: string;
}

interface TakenFor {
  /** How the text was interpreted. */
  readonly takenFor: Suggestion['what'] | 'text';
  /** The name as it is stored, which may be longer than the text and differ in case. */
  readonly name: string;
}

export interface TextReading extends TakenFor {
  /** The filter that finds the same events. */
  readonly filter: EventFilter;
  /** Other names that begin with the text. */
  readonly others: readonly Suggestion[];
}

/** The result of {@link findEvents}. */
export interface FoundEvents extends Omit<EventPage, 'next' | 'nextAt'>, TextReading {
  /** Dead events first, then retrying ones, then all others; the newest first within each. */
  readonly events: readonly EventSummary[];
  /** Pass this value as `at` to make the next step. `null` if all events were examined. */
  readonly next: FindPlace | null;
}

/**
 * Finds events by an event type, or by the id of an event, order, cart, product or merchant, or by the beginning of
 * one, in upper or lower case. Any part of an id or an error message also finds events. Dead and retrying events come
 * first.
 *
 * If the text is exactly the same as a known name, hookbox searches only for that name. Otherwise, hookbox searches
 * ids, types, entity names and errors, but not bodies. Each step examines about 5,000 events, so a step may return few
 * or no events and still have a `next`.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an empty text or a text longer than 1,000 characters
 * @throws `signal.reason` if the signal is aborted
 * @example
 * ```ts
 * import { findEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { takenFor, events, next } = await findEvents(inbox, 'ord_42');
 * for (const { id, state, lastError } of events) console.log(id, state, lastError?.message);
 * console.log(takenFor, next); // text null
 * ```
 */
export async function findEvents(inbox: AnyInbox, text: string, request: FindRequest = {}): Promise<FoundEvents> {
  assertOptions('findEvents', request, REQUEST);
  const { at = null } = request;
  if (at !== null) assertPlace(at);
  const reading = await readText(inbox, text, { taken: at });
  return { ...reading, ...(await failedFirst(inbox, reading, request)) };
}

/** @param taken - how the previous step interpreted the text */
export async function readText(
  inbox: AnyInbox,
  text: string,
  {
    kinds = ['id', 'entity', 'merchant'],
    taken = null,
  }: { readonly kinds?: readonly FoundName['what'][]; readonly taken?: TakenFor | null } = {},
): Promise<TextReading> {
  assertOption('text', text, textUpTo(LONGEST_TEXT));
  const wanted = text.trim();
  const like = (await operationsOf(inbox).namesLike(wanted, NAMES + 1)).filter(({ what }) => kinds.includes(what));
  const read = (takenFor: TakenFor['takenFor'], name: string): TextReading => ({
    takenFor,
    name,
    filter: takenFor === 'text' ? { text: name } : filterFor({ what: takenFor, name }),
    others: like.filter((one) => one.what !== takenFor || one.name !== name).slice(0, NAMES * kinds.length),
  });
  if (taken !== null) return read(taken.takenFor, taken.name);
  const alike = (name: string): boolean => name.toLowerCase() === wanted.toLowerCase();
  const same = like.filter(({ name }) => alike(name));
  const exact = same.filter(({ name }) => name === wanted);
  // Several names that differ only in case are suggested, and the text finds all of them.
  const spelt = new Set(same.map(({ name }) => name)).size === 1 ? same : exact;
  const beginning = new Set(like.map(({ name }) => name)).size === 1 ? like : [];
  const [meant] = spelt.length > 0 ? spelt : beginning;
  if (meant !== undefined) return read(meant.what, meant.name);
  const type = eventTypes.find(alike);
  return type === undefined ? read('text', wanted) : read('type', type);
}

export function filterFor({ what, name }: Suggestion): EventFilter {
  return what === 'type' ? { types: [name] } : { [what]: name };
}

export async function failedFirst(
  inbox: AnyInbox,
  { takenFor, name, filter }: TextReading,
  { at = null, limit = USUAL_LIMIT, signal }: FindRequest,
): Promise<Pick<FoundEvents, 'events' | 'examined' | 'next'>> {
  const operations = operationsOf(inbox);
  const events: EventSummary[] = [];
  let examined = 0;
  let place: Pick<FindPlace, 'among' | 'before'> | null = at ?? { among: 'dead', before: null };
  while (place !== null && events.length < limit && examined < MOST_EXAMINED) {
    const { among, before }: Pick<FindPlace, 'among' | 'before'> = place;
    const page: EventPage = await operations.search(
      { ...filter, ...PARTS[among] },
      { before, limit: limit - events.length, signal },
    );
    events.push(...page.events);
    examined += page.examined;
    const following: FindPlace['among'] | undefined = PART_NAMES[PART_NAMES.indexOf(among) + 1];
    if (page.next !== null) place = { among, before: page.next };
    else place = following === undefined ? null : { among: following, before: null };
  }
  return { events, examined, next: place === null ? null : { takenFor, name, ...place } };
}

function assertPlace({ among, takenFor, name }: FindPlace): void {
  if (PART_NAMES.includes(among) && READINGS.includes(takenFor) && typeof name === 'string') return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `at must be the value of next from the previous step. Its field among must be one of: ${PART_NAMES.join(', ')}.`,
  );
}

/** Suggestions for a text without results: names with the longest common beginning, and similar types. */
export async function suggestionsFor(
  inbox: AnyInbox,
  text: string,
  kinds?: readonly FoundName['what'][],
): Promise<readonly Suggestion[]> {
  const wanted = text.trim();
  const operations = operationsOf(inbox);
  let [low, high] = [FEWEST_LETTERS - 1, wanted.length - 1];
  let like: readonly FoundName[] = [];
  while (low < high) {
    const letters = Math.ceil((low + high) / 2);
    const named = await operations.namesLike(wanted.slice(0, letters), NAMES);
    const found = named.filter(({ what }) => kinds?.includes(what) ?? true);
    if (found.length > 0) [low, like] = [letters, found];
    else high = letters - 1;
  }
  const types = /^[a-z]+[._ -]?[a-z]+$/i.test(wanted) ? nearest(wanted, eventTypes).slice(0, NAMES) : [];
  return [...like.slice(0, NAMES), ...types.map((name): Suggestion => ({ what: 'type', name }))];
}

export const TAKEN_FOR = {
  id: 'an event id',
  entity: 'an entity',
  merchant: 'a merchant',
  type: 'an event type',
  text: 'part of an id, type, name or error',
} as const satisfies Record<TextReading['takenFor'], string>;

export const ALSO_BEGINS = 'Other names that begin with this text:';
