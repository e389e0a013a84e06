import { ConfigurationError } from '../../../errors.ts';
import { entityOf } from '../../../events/entity.ts';
import { unquoted, JsonTokens } from '../../../events/json.ts';
import type { UnknownEvent } from '../../../events/webhook-event.ts';
import type { NamesInBody } from '../../rules/entity-terms.ts';

/** Reading pauses after this many characters, so that other work gets a turn. */
export const STRETCH_CHARACTERS = 64 * 1024;

interface Place {
  readonly below: Map<BodyStep, Place>;
  readonly paths: number[];
  seen: boolean;
}

/**
 * Reads the tokens at some paths of a valid JSON text, unchanged: `"ord_42"`, `12.50`, `null`. `null` for a missing
 * value, an object or a list. Of two equal names, the first counts.
 *
 * @returns a function that reads the next stretch, and returns `null` until the text is read
 */
export function placesReader(
  text: string,
  paths: readonly (readonly BodyStep[])[],
): () => readonly (string | null)[] | null {
  const written: (string | null)[] = paths.map(() => null);
  const root = placesOf(paths);
  let missing = new Set(paths.map((steps) => JSON.stringify(steps))).size;
  const open: { readonly place: Place; readonly isList: boolean; next: BodyStep }[] = [];
  const tokens = new JsonTokens(text);
  let isLeaving = false;

  function readToken(): void {
    const { kind } = tokens;
    const level = open.at(-1);
    if (kind === '}' || kind === ']') {
      open.pop();
      return;
    }
    if (kind === 'name') {
      if (level !== undefined) level.next = unquoted(tokens.written());
      return;
    }
    const place = level === undefined ? root : level.place.below.get(level.next);
    if (level?.isList === true && typeof level.next === 'number') level.next += 1;
    const isFound = place !== undefined && !place.seen;
    if (isFound) {
      place.seen = true;
      if (place.paths.length > 0) missing -= 1;
    }
    if (kind !== '{' && kind !== '[') {
      if (isFound) for (const path of place.paths) written[path] = tokens.written();
    } else if (isFound && place.below.size > 0) {
      open.push({ place, isList: kind === '[', next: kind === '[' ? 0 : '' });
    } else {
      // No path leads into it.
      isLeaving = true;
    }
  }

  return () => {
    for (const until = tokens.end + STRETCH_CHARACTERS; tokens.end <= until;) {
      if (isLeaving && !tokens.leave(STRETCH_CHARACTERS)) return null;
      isLeaving = false;
      if (missing === 0 || !tokens.next()) return written;
      readToken();
    }
    return null;
  };
}

export function tokensAt(text: string, paths: readonly (readonly BodyStep[])[]): readonly (string | null)[] {
  const read = placesReader(text, paths);
  for (;;) {
    const tokens = read();
    if (tokens !== null) return tokens;
  }
}

function placesOf(paths: readonly (readonly BodyStep[])[]): Place {
  const root = newPlace();
  for (const [path, steps] of paths.entries()) {
    let place = root;
    for (const step of steps) {
      const next = place.below.get(step) ?? newPlace();
      place.below.set(step, next);
      place = next;
    }
    place.paths.push(path);
  }
  return root;
}

function newPlace(): Place {
  return { below: new Map(), paths: [], seen: false };
}

export type BodyStep = string | number;

const NAME_AND_PLACES = /^([^[\]]+)((?:\[\d{1,9}\])*)$/;

/**
 * Names are used unchanged, so a path cannot contain a name with a dot or bracket.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function bodyPath(path: string): readonly BodyStep[] {
  return path.split('.').flatMap((part) => {
    const [, name, places] = NAME_AND_PLACES.exec(part) ?? [];
    if (name === undefined || places === undefined) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `${JSON.stringify(path.slice(0, 200))} is not a body path. Write a path such as data.items[0].name.`,
      );
    }
    return [name, ...Array.from(places.matchAll(/\d+/g), Number)];
  });
}

const IDS = ['id', 'order_id', 'cart_id', 'product_id'] as const;
const FIELDS = ['merchant_id', 'location_id', ...IDS] as const;
const PATHS = [['type'], ...FIELDS.map((field) => ['data', field])];

/** `null` for a pruned body, or one that is not JSON. */
export function namesIn(text: string | null): NamesInBody {
  if (text === null) return { entity: null, ids: [], merchant: null };
  const [type = null, ...tokens] = tokensAt(text, PATHS);
  const token = new Map(FIELDS.map((field, n) => [field, tokens[n] ?? null]));
  // The event may be invalid, but names have the same form in all bodies.
  const data = Object.fromEntries(Array.from(token, ([field, written]) => [field, textOf(written)]));
  const event: UnknownEvent = { id: '', type: textOf(type) ?? '', created: '', data };
  const ids = IDS.map((field) => idOf(token.get(field) ?? null));
  return {
    entity: entityOf(event),
    ids: ids.filter((id): id is string => id !== null && id !== ''),
    merchant: textOf(token.get('merchant_id') ?? null),
  };
}

/** Your own types may have numbers as the ids of entities. */
function idOf(token: string | null): string | null {
  return token !== null && /^-?\d/.test(token) ? token : textOf(token);
}

/** Longer numbers are compared as text. */
const LONGEST_NUMBER = 1_000;

function textOf(token: string | null): string | null {
  return token?.startsWith('"') === true ? (JSON.parse(token) as string) : null;
}

/** Compares texts by content, and numbers by value. */
export function readsAs(token: string | null, value: string): boolean {
  if (token === null) return false;
  if (token.startsWith('"')) return textOf(token) === value;
  return token === value || isSameNumber(token, value);
}

/** Compares exactly, without rounding. */
export function isSameNumber(one: string, other: string): boolean {
  const number = plainNumber(one);
  return number !== null && number === plainNumber(other);
}

/** The digits without zeros around them, and a power of ten; `null` if it is not a number. */
function plainNumber(text: string): string | null {
  if (text.length > LONGEST_NUMBER) return null;
  const [, sign, whole, decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const digits = (whole + decimals).replace(/^0+/, '');
  if (digits === '') return '0';
  let end = digits.length;
  // A pattern would take quadratic time.
  while (digits.endsWith('0', end)) end -= 1;
  const significant = digits.slice(0, end);
  return `${sign}${significant}e${Number(exponent) - decimals.length + digits.length - significant.length}`;
}
