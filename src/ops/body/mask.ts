import { ConfigurationError } from '../../errors.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { unquoted, jsonText, JsonTokens } from '../../events/json.ts';
import { PathWalk, stepsOf, treeOf, type Branch, type Step } from '../../events/json-paths.ts';
import { oneLine } from '../../printable.ts';
import type { TimelineEntry } from '../find.ts';

export const MASKED = '•••';
const SEARCHES_ALL = 'Fields of the body are masked on this page, so you cannot search for values in all of them.';
const MASKED_JSON = JSON.stringify(MASKED);

export interface Mask {
  readonly masks: boolean;
  readonly mask: (body: Uint8Array) => Uint8Array;
  /** Also hides the masked values of the body in the log lines of its attempts. */
  readonly maskLog: <H extends Logged>(history: H) => H;
  /** The filter, without masked fields where it searches whole bodies. */
  readonly narrowed: (filter: EventFilter) => EventFilter;
  /** Why a filter would reveal a masked value, or `null`. */
  readonly refusal: (filter: EventFilter) => string | null;
}

/**
 * Reads paths such as `data.customer.email` or `data.items[].name`. `[3]` is one item of a list; a path without
 * brackets also matches inside lists.
 *
 * @throws ConfigurationError for anything but such a path
 */
export function createMask(paths: readonly string[] = []): Mask {
  const steps = paths.map(readableSteps);
  const root = treeOf(steps);
  return {
    masks: paths.length > 0,
    mask: (body) => (paths.length === 0 ? body : Buffer.from(masked(body, root).text)),
    maskLog: (history) => (paths.length === 0 ? history : withoutValues(history, root)),
    narrowed: (filter) =>
      filter.bodyText === undefined || paths.length === 0 ? filter : { ...filter, bodyTextExcept: [...paths] },
    refusal(filter) {
      const { bodyText, bodyTextExcept = [] } = filter;
      if (bodyText !== undefined && !paths.every((path) => bodyTextExcept.includes(path))) return SEARCHES_ALL;
      const conditions = [
        ...(filter.body ?? []).map(({ path }) => path),
        ...(filter.merchant === undefined ? [] : ['data.merchant_id']),
      ];
      const covered = conditions.find((path) => steps.some((one) => overlaps(one, stepsOf(path))));
      return covered === undefined
        ? null
        : `${covered} is masked on this page, so you cannot search for its values here.`;
    },
  };
}

function readableSteps(path: string): readonly Step[] {
  const steps = typeof path === 'string' ? stepsOf(path) : [];
  if (steps.length > 0) return steps;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `mask: ${JSON.stringify(path)} is not a path. Join names with dots, and write [] for list items: data.items[].name`,
  );
}

/**
 * Whether one path leads into the other. An unreadable path might lead anywhere. Masking too much is better than
 * masking too little.
 */
function overlaps(one: readonly Step[], other: readonly Step[]): boolean {
  const [names, others] = [one, other].map((steps) => steps.filter((step) => step.startsWith('.'))) as [Step[], Step[]];
  const shorter = Math.min(names.length, others.length);
  return names.slice(0, shorter).join('') === others.slice(0, shorter).join('');
}

/** `hidden`: the JSON that was replaced */
function masked(body: Uint8Array, root: Branch): { readonly text: string; readonly hidden: readonly string[] | 'all' } {
  const text = jsonText(body);
  // In a body that cannot be read, the fields cannot be found.
  if (text === null) return { text: MASKED_JSON, hidden: 'all' };
  const hidden: string[] = [];
  const walk = new PathWalk(root);
  const pieces: string[] = [];
  let copied = 0;
  for (const tokens = new JsonTokens(text); tokens.next();) {
    const { kind, start } = tokens;
    const place = walk.at(tokens);
    if (kind === '{' || kind === '[') {
      if (place === 'before') walk.enter(tokens);
      else tokens.leave();
    }
    if (place === 'end') {
      pieces.push(text.slice(copied, start), MASKED_JSON);
      hidden.push(text.slice(start, tokens.end));
      copied = tokens.end;
    }
  }
  pieces.push(text.slice(copied));
  return { text: pieces.join(''), hidden };
}

/** The part of an event's history that may contain values of the body. */
interface Logged {
  readonly event: { readonly body: Uint8Array | null };
  readonly timeline: readonly TimelineEntry[];
}

function withoutValues<H extends Logged>(history: H, root: Branch): H {
  const { body } = history.event;
  const hide = hiding(body === null ? 'all' : masked(body, root).hidden);
  const timeline = history.timeline.map((entry): TimelineEntry => {
    if (entry.what !== 'attempt' || entry.attempt.log === undefined) return entry;
    const log = entry.attempt.log.map((line) => ({ ...line, text: hide(line.text) }));
    return { ...entry, attempt: { ...entry.attempt, log } };
  });
  return { ...history, timeline };
}

/** More values would take too long to search for. */
const MOST_VALUES = 1_000;
/** Shorter values are hidden only as whole words. */
const LONG_VALUE = 4;
/** Longer than any line. */
const LONGEST_VALUE = 1_000;

function hiding(hidden: readonly string[] | 'all'): (text: string) => string {
  const values = hidden === 'all' ? null : valuesIn(hidden);
  if (values === null || values.length > MOST_VALUES) return () => MASKED;
  if (values.length === 0) return (text) => text;
  const longestFirst = values.toSorted((one, other) => other.length - one.length).map(patternOf);
  const pattern = new RegExp(longestFirst.join('|'), 'giu');
  return (text) => withoutCutValue(text.replaceAll(pattern, MASKED), values);
}

function valuesIn(hidden: readonly string[]): readonly string[] {
  const values = new Set<string>();
  for (const json of hidden) {
    for (const tokens = new JsonTokens(json); tokens.next() && values.size <= MOST_VALUES;) {
      const { kind } = tokens;
      if (kind === 'number') values.add(tokens.written());
      if (kind !== 'text') continue;
      // A line has no line breaks, and doubles backslashes of nested fields.
      for (const part of unquoted(tokens.written()).split(/\p{Cc}+/u)) {
        const shown = oneLine(part, LONGEST_VALUE);
        values.add(shown).add(shown.replaceAll('\\', '\\\\'));
      }
    }
  }
  values.delete('');
  return [...values];
}

function patternOf(value: string): string {
  const escaped = value.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  return value.length < LONG_VALUE ? String.raw`(?<![\p{L}\p{N}])${escaped}(?![\p{L}\p{N}])` : escaped;
}

/** The end of a long line may be the beginning of a value. */
function withoutCutValue(text: string, values: readonly string[]): string {
  if (!text.endsWith('…')) return text;
  const line = text.slice(0, -1).toLowerCase();
  const cuts = values.map((value) => {
    for (let end = value.length - 1; end > 0; end -= 1)
      if (line.endsWith(value.slice(0, end).toLowerCase())) return end;
    return 0;
  });
  const cut = Math.max(...cuts);
  return cut === 0 ? text : `${text.slice(0, -1 - cut)}${MASKED}…`;
}
