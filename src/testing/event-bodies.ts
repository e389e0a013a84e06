import { eventTypes, type EventType } from '../events/event-types.ts';
import { fixture } from './fixtures.ts';

/** A body of each type, that of `fixtures/`. In the package this module holds their texts itself (`compile-in.ts`). */
export const EVENT_BODIES = Object.fromEntries(eventTypes.map((type) => [type, fixture(type).toString()])) as Readonly<
  Record<EventType, string>
>; // each type was in the list
