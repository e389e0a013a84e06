import type { ZodOpenApiPathsObject, ZodOpenApiSchemaObject } from 'zod-openapi';
import { EVENT_MEANINGS, eventTypes, type EventType } from '../../events/event-types.ts';
import { jsonSchema } from '../../events/json-schemas.ts';
import { EVENT_BODIES } from '../../testing/event-bodies.ts';
import type { AssumptionId } from '../assumptions.ts';
import type { Marks } from './assumption-marks.ts';

/** The eleven events (interface 6), as what is sent to whoever registered for them. */
export function webhookObjects(marks: Marks): ZodOpenApiPathsObject {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: deliveryOf(type, marks) }]));
}

function deliveryOf(type: EventType, marks: Marks): NonNullable<ZodOpenApiPathsObject[string]['post']> {
  const { $schema: _, ...schema } = jsonSchema(type);
  return {
    operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: `${type}: ${EVENT_MEANINGS[type]}`,
    description:
      'Any field of data may be absent or null, and other fields may appear. The interface lists the known fields.',
    tags: ['webhooks'],
    // Who sends is told from the signature alone.
    security: [],
    ...marks.of(...decidedBy(type)),
    parameters: [
      {
        name: 'X-Signature',
        in: 'header',
        description: 'the HMAC-SHA256 of the raw body, keyed with the endpoint’s secret, in lowercase hexadecimal',
        schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schema as ZodOpenApiSchemaObject,
          example: JSON.parse(EVENT_BODIES[type]) as unknown,
        },
      },
    },
    responses: {
      '2XX': {
        description:
          'The delivery succeeds if a 2xx response arrives within 10 seconds. Otherwise, the service redelivers the ' +
          'event on a schedule.',
      },
      '401': { description: 'The signature does not match.' },
    },
  };
}

function decidedBy(type: EventType): readonly AssumptionId[] {
  if (type.startsWith('order.')) return ['A3', 'A5'];
  return type === 'inventory.updated' ? ['A5'] : ['A6'];
}
