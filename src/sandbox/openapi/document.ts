import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiParameterObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiHeaderObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
  type ZodOpenApiSchemaObject,
  type CreateDocumentOptions,
} from 'zod-openapi';
import { EVENT_MEANINGS, eventTypes, type EventType } from '../../events/event-types.ts';
import { jsonSchema } from '../../events/json-schemas.ts';
import { EVENT_BODIES } from '../../testing/event-bodies.ts';
import {
  DEFAULT_ASSUMPTIONS,
  type Assumptions,
  type AssumptionId,
  ASSUMPTIONS,
  type AssumedKeywords,
} from '../assumptions.ts';
import { ERROR_CODES, ERROR_EXTRAS, OUTAGES, type ErrorCode, type OutageStatus } from '../errors.ts';
import { message } from '../resources.ts';
import { OPERATION_NAMES, OPERATIONS, PERMISSIONS, COMMON_ERRORS, type Operation } from '../service-operations.ts';
import { exampleOf } from './example-requests.ts';

interface OpenApiOptions {
  readonly assumptions?: Assumptions;
  readonly server?: string;
}

export type OpenApiDocument = oas31.OpenAPIObject;

const DEFAULT_SERVER = 'http://localhost:4000';

/** Interface 2 to 8, with `x-assumption` where the sandbox fills a gap. */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  const { assumptions = DEFAULT_ASSUMPTIONS, server = DEFAULT_SERVER } = options;
  const marks = marksWith(assumptions);
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Commerce Ordering Service',
        // of the interface (9.1), not of hookbox
        version: '1.0.0',
        description:
          'This document describes the service as the hookbox sandbox implements it. Where the interface does not ' +
          'define something, `x-assumption` describes what the sandbox does.',
      },
      servers: [
        {
          url: server,
          description: assumptions.plainHttpAnywhere
            ? 'accepts plain HTTP from any machine'
            : 'accepts plain HTTP only from this machine',
          ...marks.of('A12'),
        },
      ],
      tags: [...tags(), { name: 'webhooks', description: 'The events that the service sends.' }],
      paths: operationObjects(server, marks),
      webhooks: webhookObjects(marks),
      components: {
        securitySchemes: {
          [SECURITY_SCHEME]: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: `The API key alone, without a scheme. Permissions: ${PERMISSIONS.join(', ')}.`,
            ...marks.of('A8'),
          },
        },
        headers: limitHeaders(marks),
      },
    },
    { override: marks.override },
    // zod-openapi returns the types of OpenAPI 3.2 for every version.
  ) as OpenApiDocument;
  addExamples(document);
  return document;
}

function tags(): oas31.TagObject[] {
  const permissions = Map.groupBy(OPERATION_NAMES, (name) => tagOf(OPERATIONS[name]));
  return Array.from(permissions, ([name, operations]) => ({
    name,
    description: `${operations.map((one) => OPERATIONS[one].title).join(', ')}.`,
  }));
}

function addExamples({ paths = {}, components }: OpenApiDocument): void {
  for (const { post, put } of Object.values(paths)) {
    for (const { requestBody } of [post ?? {}, put ?? {}]) {
      if (requestBody === undefined || '$ref' in requestBody) continue;
      const media = requestBody.content['application/json'];
      if (media?.schema !== undefined) media.example = exampleOf(media.schema, components?.schemas ?? {});
    }
  }
}

const SECURITY_SCHEME = 'apiKey';

function operationObjects(server: string, marks: Marks): ZodOpenApiPathsObject {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  const parts = { server, marks, refusals: refusalsWith(marks) };
  for (const name of OPERATION_NAMES) {
    const operation: Operation = OPERATIONS[name];
    const method = operation.method.toLowerCase() as Lowercase<Operation['method']>;
    paths[operation.path] = { ...paths[operation.path], [method]: operationObject(name, operation, parts) };
  }
  return paths;
}

