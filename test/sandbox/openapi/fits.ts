import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { SeenEvent } from '../service.ts';
import { operationsOf, resolved, type Document, type Schema } from './described.ts';

export interface Exchange {
  readonly operation: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Response {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: { readonly 'application/json'?: { readonly schema: Schema } };
}

export interface Fits {
  readonly answer: (exchange: Exchange) => string | null;
  readonly event: (event: SeenEvent) => string | null;
}

export function fitsOf(document: Document): Fits {
  const { components } = document;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const compiled = new Map<string, ValidateFunction>();
  const problem = (schema: Schema, value: unknown): string | null => {
    const text = JSON.stringify(schema);
    // References lead to the components, from wherever the schema stands.
    const validate = compiled.get(text) ?? ajv.compile({ components, ...schema });
    compiled.set(text, validate);
    return validate(value) ? null : ajv.errorsText(validate.errors);
  };

  const headerProblem = (described: Response['headers'] = {}, headers: Headers): string | null => {
    const undocumented = [...headers.keys()].filter((name) => name.startsWith('x-') && !isAmong(name, described));
    if (undocumented.length > 0) return `headers that are not in the document: ${undocumented.join(', ')}`;
    for (const [name, reference] of Object.entries(described)) {
      const { required = false, schema } = resolved(reference, document) as { required?: boolean; schema: Schema };
      const sent = headers.get(name);
      if (sent === null ? required : problem(schema, Number(sent)) !== null) return `${name} is ${sent ?? 'missing'}`;
    }
    return null;
  };

  return {
    answer({ operation, status, headers, body }) {
      const described = operationsOf(document).find(({ operationId }) => operationId === operation);
      const response = described?.responses[status];
      if (response === undefined) return `${operation}: ${status} is not in the document`;
      const { content, headers: wanted } = resolved(response, document) as Response;
      const wrong =
        headerProblem(wanted, headers) ?? problem(content?.['application/json']?.schema ?? { const: null }, body);
      return wrong === null ? null : `${operation}, ${status}: ${wrong}`;
    },
    event(event) {
      const schema = document.webhooks[event.type]?.['post']?.requestBody?.content['application/json'].schema;
      return problem(schema ?? { const: null }, event);
    },
  };
}

function isAmong(name: string, headers: object): boolean {
  return Object.keys(headers).some((one) => one.toLowerCase() === name);
}
