import type { oas31 } from 'zod-openapi';
import type { Permission } from '../service-operations.ts';

const AT_THE_PIER = { location_id: 'loc_bakery_pier', fulfillment_method: 'Pickup' };

/** A request for each permission; requests that change nothing come first. */
const EXAMPLES: Readonly<Record<Permission, ExampleRequest>> = {
  'merchants:read': getting('/merchant'),
  'products:read': getting('/product', '?latitude=37.77&longitude=-122.42'),
  'payment_methods:read': getting('/payment-method'),
  'carts:read': getting('/cart/{CART}'),
  'orders:write': posting('/order', {
    customer: { name: 'Ada' },
    items: [{ product_id: 'prod_country_loaf', quantity: 1 }],
    ...AT_THE_PIER,
  }),
  'carts:write': posting('/cart', { user_id: 'user_ada', ...AT_THE_PIER }),
  'payment_methods:write': posting('/payment-method/setup-intent', { merchant_id: 'mer_bakery' }),
};

export const PLACE_ORDER = EXAMPLES['orders:write'];

export function exampleFor(permissions: readonly Permission[]): ExampleRequest | null {
  const first = Object.keys(EXAMPLES).find((permission) => permissions.some((granted) => granted === permission));
  return first === undefined ? null : EXAMPLES[first as Permission];
}

function getting(path: string, search = ''): ExampleRequest {
  return { method: 'GET', path, search, body: undefined };
}

function posting(path: string, body: object): ExampleRequest {
  return { method: 'POST', path, search: '', body };
}

interface ExampleRequest {
  readonly method: string;
  /** with `{name}` for values that only the reader knows */
  readonly path: string;
  readonly search: string;
  readonly body: unknown;
}

export function exampleRequest(
  method: string,
  path: string,
  { parameters = [], requestBody }: oas31.OperationObject,
  schemas: Schemas,
): ExampleRequest {
  const query = parameters.flatMap((parameter): [string, string][] => {
    if ('$ref' in parameter || parameter.in !== 'query' || parameter.schema === undefined) return [];
    const values: readonly unknown[] = [exampleOf(parameter.schema, schemas) ?? []].flat();
    return values.map((value) => [parameter.name, String(value)]);
  });
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query).toString()}`;
  const media = requestBody === undefined || '$ref' in requestBody ? {} : requestBody.content['application/json'];
  return { method, path, search, body: media?.example as unknown };
}

export function curlLine(server: string, request: ExampleRequest): string {
  return wordsOf(server, request, '$KEY').join(' \\\n  ');
}

export function unbrokenCurlLine(server: string, request: ExampleRequest, key = '$KEY'): string {
  return wordsOf(server, request, key).join(' ');
}

function wordsOf(server: string, { method, path, search, body }: ExampleRequest, key: string): readonly string[] {
  const url = `"${server}${path.replaceAll(/\{(\w+)\}/g, '$$$1')}${search}"`;
  const words = [`curl ${method === 'GET' ? '' : `-X ${method} `}${url}`, `-H "Authorization: ${key}"`];
  if (body !== undefined) words.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return words;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export type Schema = oas31.SchemaObject | oas31.ReferenceObject;
export type Schemas = Readonly<Record<string, Schema>>;

export function resolved(schema: Schema, schemas: Schemas): oas31.SchemaObject {
  if (!isReference(schema)) return schema;
  const target = schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)];
  if (target === undefined) throw new Error(`${schema.$ref} leads nowhere`);
  return resolved(target, schemas);
}

function isReference(schema: Schema): schema is oas31.ReferenceObject {
  return schema.$ref !== undefined;
}

export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  const { examples = [], properties, required = [], items } = resolved(schema, schemas);
  if (examples.length > 0) return examples[0];
  if (items !== undefined) {
    const one = exampleOf(items, schemas);
    return one === undefined ? undefined : [one];
  }
  if (properties === undefined) return undefined;
  const fields = Object.entries(properties).map(([name, field]) => [name, exampleOf(field, schemas)] as const);
  return Object.fromEntries(fields.filter(([name, value]) => value !== undefined || required.includes(name)));
}
