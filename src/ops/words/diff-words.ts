import type { BodyDiff } from '../body/body-diff.ts';
import { number, plural } from './format.ts';

/** What two bodies under one id have otherwise, in a sentence. */
export function differenceInWords(diff: BodyDiff): string {
  switch (diff.kind) {
    case 'changes':
      return diff.more
        ? `They differ in more than ${plural(diff.changes.length, 'place')}; the first ones are:`
        : `They differ in ${plural(diff.changes.length, 'place')}:`;
    case 'same meaning':
      return `Same meaning, other bytes: they differ from byte ${number(diff.at)} on, in how the same values are written.`;
    case 'too large':
      return `They differ from byte ${number(diff.at)} on. They are too large to be compared value by value; what was compared is the same.`;
    case 'no JSON':
      return `They differ from byte ${number(diff.at)} on. At least one of them is no JSON, so their values cannot be compared.`;
  }
}
