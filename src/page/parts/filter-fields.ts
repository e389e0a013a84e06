import { type EventKey, deadReasons, eventStates } from '../../inbox/event.ts';
import { filterFault, LONGEST_TEXT, type EventFilter, type BodyCondition } from '../../inbox/operator/search.ts';
import type { EndpointType } from '../../inbox/rules/pauses.ts';
import { listed } from '../../ops/words/format.ts';
import { parseTime } from '../../ops/words/read-time.ts';
import { oneLine } from '../../printable.ts';
import { LIST_FIELDS } from './list-query.tsx';

interface Kind<Value> {
  readonly read: (texts: readonly string[], refuse: Refuse, now: Date) => Value | undefined;
  readonly write: (value: Value) => readonly string[];
}

/** Reports a wrong text, with a description of the allowed ones. */
type Refuse = (must: string, text: string) => void;

function one<Value>(
  must: string,
  read: (text: string, now: Date) => Value | null,
  write: (value: Value) => string = String,
): Kind<Value> {
  return {
    read([text], refuse, now) {
      if (text === undefined) return undefined;
      const value = read(text.trim(), now);
      if (value === null) refuse(must, text);
      return value ?? undefined;
    },
    write: (value) => [write(value)],
  };
}

function several<Value>(
  must: string,
  read: (text: string) => Value | null,
  write: (value: Value) => string = String,
): Kind<readonly Value[]> {
  return {
    read: (texts, refuse) =>
      texts.flatMap((text) => {
        const value = read(text);
        if (value === null) refuse(must, text);
        return value ?? [];
      }),
    write: (values) => values.map(write),
  };
}

const TEXT = one('a text', (text) => text);
const TIME = one(
  'a time such as 15m, 2h, 7d, 14:00 or 2026-01-31 08:00 (UTC)',
  (text, now) => parseTime(text, now.getTime()),
  // Without zeros, because a page has hundreds of them.
  (time) => time.toISOString().replace(/(?::00)?\.000Z$/, 'Z'),
);
const YES_OR_NO = one(
  'yes or no',
  (text) => (text === 'yes' || text === 'no' ? text === 'yes' : null),
  (is) => (is ? 'yes' : 'no'),
);
const BULK = one('the number of a bulk action', (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : null));
const TYPES = several('a type', (text) => text.trim());
/** An unreadable key matches no event, because it must not start an action on all events. */
const EVENTS = several('an endpoint and an id, such as default/evt_1', eventOf, eventPath);
const CONDITIONS = several('a path and a value, such as data.items[0].name=Espresso', readCondition, writeCondition);

function readCondition(text: string): BodyCondition | null {
  const equals = Math.max(text.indexOf('='), 0);
  const path = text.slice(0, equals).trim();
  return path === '' ? null : { path, value: text.slice(equals + 1) };
}

function writeCondition({ path, value }: BodyCondition): string {
  return `${path}=${value}`;
}

function oneOf<Value extends string>(known: readonly Value[]): Kind<readonly Value[]> {
  return several(`one of ${listed(known)}`, (text) => known.find((value) => value === text) ?? null);
}

const KINDS = {
  endpoint: ['endpoint', TEXT],
  id: ['id', TEXT],
  event: ['events', EVENTS],
  type: ['types', TYPES],
  state: ['states', oneOf(eventStates)],
  deadReason: ['deadReasons', oneOf(deadReasons)],
  since: ['since', TIME],
  until: ['until', TIME],
  failedSince: ['failedSince', TIME],
  failedUntil: ['failedUntil', TIME],
  entity: ['entity', TEXT],
  merchant: ['merchant', TEXT],
  error: ['error', TEXT],
  text: ['text', TEXT],
  fingerprint: ['fingerprint', TEXT],
  ignoredSince: ['ignoredSince', TIME],
  retrying: ['retrying', YES_OR_NO],
  redelivered: ['redelivered', YES_OR_NO],
  conflict: ['conflict', YES_OR_NO],
  superseded: ['superseded', YES_OR_NO],
  bulk: ['bulk', BULK],
  body: ['body', CONDITIONS],
  bodyText: ['bodyText', TEXT],
} as const;

export const FIELDS = Object.keys(KINDS);

export const TIMES = ['since', 'until', 'failedSince', 'failedUntil', 'ignoredSince'] as const;

