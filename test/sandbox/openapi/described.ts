import { openApiDocument } from '../../../src/sandbox/openapi/document.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: Schema; example: unknown } };
  };
  readonly responses: Record<string, unknown>;
  readonly 'x-assumption'?: readonly Mark[];
}

export interface Mark {
  readonly id: string;
  readonly decision: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface DescribedOperation extends Described {
  readonly method: string;
  readonly path: string;
}

type Methods = Readonly<Record<string, Described>>;

export interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Methods>;
  readonly webhooks: Record<string, Methods>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

export function documentAsJson(...options: Parameters<typeof openApiDocument>): Document {
  return JSON.parse(JSON.stringify(openApiDocument(...options))) as Document;
}

export function operationsOf({ paths }: Document): readonly DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
  );
}

export function resolved(part: unknown, document: Document): unknown {
  const { $ref } = part as { readonly $ref?: string };
  if ($ref === undefined) return part;
  const target = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>>)[step.replaceAll('~1', '/')], document);
  return resolved(target, document);
}
