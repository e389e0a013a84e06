import { eventTypes, type EventType } from '../events/event-types.ts';
import { fixture } from './fixtures.ts';

/** `compile-in.ts` replaces this module with one that contains the texts. */
export const EVENT_BODIES = Object.fromEntries(eventTypes.map((type) => [type, fixture(type).toString()])) as Readonly<
  Record<EventType, string>
>;
