import { unquoted, JsonTokens } from '../../events/json.ts';
import type { BodyStep } from './body-path.ts';

/** Reading may stop so often, for others to have their turn. */
const STRETCH_CHARACTERS = 64 * 1024;

/** A place that is looked for, or that leads to such places. */
interface Place {
  readonly below: Map<BodyStep, Place>;
  /** which of the paths end here */
  readonly paths: number[];
  seen: boolean;
}

/**
 * What stands at places of a JSON text, exactly as it is written there: `"ord_42"`, `12.50`, `null`; and `null` where there
 * is no such place, or an object or a list. Where a name is given twice the first one counts. The text is read once,
 * however many places are asked for; whoever reads it may rest between two stretches.
 *
 * @param text - valid JSON
 */
export function* readPlaces(
  text: string,
  paths: readonly (readonly BodyStep[])[],
): Generator<void, readonly (string | null)[]> {
  const written: (string | null)[] = paths.map(() => null);
  const root = placesOf(paths);
  let missing = new Set(paths.map((steps) => JSON.stringify(steps))).size;
  const open: { readonly place: Place; readonly isList: boolean; next: BodyStep }[] = [];
  let rested = 0;
  for (const tokens = new JsonTokens(text); missing > 0 && tokens.next();) {
    if (tokens.start - rested > STRETCH_CHARACTERS) {
      rested = tokens.start;
      yield;
    }
    const { kind } = tokens;
    const level = open.at(-1);
    if (kind === '}' || kind === ']') {
      open.pop();
      continue;
    }
    if (kind === 'name') {
      if (level !== undefined) level.next = unquoted(tokens.written());
      continue;
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
      while (!tokens.leave(STRETCH_CHARACTERS)) yield;
      rested = tokens.end;
    }
  }
  return written;
}

/** As `readPlaces`, without a rest. */
export function tokensAt(text: string, paths: readonly (readonly BodyStep[])[]): readonly (string | null)[] {
  const reading = readPlaces(text, paths);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
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
