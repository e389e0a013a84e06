import { ConfigurationError } from '../../errors.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { unquoted, jsonText, JsonTokens } from '../../events/json.ts';

/** What stands in the place of a masked value. */
export const MASKED = '•••';
const MASKED_JSON = JSON.stringify(MASKED);

/** Hides the values of some fields. */
export interface Mask {
  /** whether there are any */
  readonly masks: boolean;
  /** The body with `"•••"` for each masked value, and everything else as it was. */
  readonly mask: (body: Uint8Array) => Uint8Array;
  /** Why a filter would tell what a masked value is, or `null`. */
  readonly refusal: (filter: EventFilter) => string | null;
}

/** Names, and what stands for a place in a list: any of them, or the n-th. */
type Step = { readonly name: string } | { readonly place: number | 'any' };

/** What may follow in the paths that have matched so far. */
interface Branch {
  readonly number: number;
  masked: boolean;
  readonly names: Map<string, Branch>;
  readonly places: Map<number | 'any', Branch>;
}

/**
 * Reads paths such as `data.customer.email` or `data.items[].name`. `[3]` is one place of a list; where a path has no
 * brackets it reaches through lists all the same, so `data.items.name` masks no less than `data.items[].name`.
 *
 * @throws ConfigurationError for anything but such a path
 */
export function createMask(paths: readonly string[] = []): Mask {
  const steps = paths.map(stepsOf);
  const root = newBranch(0);
  let branches = 1;
  const grown = (branch: Branch, step: Step): Branch => {
    const known = 'name' in step ? branch.names.get(step.name) : branch.places.get(step.place);
    if (known !== undefined) return known;
    const next = newBranch(branches);
    branches += 1;
    if ('name' in step) branch.names.set(step.name, next);
    else branch.places.set(step.place, next);
    return next;
  };
  for (const path of steps) {
    let branch = root;
    for (const step of path) branch = grown(branch, step);
    branch.masked = true;
  }
  return {
    masks: paths.length > 0,
    mask: (body) => (paths.length === 0 ? body : masked(body, root)),
    refusal(filter) {
      const asked = [
        ...(filter.body ?? []).map(({ path }) => path),
        ...(filter.merchant === undefined ? [] : ['data.merchant_id']),
      ];
      const covered = asked.find((path) => steps.some((one) => overlaps(one, stepsOrNone(path))));
      return covered === undefined
        ? null
        : `${covered} is masked on this page, so you cannot search for its values here.`;
    },
  };
}

function newBranch(number: number): Branch {
  return { number, masked: false, names: new Map(), places: new Map() };
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
    steps.push({ name });
    for (const [, place = ''] of places.matchAll(/\[(\d*)\]/g)) {
      steps.push({ place: place === '' ? 'any' : Number(place) });
    }
  }
  return steps;
}

/** Whether one path leads to the other, or into it. What cannot be read might lead anywhere. */
function overlaps(one: readonly Step[], other: readonly Step[]): boolean {
  const names = [namesOf(one), namesOf(other)];
  const shorter = Math.min(...names.map(({ length }) => length));
  return names[0]?.slice(0, shorter).join('.') === names[1]?.slice(0, shorter).join('.');
}

/** Places are left out: which of them a search means is not worth being wrong about. */
function namesOf(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) => ('name' in step ? [step.name] : []));
}

/** Where reading is in a container. */
interface Level {
  readonly spot: Spot;
  readonly isList: boolean;
  place: number;
  name: string;
}

function masked(body: Uint8Array, root: Branch): Uint8Array {
  const text = jsonText(body);
  // In a body that cannot be read, the fields cannot be found.
  if (text === null) return Buffer.from(MASKED_JSON);
  const spots = new Spots();
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
      const spot = level === undefined ? spots.of([root]) : nextOf(level, spots);
      const isMasked = spot?.masked === true;
      if (kind === '{' || kind === '[') {
        // Nothing is looked at in what is masked, or no path leads into.
        if (isMasked || spot === null) tokens.leave();
        else levels.push({ spot, isList: kind === '[', place: 0, name: '' });
      }
      if (isMasked) {
        pieces.push(text.slice(copied, start), MASKED_JSON);
        copied = tokens.end;
      }
    }
  }
  pieces.push(text.slice(copied));
  return Buffer.from(pieces.join(''));
}

function nextOf(level: Level, spots: Spots): Spot | null {
  if (!level.isList) return spots.inObject(level.spot, level.name);
  level.place += 1;
  return spots.inList(level.spot, level.place - 1);
}

/** The branches that lead to a value, each of them once, however many ways lead to it through lists in lists. */
interface Spot {
  readonly branches: readonly Branch[];
  readonly masked: boolean;
  /** the places of a list from here that paths name */
  readonly named: ReadonlySet<number>;
  /** what the others lead to, once one of them was looked for */
  others: Spot | null;
}

/**
 * All spots of a body, each made once: there are only so many as the paths make, however the body is nested, and going on
 * from one to the next looks at the branches of one alone.
 */
class Spots {
  readonly #known = new Map<string, Spot>();

  /** `null` where no path goes on. */
  of(branches: readonly Branch[]): Spot | null {
    if (branches.length === 0) return null;
    const each = [...new Set(branches)].toSorted((a, b) => a.number - b.number);
    const key = each.map(({ number }) => number).join(' ');
    let spot = this.#known.get(key);
    if (spot === undefined) {
      const places = each.flatMap((branch) => [...branch.places.keys()]);
      const named = new Set(places.filter((place) => place !== 'any'));
      spot = { branches: each, masked: each.some(({ masked }) => masked), named, others: null };
      this.#known.set(key, spot);
    }
    return spot;
  }

  inObject({ branches }: Spot, name: string): Spot | null {
    return this.of(present(branches.map(({ names }) => names.get(name))));
  }

  inList(spot: Spot, place: number): Spot | null {
    if (!spot.named.has(place) && spot.others !== null) return spot.others;
    const led = present(spot.branches.flatMap(({ places }) => [places.get('any'), places.get(place)]));
    // Paths without brackets go on through the list.
    const next = this.of([...spot.branches, ...led]);
    if (!spot.named.has(place)) spot.others = next;
    return next;
  }
}

function present(branches: readonly (Branch | undefined)[]): readonly Branch[] {
  return branches.filter((branch) => branch !== undefined);
}
