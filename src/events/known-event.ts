import { isEventType } from './event-types.ts';
import type { InvalidEvent, UnknownEvent, WebhookEvent } from './webhook-event.ts';

/**
 * Narrows what a `'*'` handler is given to the eleven known types.
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
export function isKnown(event: WebhookEvent | UnknownEvent | InvalidEvent): event is WebhookEvent {
  return event.type !== null && isEventType(event.type);
}
