import type { oas31 } from 'zod-openapi';
import { exampleOf, type Schemas } from '../example-of.ts';

/** An example of a request, made of the examples of its fields. */
export interface ExampleRequest {
  readonly method: string;
  /** with `{name}` for what only the reader knows */
  readonly path: string;
  /** with its question mark; empty without parameters that have an example */
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

/** A line for a shell, where `$KEY` has the key, and `$id` and the like what stands in the path. */
export function curlLine(server: string, request: ExampleRequest): string {
  return wordsOf(server, request, '$KEY').join(' \\\n  ');
}

/** The same without breaks, for what is shown on one line. @param key - the API key; `$KEY` has it unless it is given */
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
