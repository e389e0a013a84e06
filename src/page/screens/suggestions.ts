import { eventTypes } from '../../events/event-types.ts';
import { deadReasons, eventStates } from '../../inbox/event.ts';
import type { FoundName } from '../../inbox/operator/search.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { bounded, number } from '../../ops/words/format.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import { performance } from '../../host/real-timers.ts';
import { TIMES } from '../parts/filter-fields.ts';
import { LINE_NAMES, readQueryLine, valueText } from '../parts/query-line.ts';
import type { Visit } from '../visit.ts';
import { namesShown } from './listing.ts';

/** A possible continuation of the line in the search box. */
export interface LineSuggestion {
  /** the whole line, if this suggestion is chosen */
  readonly line: string;
  readonly name: string;
  readonly detail: string;
  /** whether the chosen line is complete, so that the search can start */
  readonly isWhole: boolean;
}

const MOST = 8;
const LONGEST_LINE = 1_000;
/** Too many names begin with fewer letters. */
const FEWEST_LETTERS = 3;
const DAY_MS = 24 * 60 * 60_000;
const NEWEST = 200;
const FRESH_MS = 10_000;

/** The meaning of each name, the most used first. */
const MEANINGS: Readonly<Record<string, string>> = {
  state: 'pending, processing, processed, dead, ignored or discarded',
  type: 'the type of an event',
  endpoint: 'the endpoint of an event',
  entity: 'an order, a cart or a product',
  merchant: 'the merchant',
  error: 'text in the last error',
  body: 'text in any value of the body',
  since: 'received since, such as 2h or 14:00',
  until: 'received before',
  'failed-since': 'last failed since',
  'failed-until': 'last failed before',
  retrying: 'waiting for a retry: yes or no',
  'dead-reason': deadReasons.join(', '),
  redelivered: 'delivered more than once: yes or no',
  conflict: 'with a different body: yes or no',
  superseded: 'processed without a run, as a newer one waited: yes or no',
  id: 'the exact id of an event',
  text: 'text in ids, types, entities and errors',
  group: 'a group of dead events',
  'ignored-since': 'ignored since (no processor handled it)',
  bulk: 'the number of a bulk action',
};