function tagOf({ permission }: Operation): string {
  return permission.slice(0, permission.indexOf(':')).replaceAll('_', ' ');
}

function operationObject(
  operationId: string,
  operation: Operation,
  { server, marks, refusals }: { readonly server: string; readonly marks: Marks; readonly refusals: Refusals },
): ZodOpenApiOperationObject {
  const { title, permission, query, body, status, errors, assumptions } = operation;
  return {
    operationId,
    summary: title,
    description: `Requires the permission \`${permission}\`.`,
    tags: [tagOf(operation)],
    security: [{ [SECURITY_SCHEME]: [permission] }],
    ...serversOf(operation, server),
    ...marks.of(...new Set<AssumptionId>([...assumptions, 'A8'])),
    parameters: pathParameters(operation),
    ...(query !== undefined && { requestParams: { query } }),
    ...(body !== undefined && {
      requestBody: { required: true, ...marks.of('A9'), content: { 'application/json': { schema: body } } },
    }),
    responses: {
      [status]: {
        description: status === 201 ? 'Created.' : 'Succeeded.',
        ...COUNTED_HEADERS,
        content: { 'application/json': { schema: envelopeOf(operation) } },
      },
      ...refusals([...COMMON_ERRORS, ...errors]),
    },
  };
}

/** The envelope of a success (interface 2.1). */
function envelopeOf({ data, total }: Operation): z.ZodType {
  return z.object({
    data,
    messages: z.array(message).meta({ uniqueItems: true }),
    ...(total && { total: z.int().min(0).meta({ description: 'the number of items on all pages' }) }),
  });
}

/** One operation with two servers, because the path may have a prefix. */
function serversOf({ path, alias }: Operation, server: string): Pick<ZodOpenApiOperationObject, 'servers'> {
  if (alias === undefined) return {};
  const prefix = alias.slice(0, alias.length - path.length);
  return { servers: [{ url: server }, { url: `${server}${prefix}` }] };
}

function pathParameters({ path }: Operation): ZodOpenApiParameterObject[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

const OUTAGE_STATUSES = Object.keys(OUTAGES).map(Number) as readonly OutageStatus[];

const DECIDED_BY: Readonly<Partial<Record<ErrorCode, AssumptionId>>> = {
  INSUFFICIENT_PERMISSIONS: 'A8',
  MISSING_REQUIRED_FIELD: 'A9',
  VALIDATION_ERROR: 'A9',
  RATE_LIMIT_EXCEEDED: 'A10',
};

const requestId = z.string().meta({ description: 'the id of the request' });

/** The body of an error with each code (interface 7.2 and 7.3). */
const ERROR_BODIES: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  (Object.keys(ERROR_CODES) as readonly ErrorCode[]).map((code) => {
    const { shape } = ERROR_EXTRAS[code];
    const error = z.object({ code: z.literal(code), message: z.string(), ...shape, request_id: requestId });
    return [code, z.object({ error }).meta({ id: componentOf(code) })];
  }),
);

const OUTAGE_BODY = z
  .object({ error: z.object({ message: z.string(), request_id: requestId }) })
  .meta({ id: 'Outage', description: 'The interface defines no code for these errors.' });

function componentOf(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Interface 8.4. A sandbox without limits sends none of these. */
function limitHeaders(marks: Marks): Readonly<Record<string, ZodOpenApiHeaderObject>> {
  const header = (description: string) => ({ description, schema: { type: 'integer' }, ...marks.of('A10') }) as const;
  return {
    'X-RateLimit-Limit': header('requests allowed in the window; sent only if the plan has limits'),
    'X-RateLimit-Remaining': header('requests left in the window'),
    'X-RateLimit-Reset': header('when the window ends, as a Unix timestamp'),
    'X-RateLimit-Retry-After': { ...header('seconds to wait before a retry'), required: true },
  };
}

type ResponseHeaders = Pick<ZodOpenApiResponseObject, 'headers'>;

const COUNTED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const COUNTED_HEADERS = headersOf(COUNTED);

function headersOf(names: readonly string[]): ResponseHeaders {
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };
}

