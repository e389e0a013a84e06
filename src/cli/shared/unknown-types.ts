import { eventTypes, isEventType } from '../../events/event-types.ts';
import { didYouMean } from './did-you-mean.ts';
import { tell } from './output.ts';

/** A type that hookbox does not know may be stored all the same, so this is said only where nothing fits. */
export function tellUnknownTypes(types: readonly string[] = []): void {
  for (const unknown of types.filter((each) => !isEventType(each))) {
    tell(`${JSON.stringify(unknown)} is not a known type. ${didYouMean(unknown, eventTypes)}`);
  }
}