/** The last word of a line, with quotes within. */
const LAST_WORD = /(?:[^\s"]|"(?:[^"\\]|\\.)*(?:"|$))*$/s;

export async function suggestionsFor(visit: Visit, line: string): Promise<readonly LineSuggestion[]> {
  if (line.length > LONGEST_LINE) return [];
  const [word = ''] = LAST_WORD.exec(line) ?? [];
  const before = line.slice(0, line.length - word.length);
  const suggest = (name: string, value: string, detail = ''): LineSuggestion => {
    return { line: `${before}${name}:${valueText(value)} `, name: `${name}:${value}`, detail, isWhole: true };
  };
  const colon = word.indexOf(':');
  const named = colon === -1 ? undefined : LINE_NAMES.get(word.slice(0, colon));
  if (named !== undefined) {
    const name = word.slice(0, colon);
    const begun = word.slice(colon + 1).replaceAll('"', '');
    const values = await valuesOf(visit, named, begun);
    const fits = ([value]: Value): boolean => value.toLowerCase().includes(begun.toLowerCase());
    return values
      .filter(fits)
      .slice(0, MOST)
      .map(([value, detail]) => suggest(name, value, detail));
  }

  const begun = word.toLowerCase();
  const names = Object.entries(MEANINGS)
    .filter(([name]) => name.startsWith(begun))
    .map(([name, detail]) => ({ line: `${before}${name}:`, name: `${name}:`, detail, isWhole: false }));
  if (begun === '') return names.slice(0, MOST);
  const { states, types } = await knownNames(visit);
  const found = await namesLike(visit, word, namesShown(visit));
  const { text } = readQueryLine(line);
  const beside = text === null ? '' : withoutText(line, text);
  const all = ['body', 'error'].map((name) => ({
    line: `${beside}${name}:${valueText(text ?? word)} `,
    name: name === 'body' ? `Search bodies for “${text ?? word}”` : `Search errors for “${text ?? word}”`,
    detail: name === 'body' ? 'any value, upper or lower case' : '',
    isWhole: true,
  }));
  return [
    ...names.slice(0, 3),
    ...states.filter(([state]) => state.startsWith(begun)).map(([state, detail]) => suggest('state', state, detail)),
    ...types
      .filter(([type]) => begun.length >= FEWEST_LETTERS && type.includes(begun))
      .map(([type, detail]) => suggest('type', type, detail)),
    ...found.map(({ what, name }) => suggest(what, name)),
  ]
    .slice(0, MOST)
    .concat(text === null ? [] : all);
}

/** The fields of a line, without its text. */
function withoutText(line: string, text: string): string {
  const at = line.indexOf(text);
  const rest = at === -1 ? '' : `${line.slice(0, at)}${line.slice(at + text.length)}`.trim();
  return rest === '' ? '' : `${rest} `;
}

/** with a fact about it */
type Value = readonly [value: string, detail: string];

const plain = (values: readonly string[]): readonly Value[] => values.map((value) => [value, '']);
const AGES = plain(['15m', '1h', '24h', '7d']);

async function valuesOf(visit: Visit, field: string, begun: string): Promise<readonly Value[]> {
  switch (field) {
    case 'state':
      return (await knownNames(visit)).states;
    case 'type':
      return (await knownNames(visit)).types;
    case 'endpoint':
      return (await knownNames(visit)).endpoints;
    case 'deadReason':
      return plain(deadReasons);
    case 'retrying':
    case 'redelivered':
    case 'conflict':
    case 'superseded':
      return plain(['yes', 'no']);
    case 'entity':
    case 'id':
    case 'merchant': {
      const kinds = namesShown(visit).filter((kind) => kind === field);
      return plain((await namesLike(visit, begun, kinds)).map(({ name }) => name));
    }
    default:
      return TIMES.some((time) => time === field) ? AGES : [];
  }
}

async function namesLike({ operated }: Visit, text: string, kinds: readonly FoundName['what'][]) {
  if (text.length < FEWEST_LETTERS || kinds.length === 0) return [];
  const names = await operationsOf(operated.inbox).namesLike(text, MOST);
  return names.filter(({ what }) => kinds.includes(what));
}

export interface KnownNames {
  readonly states: readonly Value[];
  readonly types: readonly Value[];
  readonly endpoints: readonly Value[];
}

const lately = new WeakMap<AnyInbox, { readonly until: number; readonly seen: Promise<KnownNames> }>();

/** Kept for some seconds, while a visitor types. */
export async function knownNames({ lasting, now }: Visit): Promise<KnownNames> {
  const known = lately.get(lasting);
  if (known !== undefined && performance.now() < known.until) return known.seen;
  const seen = lookInto(lasting, now);
  lately.set(lasting, { until: performance.now() + FRESH_MS, seen });
  seen.catch(() => lately.delete(lasting));
  return seen;
}

async function lookInto(inbox: AnyInbox, now: Date): Promise<KnownNames> {
  const operations = operationsOf(inbox);
  const at = now.getTime();
  const [gauges, [totals = []], { handled }, { events }] = await Promise.all([
    operations.gauges(),
    operations.totalsIn([{ since: at - DAY_MS, until: at }]),
    inbox.processors(at),
    operations.search({}, { limit: NEWEST }),
  ]);
  const counted = (what: 'stored' | 'arrived') =>
    new Map(totals.filter((total) => total.what === what).map(({ detail, count }) => [detail, count]));
  const valued = (names: Iterable<string>, counts: ReadonlyMap<string, number>): readonly Value[] => {
    const sorted = [...new Set(names)].toSorted(
      (one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0) || (one < other ? -1 : 1),
    );
    return sorted.map((name) => [name, counts.has(name) ? `${number(counts.get(name) ?? 0)} in 24 h` : '']);
  };
  const types = counted('stored');
  const endpoints = counted('arrived');
  const own = [...handled.map(({ type }) => type), ...events.flatMap(({ type }) => type ?? [])];
  return {
    states: eventStates.map((state) => [state, state === 'processed' ? '' : bounded(gauges[state])]),
    types: valued([...eventTypes, ...own.filter((type) => type !== '*')], types),
    endpoints: valued([...endpoints.keys(), ...events.map(({ endpoint }) => endpoint)], endpoints),
  };
}
