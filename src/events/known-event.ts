import { isEventType } from './event-types.ts';
import type { HandledType } from './own-events.ts';
import { fitOf, isToCome, type Fit, type StandardSchema } from './standard-schema.ts';
import type { InvalidEvent, UnknownEvent, WebhookEvent, HandledEvent } from './webhook-event.ts';

const checked = new WeakSet<object>();

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

export function isOfTheEleven(event: WebhookEvent | UnknownEvent | InvalidEvent): event is WebhookEvent {
  return event.type !== null && isEventType(event.type);
}

/** Issues never contain values. */
type CheckedEvent =
  | { readonly fits: true; readonly event: HandledEvent }
  | { readonly fits: false; readonly why: string };

/** @throws the error of the schema; TypeError for an invalid result */
export async function checkedEvent(event: WebhookEvent | UnknownEvent, schema: StandardSchema): Promise<CheckedEvent> {
  const answer: unknown = schema['~standard'].validate(event.data);
  return withOwnData(event, fitOf(isToCome(answer) ? await answer : answer, event.type, 'data'));
}

/** @returns `null` for an asynchronous schema */
export function checkedAtOnce(event: WebhookEvent | UnknownEvent, schema: StandardSchema): CheckedEvent | null {
  const answer: unknown = schema['~standard'].validate(event.data);
  if (!isToCome(answer)) return withOwnData(event, fitOf(answer, event.type, 'data'));
  Promise.resolve(answer).catch(() => {});
  return null;
}

function withOwnData(event: WebhookEvent | UnknownEvent, fit: Fit): CheckedEvent {
  if (!fit.fits) return fit;
  const { value } = fit;
  if (!isEventType(event.type)) return { fits: true, event: markChecked({ ...event, data: value } as HandledEvent) };
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(
      `The schema of ${event.type} must return an object, because hookbox adds the fields of this object to the known fields of ` +
        'data.',
    );
  }
  return { fits: true, event: { ...event, data: { ...event.data, ...value } } };
}
