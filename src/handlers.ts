import { ConfigurationError } from './errors.ts';
import {
  eventTypes,
  isEventType,
  type EventOf,
  type EventType,
  type UnknownEvent,
  type WebhookEvent,
} from './events/event.ts';
import type { Logger } from './logger.ts';

/** What a handler is told about the delivery that brought its event. */
export interface DeliveryFacts {
  readonly endpoint: string;
  readonly receivedAt: Date;
  /** `false` only where the receiver runs with `unsafeUnsigned: true` */
  readonly verified: boolean;
}

/** What a handler is given beside its event. */
export interface HandlerContext {
  /** 1 for the first run of a handler for this event */
  readonly attempt: number;
  /** aborted when the handler has run out of time, lost its lease, or the processor closes */
  readonly signal: AbortSignal;
  /** a newer event of the same entity was processed already: what this one says is out of date */
  readonly superseded: boolean;
  readonly delivery: DeliveryFacts;
  /** the receiver's logger with endpoint, id and type filled in */
  readonly log: Logger;
}

/** Runs until it returns or its promise resolves; whatever it throws is a failed attempt. */
export type Handler<Event> = (event: Event, context: HandlerContext) => unknown;

/** A handler for each type of interest; `'*'` takes every type without one, unknown types too. */
export type Handlers = {
  readonly [T in EventType]?: Handler<EventOf<T>>;
} & {
  readonly '*'?: Handler<WebhookEvent | UnknownEvent>;
};

/**
 * @throws ConfigurationError `UNKNOWN_EVENT_TYPE` for a key that is no event type, `INVALID_OPTION` for a value that is
 * no function
 */
export function assertHandlers(handlers: Handlers): void {
  for (const [type, handler] of Object.entries(handlers)) {
    if (type !== '*' && !isEventType(type)) {
      throw new ConfigurationError(
        'UNKNOWN_EVENT_TYPE',
        `handlers has the key ${JSON.stringify(type)}, which is no event type. Use '*' for types that hookbox does not ` +
          `know, or one of: ${eventTypes.join(', ')}.`,
      );
    }
    if (handler !== undefined && typeof handler !== 'function') {
      throw new ConfigurationError('INVALID_OPTION', `The handler of ${type} is not a function.`);
    }
  }
}
