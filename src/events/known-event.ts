import { isEventType } from './event-types.ts';
import type { HandledType } from './own-events.ts';
import type { InvalidEvent, UnknownEvent, WebhookEvent } from './webhook-event.ts';

/** Events of types of an application's own, which their schemas have checked. */
const checked = new WeakSet<object>();

/** From here on `isKnown` says of an event that it is. */
export function markChecked<Event extends object>(event: Event): Event {
  checked.add(event);
  return event;
}

/**
 * Narrows the event in a `'*'` handler to the types whose data hookbox has checked: the eleven types, and your own
 * types with a schema in the option `events`.
 *
 * @example
 * ```ts
 * import { isKnown, type UnknownEvent, type WebhookEvent } from 'hookbox';
 *
 * function describe(event: WebhookEvent | UnknownEvent): string {
 *   return isKnown(event) ? `one of the eleven: ${event.type}` : `new to us: ${event.type}`;
 * }
 * ```
 */
export function isKnown<Event extends { readonly type: string | null }>(
  event: Event,
): event is Extract<Event, { readonly type: HandledType }> {
  return (event.type !== null && isEventType(event.type)) || checked.has(event);
}

/** Whether an event is one of the eleven. */
export function isOfTheEleven(event: WebhookEvent | UnknownEvent | InvalidEvent): event is WebhookEvent {
  return event.type !== null && isEventType(event.type);
}
