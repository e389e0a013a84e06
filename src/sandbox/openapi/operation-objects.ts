import { z } from 'zod';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiParameterObject,
  ZodOpenApiPathItemObject,
  ZodOpenApiPathsObject,
} from 'zod-openapi';
import type { AssumptionId } from '../assumptions.ts';
import { COMMON_ERRORS, OPERATION_NAMES, OPERATIONS, type Operation } from '../service-operations.ts';
import { message } from '../resources.ts';
import type { Marks } from './assumption-marks.ts';
import { COUNTED_HEADERS, refusalsWith, type Refusals } from './error-responses.ts';

/** The name of the key in `security`. */
export const SECURITY_SCHEME = 'apiKey';

/** The twelve operations, from the table that their routes and checks are made from. */
export function operationObjects(server: string, marks: Marks): ZodOpenApiPathsObject {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  const parts = { server, marks, refusals: refusalsWith(marks) };
  for (const name of OPERATION_NAMES) {
    const operation: Operation = OPERATIONS[name];
    const method = operation.method.toLowerCase() as Lowercase<Operation['method']>;
    paths[operation.path] = { ...paths[operation.path], [method]: operationObject(name, operation, parts) };
  }
  return paths;
}

/** What its permission is about groups an operation with others. */
export function tagOf({ permission }: Operation): string {
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

/** Where an operation is found under a prefix too, there is another server for it: it stays one operation. */
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
