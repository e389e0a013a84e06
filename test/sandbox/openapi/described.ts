import { openApiDocument } from '../../../src/sandbox/openapi/document.ts';

/** JSON Schema as far as these tests look at it. */
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

/** A part of the document with what these tests look at. */
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

/** An operation and where it is. */
export interface DescribedOperation extends Described {
  readonly method: string;
  readonly path: string;
}

type Methods = Readonly<Record<string, Described>>;

/** The document as whoever reads its JSON sees it. */
export interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Methods>;
  readonly webhooks: Record<string, Methods>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

/** A new copy, which may be spoiled. */
export function documentAsJson(...options: Parameters<typeof openApiDocument>): Document {
  return JSON.parse(JSON.stringify(openApiDocument(...options))) as Document;
}

export function operationsOf({ paths }: Document): readonly DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
  );
}

/** What a reference leads to, whatever it is a part of. */
export function resolved(part: unknown, document: Document): unknown {
  const { $ref } = part as { readonly $ref?: string };
  if ($ref === undefined) return part;
  const target = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>>)[step.replaceAll('~1', '/')], document);
  return resolved(target, document);
}
