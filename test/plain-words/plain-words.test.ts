import { expect, it } from 'vitest';
import { counted, sentencesOf } from './texts.ts';

// CONTRIBUTING.md, Plain words.
const PATTERNS = [
  {
    name: 'nobody, somebody, whoever',
    found: /\b(?:nobody|somebody|whoever)\b/gi,
    instead: 'the reader, an operator, each …',
    most: { docs: 0, strings: 0, comments: 0 },
  },
  {
    name: 'is told, is asked, heard, handy',
    found: /\b(?:(?:is|are|was|were|be) (?:told|asked)|heard|hears|handy)\b/gi,
    instead: 'gets, receives, is called with',
    most: { docs: 0, strings: 0, comments: 0 },
  },
  {
    name: 'there is none, is no',
    found: /\b(?:there (?:is|are|was|were) (?:none|no|not)\b|(?:is|are) (?:none|no) (?!longer)\w+)/gi,
    instead: 'No … yet. Cannot … Throws for an unknown …',
    most: { docs: 0, strings: 0, comments: 0 },
  },
  {
    name: 'a clause as a noun',
    found: /\bwhat (?:is|was|are|were|has|have|comes?|waits?|fails?|stands?|runs?|goes|begins?|says?)\b/gi,
    instead: 'the noun of the glossary',
    most: { docs: 0, strings: 0, comments: 2 },
  },
  {
    name: 'goes on, of its own, as it was',
    found: /\b(?:go(?:es)? on|of (?:its|their|his) own|as it was|as they were)\b/gi,
    instead: 'continues; its; unchanged',
    most: { docs: 0, strings: 0, comments: 4 },
  },
] as const;

/** More words than this make a reader go back. */
const LONG_SENTENCE = 30;
const LONG_SENTENCES = 0;

it.each(
  PATTERNS.flatMap(({ most, ...pattern }) =>
    Object.entries(most).map(([where, bound]) => ({ ...pattern, where, bound })),
  ),
)('"$name" stands in $where at most $bound times (write: $instead)', ({ found, where, bound }) => {
  const hits = counted[where as keyof typeof counted]().flatMap((text) => text.match(found) ?? []);
  expect(hits.length).toBeLessThanOrEqual(bound);
});

it(`at most ${LONG_SENTENCES} sentences of the docs have over ${LONG_SENTENCE} words`, () => {
  const long = sentencesOf('docs').filter(({ sentence }) => sentence.split(' ').length > LONG_SENTENCE);
  expect(long.length, long.map(({ file, sentence }) => `${file}: ${sentence}`).join('\n')).toBeLessThanOrEqual(
    LONG_SENTENCES,
  );
});
