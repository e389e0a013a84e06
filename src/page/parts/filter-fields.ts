import { type EventKey, deadReasons, eventStates } from '../../inbox/event.ts';
import { filterFault, LONGEST_TEXT, type EventFilter, type BodyCondition } from '../../inbox/operator/search.ts';
import { listed } from '../../ops/words/format.ts';
import { parseTime } from '../../ops/words/read-time.ts';
import { oneLine } from '../../printable.ts';
import { LIST_FIELDS } from './list-query.tsx';

/** What the fields of the filter bar say. */
interface FilterQuery {
  /** of the fields that could be read */
  readonly filter: EventFilter;
  /** what is wrong with the others, a sentence each */
  readonly problems: readonly string[];
}

/** A key of an event, of which each letter may take a dozen characters. */
const LONGEST_NAME = 20_000;
/** As many as anybody mends at a time. */
const MAX_PROBLEMS = 10;

/** Every field of a filter, under the name that it has in a URL. */
export const FIELDS = [
  'endpoint',
  'id',
  'event',
  'type',
  'state',
  'deadReason',
  'since',
  'until',
  'failedSince',
  'failedUntil',
  'entity',
  'merchant',
  'error',
  'text',
  'fingerprint',
  'ignoredSince',
  'retrying',
  'redelivered',
  'conflict',
  'bulk',
  'body',
] as const;

type Field = (typeof FIELDS)[number];

/** What else stands in the URLs and forms that filters are read from. */
const BESIDE = [...LIST_FIELDS, 'done', 'figures', 'format', 'csrf', 'act', 'force', 'reason', 'chosen'];

/**
 * Reads a filter from a URL or a form; `filterFields` in links.ts writes what this reads. Fields that are empty ask for
 * nothing, as those of a form that were left alone; a field that does not exist asks for what cannot be known.
 *
 * @param now - what `2h` is counted back from
 */
export function readFilter(fields: URLSearchParams, now: Date): FilterQuery {
  const problems = unknownIn(fields);

  const all = (name: Field, longest = LONGEST_TEXT): readonly string[] => {
    const values = fields.getAll(name).filter((value) => value.trim() !== '');
    const fitting = values.filter((value) => value.length <= longest);
    if (fitting.length < values.length) problems.push(`${name} must have at most ${longest} characters.`);
    return [...new Set(fitting)];
  };
  const one = (name: Field): string | undefined => all(name)[0]?.trim();
  const anyOf = <Value extends string>(name: Field, known: readonly Value[]): readonly Value[] | undefined => {
    const values = all(name);
    const wrong = values.filter((value) => !known.some((each) => each === value));
    for (const value of wrong) problems.push(`${name} must be one of ${listed(known)}, not ${shown(value)}.`);
    const right = known.filter((each) => values.includes(each));
    return right.length > 0 ? right : undefined;
  };
  const yesOrNo = (name: Field): boolean | undefined => {
    const value = one(name);
    if (value === undefined) return undefined;
    if (value !== 'yes' && value !== 'no') problems.push(`${name} must be yes or no, not ${shown(value)}.`);
    return value === 'yes' ? true : value === 'no' ? false : undefined;
  };
  const time = (name: Field): Date | undefined => {
    const value = one(name);
    if (value === undefined) return undefined;
    const read = parseTime(value, now.getTime());
    if (read === null)
      problems.push(
        `${name} must be a time such as 15m, 2h, 7d, 14:00 or 2026-01-31 08:00 (UTC), not ${shown(value)}.`,
      );
    return read ?? undefined;
  };
  const bulkNumber = (): number | undefined => {
    const value = one('bulk');
    if (value === undefined) return undefined;
    if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
    problems.push(`bulk must be the number of a bulk action, not ${shown(value)}.`);
    return undefined;
  };
  const conditions = (): readonly BodyCondition[] | undefined => {
    const read = all('body').flatMap((text) => {
      const condition = readCondition(text);
      if (condition === null) {
        problems.push(`body must be a path and a value, such as data.items[0].name=Espresso, not ${shown(text)}.`);
      }
      return condition ?? [];
    });
    return read.length > 0 ? read : undefined;
  };

  const events = all('event', LONGEST_NAME).flatMap((text) => {
    const key = eventOf(text);
    if (key === null) problems.push(`event must be an endpoint and an id, such as default/evt_1, not ${shown(text)}.`);
    return key ?? [];
  });

  const types = all('type').map((type) => type.trim());
  const filter = given({
    endpoint: one('endpoint'),
    id: one('id'),
    events: fields.has('event') ? events : undefined,
    types: types.length > 0 ? types : undefined,
    states: anyOf('state', eventStates),
    deadReasons: anyOf('deadReason', deadReasons),
    since: time('since'),
    until: time('until'),
    failedSince: time('failedSince'),
    failedUntil: time('failedUntil'),
    entity: one('entity'),
    merchant: one('merchant'),
    error: one('error'),
    text: one('text'),
    fingerprint: one('fingerprint'),
    ignoredSince: time('ignoredSince'),
    retrying: yesOrNo('retrying'),
    redelivered: yesOrNo('redelivered'),
    conflict: yesOrNo('conflict'),
    bulk: bulkNumber(),
    body: conditions(),
  });
  const fault = filterFault(filter);
  if (fault !== null) problems.push(fault);
  return { filter, problems: problems.slice(0, MAX_PROBLEMS) };
}

/** A field that was left out unseen, such as `states` for `state`, would make a filter find more than was meant. */
function unknownIn(fields: URLSearchParams): string[] {
  const known = new Set<string>([...FIELDS, ...BESIDE]);
  const given = [...fields].filter(([name, value]) => value.trim() !== '' && !known.has(name));
  const names = [...new Set(given.map(([name]) => name))].slice(0, MAX_PROBLEMS);
  return names.map((name) => `Unknown filter field ${shown(name)}. Allowed: ${listed(FIELDS)}.`);
}

/** Whether it asks for anything at all. */
export function asksForAll(filter: EventFilter): boolean {
  return Object.keys(filter).length === 0;
}

function readCondition(text: string): BodyCondition | null {
  const equals = text.indexOf('=');
  const path = text.slice(0, Math.max(equals, 0)).trim();
  return path === '' ? null : { path, value: text.slice(equals + 1) };
}

/** Without what was not asked for. */
function given(filter: { readonly [Name in keyof EventFilter]: EventFilter[Name] | undefined }): EventFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

function shown(text: string): string {
  return `"${oneLine(text, 100)}"`;
}

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
function eventOf(text: string): EventKey | null {
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
