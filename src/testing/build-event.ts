import { randomBytes } from 'node:crypto';
import { didYouMean } from '../nearest.ts';
import { checkedAtOnce, markChecked } from '../events/known-event.ts';
import {
  howToDeclare,
  schemaOf,
  assertEventSchemas,
  type EventSchemas,
  type HandledType,
} from '../events/own-events.ts';
import { eventTypes, isEventType, type EventType } from '../events/event-types.ts';
import type { SentEventOf, UnknownEvent } from '../events/webhook-event.ts';
import { assertOptions, type RulesFor } from '../option-rules.ts';
import { EVENT_BODIES } from './event-bodies.ts';

/** Any part of an event. Objects are merged, other values replace those of the fixture, `undefined` removes a field. */
export type EventOverrides<T extends HandledType> = Merged<Omit<SentEventOf<T>, 'type'>>;

/** The options of {@link buildEvent}. */
export interface BuildEventOptions {
  /** The schemas for your own types and fields, the same as in `createReceiver`. */
  readonly events?: EventSchemas;
}

const OPTIONS: RulesFor<BuildEventOptions> = { events: true };

type Merged<Value> = { readonly [Key in keyof Value]?: Replacement<Value[Key]> | undefined };
type Replacement<Value> = Value extends readonly unknown[] ? Value : Value extends object ? Merged<Value> : Value;

type Json = Record<string, unknown>;

/**
 * Builds a valid event of a type, as the service might send it. `buildEvent` copies `fixtures/<type>.json` and changes
 * the event id, the time, and the id of the order, cart or product. To build related events, give them the same
 * `data.id` (for inventory events, `data.product_id`).
 *
 * If the option `events` has schemas for your own types, `buildEvent` also builds events of these types. The `data` of
 * such an event comes from `overrides` and must fit the schema. `buildEvent` does not check data with an asynchronous
 * schema.
 *
 * @param overrides - the parts that differ from the fixture
 * @throws TypeError for a type that is neither one of the eleven nor in `events`, and for data that does not fit its
 * schema
 * @throws ConfigurationError `INVALID_OPTION` for an unknown option
 * @example
 * ```ts
 * import { buildEvent } from 'hookbox/testing';
 *
 * const event = buildEvent('order.created', { created: '2026-01-01T12:00:00Z', data: { total: 12.5 } });
 * console.log(event.data.total, event.data.currency); // 12.5 USD
 *
 * const ready = buildEvent('order.ready', { data: { id: event.data.id } }); // of the same order
 * ```
 */
export function buildEvent<T extends HandledType>(
  type: T,
  overrides?: EventOverrides<T>,
  options?: BuildEventOptions,
): SentEventOf<T>;
export function buildEvent(type: string, overrides: object = {}, options: BuildEventOptions = {}): object {
  assertOptions('buildEvent', options, OPTIONS);
  const { events = {} } = options;
  assertEventSchemas(events);
  const schema = schemaOf(events, type);
  const event = isEventType(type) ? fromFixture(type) : ownEvent(type, schema !== undefined);
  const built = merged(event, overrides);
  const checked = schema === undefined ? null : checkedAtOnce(built as UnknownEvent, schema);
  if (checked?.fits === false) throw new TypeError(`The event does not fit the schema of ${type}: ${checked.why}.`);
  return schema === undefined ? built : markChecked(built);
}

function fromFixture(type: EventType): Json {
  const event = JSON.parse(EVENT_BODIES[type]) as Json;
  makeItsOwn(event);
  return event;
}

export function newEvent(type: string): Json {
  return { id: newId('evt'), type, created: new Date().toISOString(), data: {} };
}

function ownEvent(type: string, isDeclared: boolean): Json {
  if (isDeclared) return newEvent(type);
  const meant = didYouMean(type, eventTypes);
  throw new TypeError(
    `${JSON.stringify(type)} is not an event type. ${meant === null ? '' : `${meant} `}Use one of: ${eventTypes.join(', ')}. ` +
      howToDeclare(type),
  );
}

/** A new order, cart or product for each event, because a failing handler would hold back later events of the same one. */
export function makeItsOwn(event: object): void {
  const { data } = event as { readonly data: Record<string, string> };
  Object.assign(event, { id: newId('evt'), created: new Date().toISOString() });
  const entity = 'id' in data ? 'id' : 'product_id';
  data[entity] = newId((data[entity] ?? '').replace(/_.*$/, ''));
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function newId(prefix: string): string {
  const letters = Array.from(randomBytes(16), (byte) => LETTERS[byte % LETTERS.length]);
  return `${prefix}_${letters.join('')}`;
}

function merged(value: Json, overrides: object): Json {
  const result = { ...value };
  for (const [key, override] of Object.entries(overrides)) {
    const own = Object.hasOwn(result, key) ? result[key] : undefined;
    if (override === undefined) delete result[key];
    else result[key] = isObject(override) ? merged(isObject(own) ? own : {}, override) : override;
  }
  return result;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
