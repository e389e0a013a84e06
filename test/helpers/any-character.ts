import { integer } from 'fast-check';

/** Between these are the halves of surrogate pairs, which are no characters. */
const SURROGATES = { from: 0xd800, to: 0xdfff };
const HALVES = SURROGATES.to - SURROGATES.from + 1;

/** What `unit: 'binary'` is to a string of fast-check, which for that makes a table of all 1.1 million characters in each process. */
export const anyCharacter = integer({ min: 0, max: 0x10ffff - HALVES }).map(
  (place) => String.fromCodePoint(place < SURROGATES.from ? place : place + HALVES),
  (character) => {
    const [one, ...more] = typeof character === 'string' ? character : [];
    const code = one?.codePointAt(0) ?? SURROGATES.from;
    if (more.length > 0 || (code >= SURROGATES.from && code <= SURROGATES.to)) throw new Error('not one character');
    return code < SURROGATES.from ? code : code - HALVES;
  },
);
