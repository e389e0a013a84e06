import type { EventKey } from '../../inbox/event.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';

/** The fields of a filter as the Events screen has them in its URL and as forms post them; one value each, or several. */
export function filterFields(filter: EventFilter): [field: string, value: string][] {
  const { endpoint, id, types, states, deadReasons, since, until, entity, merchant, error, fingerprint } = filter;
  const {
    events = [],
    failedSince,
    failedUntil,
    text,
    ignoredSince,
    retrying,
    redelivered,
    conflict,
    bulk,
    body = [],
  } = filter;
  const fields: [string, string | undefined][] = [
    ['endpoint', endpoint],
    ['id', id],
    ...events.map((key): [string, string] => ['event', eventPath(key)]),
    ...(types ?? []).map((type): [string, string] => ['type', type]),
    ...(states ?? []).map((state): [string, string] => ['state', state]),
    ...(deadReasons ?? []).map((reason): [string, string] => ['deadReason', reason]),
    ['since', since?.toISOString()],
    ['until', until?.toISOString()],
    ['failedSince', failedSince?.toISOString()],
    ['failedUntil', failedUntil?.toISOString()],
    ['entity', entity],
    ['merchant', merchant],
    ['error', error],
    ['text', text],
    ['fingerprint', fingerprint],
    ['ignoredSince', ignoredSince?.toISOString()],
    ['retrying', yesOrNo(retrying)],
    ['redelivered', yesOrNo(redelivered)],
    ['conflict', yesOrNo(conflict)],
    ['bulk', bulk === undefined ? undefined : String(bulk)],
    ...body.map(({ path, value }): [string, string] => ['body', `${path}=${value}`]),
  ];
  return fields.filter((field): field is [string, string] => field[1] !== undefined);
}

function yesOrNo(value: boolean | undefined): string | undefined {
  if (value === undefined) return undefined;
  return value ? 'yes' : 'no';
}

/** The Events screen with a filter set. */
export function eventsHref(base: string, filter: EventFilter): string {
  const query = new URLSearchParams(filterFields(filter)).toString();
  return `${base}/events${query === '' ? '' : `?${query}`}`;
}

/** Where a type is paused, with its name filled in. */
export function pauseHref(base: string, endpoint: string, type: string): string {
  return `${base}/paused?${new URLSearchParams({ type: type.toWellFormed(), endpoint: endpoint.toWellFormed() }).toString()}`;
}

/** The screen of one event. */
export function eventHref(base: string, key: EventKey): string {
  return `${base}/events/${eventPath(key)}`;
}

/** The key of an event as one text, in a path or a field. */
export function eventPath({ endpoint, id }: EventKey): string {
  return `${pathPart(endpoint)}/${pathPart(id)}`;
}

/** What `eventPath` was given; `null` for another text. */
export function eventOf(text: string): EventKey | null {
  const [endpoint, id, ...rest] = text.split('/');
  if (endpoint === undefined || id === undefined || rest.length > 0) return null;
  try {
    return { endpoint: fromPathPart(decodeURIComponent(endpoint)), id: fromPathPart(decodeURIComponent(id)) };
  } catch {
    return null;
  }
}

/**
 * What audit lines keep may hold a lone surrogate, which no URL can. `.` and `..` would be taken for steps in the path,
 * however they are escaped, so they get a `~` before them, and so does what begins with one.
 */
function pathPart(text: string): string {
  const part = encodeURIComponent(text.toWellFormed());
  return /^(?:\.{0,2}$|~)/.test(part) ? `~${part}` : part;
}

/** The key that a part of a path stands for; the router has undone the percent-encoding. */
export function fromPathPart(part: string): string {
  return part.startsWith('~') ? part.slice(1) : part;
}
