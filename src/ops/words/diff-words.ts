import type { BodyDiff } from '../body/body-diff.ts';
import { number, plural } from './format.ts';

/** What two bodies under one id have otherwise, in a sentence. */
export function differenceInWords(diff: BodyDiff): string {
  switch (diff.kind) {
    case 'changes':
      return diff.more
        ? `The bodies differ in more than ${plural(diff.changes.length, 'place')}. The first ones are:`
        : `The bodies differ in ${plural(diff.changes.length, 'place')}:`;
    case 'same meaning':
      return `The two bodies have the same values. From byte ${number(diff.at)} on, their text differs.`;
    case 'too large':
      return (
        `The bodies differ from byte ${number(diff.at)} on. They are too large for hookbox to compare every ` +
        'value; the values that it compared are equal.'
      );
    case 'no JSON':
      return (
        `The bodies differ from byte ${number(diff.at)} on. At least one of them is not JSON, so hookbox ` +
        'cannot compare the values.'
      );
  }
}
