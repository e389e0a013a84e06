import { turn as nextTurn } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { listEvents, type EventFilter, type EventPage, type EventSummary, type SearchOrder } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { interruption, progressBar, type Progress } from '../shared/interruption.ts';
import { present, shownInbox, type DbOptions } from '../shared/options.ts';
import { tell, usageError } from '../shared/output.ts';

export const MOST_A_PAGE = 500;

interface PagesOptions {
  readonly most?: number;
  readonly before?: number | undefined;
  readonly order?: SearchOrder;
  readonly signal: AbortSignal;
  readonly progress?: Progress;
}

/** A page can be short or empty although a next page exists. */
export async function* pagesOf(inbox: Inbox, filter: EventFilter, options: PagesOptions): AsyncGenerator<EventPage> {
  const { most = Infinity, before = null, order = 'newest', signal, progress } = options;
  let from: number | null = before;
  let beforeAt: Date | undefined;
  let newest = 0;
  let examined = 0;
  let found = 0;
  do {
    const limit = Math.min(most - found, MOST_A_PAGE);
    const page: EventPage = await listEvents(inbox, filter, { before: from, limit, order, ...present({ beforeAt }) });
    ({ next: from, nextAt: beforeAt } = page);
    examined += page.examined;
    found += page.events.length;
    newest ||= page.events[0]?.seq ?? (from ?? 0) + page.examined;
    const done = order === 'newest' ? 1 - (from ?? 0) / newest : null;
    progress?.show(done, searchedText(examined, found));
    yield page;
    await nextTurn(); // Ctrl-C is handled only in a turn of the event loop
  } while (from !== null && found < most && !signal.aborted);
}

export function searchedText(examined: number, found: number): string {
  return `${plural(examined, 'event')} searched, ${number(found)} found`;
}

interface AtEndpoint {
  readonly endpoint?: string;
}

/** Accepts shortened ids (`evt_…wYb2`). Returns `null` after a message if the event is unknown. */
export async function foundEvent(
  inbox: Inbox,
  given: string,
  options: DbOptions & AtEndpoint,
): Promise<EventSummary | null> {
  const { endpoint } = options;
  const id = await idFor(inbox, given, options);
  const { events } = await listEvents(inbox, { id, ...present({ endpoint }) });
  const [found, ...others] = events;
  if (found === undefined) {
    const where = endpoint === undefined ? '' : ` of the endpoint ${shortly(endpoint)}`;
    tell(`${shownInbox(options)} has no event ${shortly(id)}${where}.`);
    return null;
  }
  if (others.length === 0) return found;
  const endpoints = events.map((each) => shortly(each.endpoint)).join(', ');
  throw usageError(`Several endpoints have an event ${shortly(id)}: ${endpoints}. Select one with --endpoint.`);
}

function shortly(text: string): string {
  return oneLine(JSON.stringify(text));
}

/** A whole id never matches a longer one. */
export async function idFor(inbox: Inbox, given: string, options: AtEndpoint): Promise<string> {
  return (given.includes(ELLIPSIS) ? await wholeId(inbox, given, options) : null) ?? given;
}

export const ELLIPSIS = '…';
/** Many ids have the same last characters. */
const LEAST_END = 4;
const MOST_CANDIDATES = 5;

/**
 * Finds the id with this end: `evt_…wYb2`, `…wYb2` or `wYb2`. Returns `null` if no id matches, and for a whole id. No
 * index has the ends, so the search examines all events.
 */
export async function wholeId(inbox: Inbox, given: string, { endpoint }: AtEndpoint): Promise<string | null> {
  const at = given.lastIndexOf(ELLIPSIS);
  const begin = at === -1 ? '' : given.slice(0, given.indexOf(ELLIPSIS));
  const end = at === -1 ? given : given.slice(at + ELLIPSIS.length);
  if (end.length < LEAST_END) return null;
  const where = present({ endpoint });
  const { events } = await listEvents(inbox, { id: given, ...where }, { limit: 1 });
  if (events.length > 0) return null;

  const ids = new Set<string>();
  using progress = progressBar();
  for await (const page of pagesOf(inbox, { text: end, ...where }, { signal: interruption(), progress })) {
    for (const { id } of page.events) if (id.startsWith(begin) && id.endsWith(end)) ids.add(id);
    if (ids.size > MOST_CANDIDATES) break;
  }
  if (ids.size <= 1) return [...ids][0] ?? null;
  const quoted = (text: string): string => oneLine(JSON.stringify(text), Infinity);
  const candidates = [...ids].slice(0, MOST_CANDIDATES).map(quoted).join(', ');
  const more = ids.size > MOST_CANDIDATES ? ', and more' : '';
  throw usageError(`${quoted(given)} matches several events: ${candidates}${more}. Type more characters of the id.`);
}
