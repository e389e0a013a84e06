/**
 * Draws sentences for a reader: 40 from docs, 20 each from help, pages, messages and the API reference.
 *
 *     node test/plain-words/draw.ts <seed>
 */
import { sentencesOf, type Kind } from './texts.ts';

const SHARES: Readonly<Record<Kind, number>> = { docs: 40, help: 20, pages: 20, messages: 20, api: 20 };

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const next = numbersFrom(Number(process.argv[2] ?? 1));
let number = 0;
for (const [kind, share] of Object.entries(SHARES) as [Kind, number][]) {
  const left = [...sentencesOf(kind)];
  console.log(`\n## ${kind}\n`);
  for (let drawn = 0; drawn < share; drawn += 1) {
    const [one] = left.splice(Math.floor(next() * left.length), 1);
    if (one !== undefined) console.log(`${(number += 1)}. ${one.sentence}  [${one.file}]`);
  }
}
