import { ConfigurationError } from '../../errors.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { unquoted, jsonText, JsonTokens } from '../../events/json.ts';
import { oneLine } from '../../printable.ts';
import type { TimelineEntry } from '../find.ts';

export const MASKED = '•••';
const MASKED_JSON = JSON.stringify(MASKED);

export interface Mask {
  readonly masks: boolean;
  readonly mask: (body: Uint8Array) => Uint8Array;
  /** Hides the masked values of the body in the log lines of its attempts, too. */
  readonly maskLog: <H extends Logged>(history: H) => H;
  /** Why a filter would tell what a masked value is, or `null`. */
  readonly refusal: (filter: EventFilter) => string | null;
}

/** A name as `.name`, a place of a list as `[3]`, any place as `[]`. */
type Step = string;

interface Branch {
  masked: boolean;
  readonly next: Map<Step, Branch>;
}

/**
 * Reads paths such as `data.customer.email` or `data.items[].name`. `[3]` is one place of a list; a path without
 * brackets reaches through lists too.
 *
 * @throws ConfigurationError for anything but such a path
 */
export function createMask(paths: readonly string[] = []): Mask {
  const steps = paths.map(stepsOf);
  const root: Branch = { masked: false, next: new Map() };
  for (const path of steps) {
    let branch = root;
    for (const step of path) {
      const next: Branch = branch.next.get(step) ?? { masked: false, next: new Map() };
      branch.next.set(step, next);
      branch = next;
    }
    branch.masked = true;
  }
  return {
    masks: paths.length > 0,
    mask: (body) => (paths.length === 0 ? body : Buffer.from(masked(body, root).text)),
    maskLog: (history) => (paths.length === 0 ? history : withoutValues(history, root)),
    refusal(filter) {
      const conditions = [
        ...(filter.body ?? []).map(({ path }) => path),
        ...(filter.merchant === undefined ? [] : ['data.merchant_id']),
      ];
      const covered = conditions.find((path) => steps.some((one) => overlaps(one, stepsOrNone(path))));
      return covered === undefined
        ? null
        : `${covered} is masked on this page, so you cannot search for its values here.`;
    },
  };
}

const PART = /^([^.[\]]*)((?:\[\d*\])*)$/;

function stepsOf(path: string): readonly Step[] {
  const steps = typeof path === 'string' ? stepsOrNone(path) : [];
  if (steps.length > 0) return steps;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `mask: ${JSON.stringify(path)} is not a path. Join names with dots, and write [] for list items: data.items[].name`,
  );
}

function stepsOrNone(path: string): readonly Step[] {
  const steps: Step[] = [];
  for (const part of path.split('.')) {
    const [, name, places = ''] = PART.exec(part) ?? [];
    if (name === undefined || name === '') return [];
    steps.push(`.${name}`, ...(places.replaceAll(/\[0+(?=\d)/g, '[').match(/\[\d*\]/g) ?? []));
  }
  return steps;
}

/**
 * Whether one path leads into the other. A path that cannot be read might lead anywhere. Masking too much is better
 * than too little.
 */
function overlaps(one: readonly Step[], other: readonly Step[]): boolean {
  const [names, others] = [one, other].map((steps) => steps.filter((step) => step.startsWith('.'))) as [Step[], Step[]];
  const shorter = Math.min(names.length, others.length);
  return names.slice(0, shorter).join('') === others.slice(0, shorter).join('');
}

interface Level {
  readonly branches: readonly Branch[];
  readonly isList: boolean;
  place: number;
  name: string;
}

/** `hidden`: the JSON that was replaced */
function masked(body: Uint8Array, root: Branch): { readonly text: string; readonly hidden: readonly string[] | 'all' } {
  const text = jsonText(body);
  // In a body that cannot be read, the fields cannot be found.
  if (text === null) return { text: MASKED_JSON, hidden: 'all' };
  const hidden: string[] = [];
  const levels: Level[] = [];
  const pieces: string[] = [];
  let copied = 0;
  for (const tokens = new JsonTokens(text); tokens.next();) {
    const { kind, start } = tokens;
    const level = levels.at(-1);
    if (kind === '}' || kind === ']') {
      levels.pop();
    } else if (kind === 'name') {
      if (level !== undefined) level.name = unquoted(tokens.written());
    } else {
      const branches = level === undefined ? [root] : following(level);
      const isMasked = branches.some((branch) => branch.masked);
      if (kind === '{' || kind === '[') {
        // Skips containers that are masked, or that no path leads into.
        if (isMasked || branches.length === 0) tokens.leave();
        else levels.push({ branches, isList: kind === '[', place: 0, name: '' });
      }
      if (isMasked) {
        pieces.push(text.slice(copied, start), MASKED_JSON);
        hidden.push(text.slice(start, tokens.end));
        copied = tokens.end;
      }
    }
  }
  pieces.push(text.slice(copied));
  return { text: pieces.join(''), hidden };
}

/** The part of an event's history that may have values of the body. */
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

/** Each branch once, however many ways lead to it through lists in lists. */
function following(level: Level): readonly Branch[] {
  if (!level.isList) return level.branches.flatMap(({ next }) => next.get(`.${level.name}`) ?? []);
  const place = `[${level.place}]`;
  level.place += 1;
  const found = new Set(level.branches);
  for (const { next } of level.branches) {
    for (const step of ['[]', place]) {
      const branch = next.get(step);
      if (branch !== undefined) found.add(branch);
    }
  }
  return [...found];
}
