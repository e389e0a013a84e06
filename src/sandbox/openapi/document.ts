import { createDocument, type oas31 } from 'zod-openapi';
import { DEFAULT_ASSUMPTIONS, type Assumptions } from '../assumptions.ts';
import { OPERATION_NAMES, OPERATIONS, PERMISSIONS } from '../service-operations.ts';
import { marksWith } from './assumption-marks.ts';
import { limitHeaders } from './error-responses.ts';
import { exampleOf } from './example-of.ts';
import { operationObjects, SECURITY_SCHEME, tagOf } from './operation-objects.ts';
import { webhookObjects } from './webhook-objects.ts';

/** Which document is wanted. */
export interface OpenApiOptions {
  /** those of the sandbox that it describes; the usual ones unless set */
  readonly assumptions?: Assumptions;
  /** the base address, without a slash at its end; `http://localhost:4000` unless set */
  readonly server?: string;
}

/** The document of the whole service. */
export type OpenApiDocument = oas31.OpenAPIObject;

/** Where a sandbox is served in the examples of docs/sandbox.md. */
const DEFAULT_SERVER = 'http://localhost:4000';

/**
 * The OpenAPI 3.1 document of the service (interface 2 to 8): its operations from the table that they are served by,
 * its events as webhooks, and `x-assumption` wherever the interface leaves open what the sandbox had to decide.
 */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  const { assumptions = DEFAULT_ASSUMPTIONS, server = DEFAULT_SERVER } = options;
  const marks = marksWith(assumptions);
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Commerce Ordering Service',
        // Of the interface (9.1), and not of hookbox.
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
    // Its types are those of OpenAPI 3.2, whatever version is asked for.
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

/** Of the bodies of requests, so that whoever opens the document can send them. */
function addExamples({ paths = {}, components }: OpenApiDocument): void {
  for (const { post, put } of Object.values(paths)) {
    for (const { requestBody } of [post ?? {}, put ?? {}]) {
      if (requestBody === undefined || '$ref' in requestBody) continue;
      const media = requestBody.content['application/json'];
      if (media?.schema !== undefined) media.example = exampleOf(media.schema, components?.schemas ?? {});
    }
  }
}
