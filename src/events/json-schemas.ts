import { toJSONSchema } from 'zod/mini';
import { EVENT_MEANINGS, eventTypes, type EventType } from './event-types.ts';
import { eventSchemas } from './webhook-event.ts';

export interface JsonSchema {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
}

const DATE_TIME = 'an ISO 8601 date-time';

/** The library declares these only in TypeScript. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  created: `${DATE_TIME}; without a zone it is UTC`,
  estimated_ready_time: DATE_TIME,
  last_activity: DATE_TIME,
  object: 'order, inventory or cart',
};

export function jsonSchemas(types: readonly EventType[] = eventTypes): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(types.map((type) => [type, jsonSchema(type)]));
}

export function jsonSchema(type: EventType): JsonSchema {
  const { $schema, ...schema } = toJSONSchema(eventSchemas[type], { io: 'input' }) as JsonSchema;
  const { id, data, ...envelope } = schema.properties ?? {};
  return {
    ...($schema !== undefined && { $schema }),
    title: type,
    description: EVENT_MEANINGS[type],
    ...schema,
    properties: described({
      id: { ...id, minLength: 1, maxLength: 255, description: 'the id of the event; the same in each redelivery' },
      ...envelope,
      data: { ...data, ...(data?.properties && { properties: described(data.properties) }) },
    }),
  };
}

function described(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const description = schema.description ?? DESCRIPTIONS[name];
      return [name, description === undefined ? schema : { ...schema, description }];
    }),
  );
}