export const LABELS: ReadonlyMap<string, string> = new Map([
  ['ids', 'events'],
  ['types', 'type'],
  ['states', 'state'],
  ['deadReason', 'dead reason'],
  ['deadReasons', 'dead reason'],
  ['since', 'received since'],
  ['until', 'received before'],
  ['failedSince', 'failed since'],
  ['failedUntil', 'failed before'],
  ['settledBefore', 'settled before'],
  ['error', 'last error contains'],
  ['fingerprint', 'group'],
  ['ignoredSince', 'ignored (no handler) since'],
  ['body', 'body contains'],
  ['bodyText', 'body contains'],
  ['bodyTextExcept', 'not searched'],
]);

/** The longest key of an event; an escaped letter may take a dozen characters. */
const LONGEST_NAME = 20_000;
const MAX_PROBLEMS = 10;

const BESIDE = [...LIST_FIELDS, 'done', 'figures', 'format', 'csrf', 'act', 'force', 'reason', 'chosen'];

/** Reads all valid fields, and returns a sentence for each invalid one. */
export function readFilter(
  fields: URLSearchParams,
  now: Date,
): { readonly filter: EventFilter; readonly problems: readonly string[] } {
  const problems = unknownIn(fields);
  const read = Object.entries(KINDS).map(([name, [property, kind]]) => {
    const longest = kind === EVENTS ? LONGEST_NAME : LONGEST_TEXT;
    const given = fields.getAll(name).filter((text) => text.trim() !== '');
    const fitting = given.filter((text) => text.length <= longest);
    if (fitting.length < given.length) problems.push(`${name} must have at most ${longest} characters.`);
    if (kind === EVENTS && !fields.has(name)) return [property, undefined] as const;
    const refuse = (must: string, text: string): void =>
      void problems.push(`${name} must be ${must}, not ${shown(text)}.`);
    const value = kind.read([...new Set(fitting)], refuse, now);
    const isEmpty = Array.isArray(value) && value.length === 0 && kind !== EVENTS;
    return [property, isEmpty ? undefined : value] as const;
  });
  const filter: EventFilter = Object.fromEntries(read.filter(([, value]) => value !== undefined));
  const fault = filterFault(filter);
  if (fault !== null) problems.push(fault);
  return { filter, problems: problems.slice(0, MAX_PROBLEMS) };
}

/** Without this, the typo `states` for `state` would find more events than intended. */
function unknownIn(fields: URLSearchParams): string[] {
  const known = new Set<string>([...FIELDS, ...BESIDE]);
  const given = [...fields].filter(([name, value]) => value.trim() !== '' && !known.has(name));
  const names = [...new Set(given.map(([name]) => name))].slice(0, MAX_PROBLEMS);
  return names.map((name) => `Unknown filter field ${shown(name)}. Allowed: ${listed(FIELDS)}.`);
}

function shown(text: string): string {
  return `"${oneLine(text, 100)}"`;
}

export function filterFields(filter: EventFilter): [field: string, value: string][] {
  return Object.entries(KINDS).flatMap(([name, [property, kind]]) => {
    const value = filter[property];
    return value === undefined ? [] : kind.write(value as never).map((text): [string, string] => [name, text]);
  });
}

export function asksForAll(filter: EventFilter): boolean {
  return Object.keys(filter).length === 0;
}

export function eventsHref(base: string, filter: EventFilter): string {
  return hrefOf(`${base}/events`, filterFields(filter));
}

export function hrefOf(path: string, fields: readonly (readonly [name: string, value: string | null])[]): string {
  const given = fields.flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]]));
  const query = new URLSearchParams(given).toString();
  return query === '' ? path : `${path}?${query}`;
}

export function pendingHref(base: string, { endpoint, type }: EndpointType): string {
  return eventsHref(base, { endpoint, types: [type], states: ['pending'] });
}

export function eventHref(base: string, key: EventKey): string {
  return `${base}/events/${eventPath(key)}`;
}

export function eventPath({ endpoint, id }: EventKey): string {
  return `${pathPart(endpoint)}/${pathPart(id)}`;
}

function eventOf(text: string): EventKey | null {
  const [endpoint, id, ...rest] = text.split('/');
  if (endpoint === undefined || id === undefined || rest.length > 0) return null;
  try {
    return { endpoint: fromPathPart(decodeURIComponent(endpoint)), id: fromPathPart(decodeURIComponent(id)) };
  } catch {
    return null;
  }
}

/** URLs cannot contain lone surrogates. Browsers resolve `.` and `..`, even escaped, so these get a `~` before them. */
function pathPart(text: string): string {
  const part = encodeURIComponent(text.toWellFormed());
  return /^(?:\.{0,2}$|~)/.test(part) ? `~${part}` : part;
}

export function fromPathPart(part: string): string {
  return part.startsWith('~') ? part.slice(1) : part;
}