type Refusals = (codes: readonly ErrorCode[]) => ZodOpenApiResponsesObject;

function refusalsWith(marks: Marks): Refusals {
  const made = new Map<string, ZodOpenApiResponseObject>();
  const responseTo = (codes: readonly ErrorCode[]): ZodOpenApiResponseObject => {
    const id = codes.map(componentOf).join('Or');
    const decidedBy = codes.flatMap((code) => DECIDED_BY[code] ?? []);
    const response: ZodOpenApiResponseObject = made.get(id) ?? {
      id,
      description: codes.map((code) => `${code}: ${ERROR_CODES[code].cause}.`).join(' '),
      ...(decidedBy.length > 0 && marks.of(...decidedBy)),
      ...headersBeside(codes),
      content: { 'application/json': { schema: eitherOf(codes.flatMap((code) => ERROR_BODIES[code] ?? [])) } },
    };
    made.set(id, response);
    return response;
  };
  const outages = Object.fromEntries(
    OUTAGE_STATUSES.map((status): [string, ZodOpenApiResponseObject] => [
      String(status),
      {
        id: `Outage${status}`,
        description: `Caused by a sandbox fault: ${OUTAGES[status]}.`,
        ...marks.of('A9'),
        ...COUNTED_HEADERS,
        content: { 'application/json': { schema: OUTAGE_BODY } },
      },
    ]),
  );
  return (codes) => {
    const byStatus = Map.groupBy(codes, (code) => ERROR_CODES[code].status);
    const refused = Array.from(byStatus, ([status, sharing]) => [String(status), responseTo(sharing)] as const);
    return { ...Object.fromEntries(refused), ...outages };
  };
}

function headersBeside([code]: readonly ErrorCode[]): ResponseHeaders {
  // Limits count per key, and this key is unknown.
  if (code === 'INVALID_API_KEY') return {};
  return code === 'RATE_LIMIT_EXCEEDED' ? headersOf([...COUNTED, 'X-RateLimit-Retry-After']) : COUNTED_HEADERS;
}

function eitherOf([only = z.never(), ...others]: readonly z.ZodType[]): z.ZodType {
  return others.length === 0 ? only : z.union([only, ...others]);
}

function webhookObjects(marks: Marks): ZodOpenApiPathsObject {
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
    // The signature alone authenticates the sender.
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

export interface AssumptionMark {
  readonly id: AssumptionId;
  readonly decision: string;
  readonly values?: Partial<Assumptions>;
}

interface Marks {
  readonly of: (...ids: readonly AssumptionId[]) => { readonly 'x-assumption': readonly AssumptionMark[] };
  readonly override: NonNullable<CreateDocumentOptions['override']>;
}

function marksWith(assumptions: Assumptions): Marks {
  const markOf = (id: AssumptionId): AssumptionMark => {
    const { decision, values } = ASSUMPTIONS[id];
    const inForce = Object.fromEntries(values.map((name) => [name, assumptions[name]]));
    return { id, decision, ...(values.length > 0 && { values: inForce }) };
  };
  const of: Marks['of'] = (...ids) => ({ 'x-assumption': ids.map(markOf) });
  return {
    of,
    override({ jsonSchema }) {
      const { assumption, assumedKeywords = {} } = jsonSchema as {
        assumption?: AssumptionId;
        assumedKeywords?: AssumedKeywords;
      };
      if (assumption === undefined) return;
      for (const [keyword, name] of Object.entries(assumedKeywords)) {
        Object.assign(jsonSchema, { [keyword]: assumptions[name] });
      }
      Object.assign(jsonSchema, of(assumption));
      Reflect.deleteProperty(jsonSchema, 'assumption');
      Reflect.deleteProperty(jsonSchema, 'assumedKeywords');
    },
  };
}
