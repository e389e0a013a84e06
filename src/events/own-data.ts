import type { HandledEvent, UnknownEvent, WebhookEvent } from './webhook-event.ts';
import { isEventType } from './event-types.ts';
import { markChecked } from './known-event.ts';
import { fitOf, isToCome, type Fit, type StandardSchema } from './standard-schema.ts';

/** An event whose data fits the application's schema, as its handler gets it; or the issues, without values. */
export type CheckedEvent =
  | { readonly fits: true; readonly event: HandledEvent }
  | { readonly fits: false; readonly why: string };

/**
 * Has the application's schema check the data of an event that hookbox has parsed.
 *
 * @throws whatever the schema throws, or rejects with; TypeError for what is no answer of one
 */
export async function checkedEvent(event: WebhookEvent | UnknownEvent, schema: StandardSchema): Promise<CheckedEvent> {
  const answer: unknown = schema['~standard'].validate(event.data);
  return withOwnData(event, fitOf(isToCome(answer) ? await answer : answer, event.type, 'data'));
}

/**
 * The same where nobody can wait.
 *
 * @returns `null` for a schema that answers later
 */
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
