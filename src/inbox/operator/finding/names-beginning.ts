import type { Steps } from '../../rules/steps.ts';
import type { FoundName } from '../search.ts';

/** Where names stand in the order of their bytes. */
export interface NameIndex {
  /** The first name of a kind that is not before a text, or with `behind` the first one after it; `null` for none. */
  nextName(what: FoundName['what'], from: string, behind: boolean): Steps<string | null>;
}

const KINDS: readonly FoundName['what'][] = ['id', 'entity', 'merchant'];
/** So often an index is asked at most: each letter has two cases, but few names have both. */
const MOST_STEPS = 400;
/** Beyond this, what begins alike in another case is not looked for. */
const LONGEST = 255;

/** Names of each kind that begin with a text, in any case of A to Z; at most so many of each. */
export function* namesBeginning(index: NameIndex, text: string, limit: number): Steps<readonly FoundName[]> {
  if (text === '' || text.length > LONGEST) return [];
  const found: FoundName[] = [];
  for (const what of KINDS) {
    const walk = new Walk(index, what, limit);
    yield* walk.from('', text);
    for (const name of walk.names) found.push({ what, name });
  }
  return found;
}

/** Goes down the index letter by letter, and only to where there is something. */
class Walk {
  readonly names: string[] = [];
  readonly #index: NameIndex;
  readonly #what: FoundName['what'];
  readonly #limit: number;
  #steps = 0;

  constructor(index: NameIndex, what: FoundName['what'], limit: number) {
    this.#index = index;
    this.#what = what;
    this.#limit = limit;
  }

  get #isOver(): boolean {
    return this.names.length >= this.#limit || this.#steps >= MOST_STEPS;
  }

  /** @param begun - what names begin with, and what is to follow in any case */
  *from(begun: string, rest: string): Steps<void> {
    if (this.#isOver) return;
    // What has no case is taken together with the letter behind it.
    const [same = ''] = /^[^A-Za-z]*/.exec(rest) ?? [];
    const letter = rest[same.length];
    if (letter === undefined) return yield* this.#all(begun + same);
    for (const written of [letter.toUpperCase(), letter.toLowerCase()]) {
      const prefix = begun + same + written;
      const first = yield* this.#next(prefix, false);
      if (first?.startsWith(prefix) === true) yield* this.from(prefix, rest.slice(same.length + 1));
    }
  }

  *#all(prefix: string): Steps<void> {
    let name = yield* this.#next(prefix, false);
    while (name?.startsWith(prefix) === true && !this.#isOver) {
      this.names.push(name);
      name = yield* this.#next(name, true);
    }
  }

  *#next(from: string, behind: boolean): Steps<string | null> {
    if (this.#steps >= MOST_STEPS) return null;
    this.#steps += 1;
    return yield* this.#index.nextName(this.#what, from, behind);
  }
}
