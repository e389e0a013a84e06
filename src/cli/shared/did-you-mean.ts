import { didYouMean as nearestOf } from '../../nearest.ts';

/** Which type was meant, or else all that there are. */
export function didYouMean(typed: string, types: readonly string[]): string {
  return nearestOf(typed, types) ?? `The types are: ${types.join(', ')}.`;
}
