import { nearest } from '../../ops/words/nearest.ts';

/** Which type was meant, or else all that there are. */
export function didYouMean(typed: string, types: readonly string[]): string {
  const near = nearest(typed, types);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `The types are: ${types.join(', ')}.`;
}
