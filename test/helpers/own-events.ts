import type { EventSchemas } from '../../src/events/own-events.ts';
import type { StandardSchema } from '../../src/events/standard-schema.ts';
import type { Handler, Handlers } from '../../src/processing/handlers.ts';
import { readEvent } from '../../src/events/parse.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { START } from './virtual-clock.ts';

/** A type that is a merchant's own. */
export const EARNED = 'loyalty.earned';

/** What a handler of these tests is given: own types are declared for a whole program, and tests are one. */
export interface OwnEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Schemas and handlers by type, as a program has them that has declared its types. */
export function own(
  schemas: Readonly<Record<string, StandardSchema<unknown, unknown>>>,
  handlers: Readonly<Record<string, Handler<OwnEvent>>>,
): { readonly events: EventSchemas; readonly handlers: Handlers } {
  return { events: schemas, handlers };
}

/** A schema written by hand. */
export function schemaBy(validate: (value: unknown) => unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'hand', validate: validate as () => { readonly value: unknown } } };
}

/** An event with any data, as a receiver stores it. */
export function ownEvent(id: string, data: object, type = EARNED): IncomingEvent {
  const body = Buffer.from(JSON.stringify({ id, type, created: new Date(START).toISOString(), data }));
  const { facts } = readEvent(body);
  if (facts === null) throw new Error('not an event');
  const valid = facts.created !== null;
  return { endpoint: 'default', id, body, ...facts, entity: null, verified: true, valid, receivedAt: START };
}
