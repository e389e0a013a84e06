/**
 * Makes numbers from 0 up to 1 that depend on nothing but the seed and the names: the same question has the same answer, in
 * whatever order it is asked.
 */
export function seeded(seed: number, ...names: readonly (string | number)[]): () => number {
  let state = hash(`${seed}/${names.join('/')}`);
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from `least` to `most`. */
export function whole(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** @throws RangeError for an empty list */
export function oneOf<T>(random: () => number, list: readonly T[]): T {
  if (list.length === 0) throw new RangeError('The list to choose from is empty.');
  return list[whole(random, 0, list.length - 1)] as T; // within the list
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Letters and digits, as ids have them. */
export function letters(random: () => number, length: number): string {
  return Array.from({ length }, () => LETTERS[whole(random, 0, LETTERS.length - 1)]).join('');
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}
