import { ConfigurationError } from '../errors.ts';
import type { EventType } from './event-types.ts';
import { isStandardSchema, type StandardSchema } from './standard-schema.ts';

/**
 * Declare your own event types here, and your own fields in the eleven types. For each type, give the type of its
 * schema, or the type of `data` itself. For one of the eleven types, give only your own fields in `data`. Pass the same
 * schemas in the option `events` of `createReceiver` and `createProcessor`, so that handlers receive only events that
 * fit the schemas.
 *
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 * import { z } from 'zod';
 *
 * const events = {
 *   'loyalty.earned': z.object({ account: z.string(), points: z.number() }),
 *   'order.created': z.object({ gift_note: z.string().optional() }),
 * };
 * type ShopEvents = typeof events;
 * declare module 'hookbox' {
 *   interface OwnEvents extends ShopEvents {}
 * }
 *
 * const receiver = createReceiver({
 *   secret: 'a signing secret',
 *   inbox: memoryInbox(),
 *   events,
 *   handlers: {
 *     'loyalty.earned': (event) => console.log(event.data.points + 1),
 *     'order.created': (event) => console.log(event.data.total, event.data.gift_note),
 *   },
 * });
 * await receiver.close();
 * ```
 */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- applications add to it
export interface OwnEvents {}

/** The types in `OwnEvents`: your own types, and any of the eleven to which you added fields. */
export type OwnType = Extract<keyof OwnEvents, string>;

/** One of the eleven event types, or one of your own. */
export type HandledType = Extract<keyof (Readonly<Record<EventType, unknown>> & OwnEvents), string>;

/** What a handler receives. */
export type OwnData<T extends OwnType> = Side<OwnEvents[T], 'output'>;

/** What the service sends. */
export type OwnWireData<T extends OwnType> = Side<OwnEvents[T], 'input'>;

type Side<Declared, Which extends 'input' | 'output'> = Declared extends {
  readonly '~standard': { readonly types?: infer Types };
}
  ? NonNullable<Types> extends { readonly [Key in Which]: infer Data }
    ? Data
    : never
  : Declared;

export type WithOwn<Fields, Own> = {
  [Key in keyof Fields as Key extends keyof Named<Own> ? never : Key]: Fields[Key];
} & Own;

/** Without the index signature of a schema that allows unknown fields. */
type Named<Fields> = { [Key in keyof Fields as string extends Key ? never : Key]: Fields[Key] };

/** Schemas for your own types and fields. Any Standard Schema works, such as a zod or valibot schema. */
export type EventSchemas = { readonly [T in OwnType]?: StandardSchema<unknown, OwnData<T>> };

export function schemaOf(schemas: EventSchemas, type: string): StandardSchema | undefined {
  return Object.hasOwn(schemas, type) ? (schemas as Readonly<Record<string, StandardSchema>>)[type] : undefined;
}

export function declaredTypes(schemas: EventSchemas): readonly string[] {
  return Object.keys(schemas);
}

export function howToDeclare(type: string): string {
  return `To add a type of your own, add its schema to the option "events": { ${JSON.stringify(type)}: schema }.`;
}

export function assertEventSchemas(schemas: unknown): asserts schemas is EventSchemas {
  if (typeof schemas !== 'object' || schemas === null || Array.isArray(schemas) || isStandardSchema(schemas)) {
    throw invalid("events must be an object with a schema for each type, such as { 'loyalty.earned': schema }.");
  }
  for (const [type, schema] of Object.entries(schemas)) {
    if (type === '' || type === '*')
      throw invalid(`events has the key ${JSON.stringify(type)}, which is not a type name.`);
    if (!isStandardSchema(schema)) {
      throw invalid(
        `The schema of ${type} in events must implement Standard Schema, ` +
          "version 1, as zod (3.24 or newer) and valibot do: { 'loyalty.earned': z.object({ … }) }.",
      );
    }
  }
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}
