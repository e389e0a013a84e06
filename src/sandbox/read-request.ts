import { z } from 'zod';
import { invalid, ApiError, type ErrorDetail } from './errors.ts';
import type { Operation } from './service-operations.ts';

/** First the syntax, then the validity (A9). */
export async function readRequest(
  operation: Operation,
  request: Request,
  maxBodyBytes: number,
): Promise<{ readonly query: unknown; readonly body: unknown }> {
  const { query, body } = operation;
  return {
    query: query === undefined ? {} : checked(query, readQuery(query, new URL(request.url).searchParams)),
    body: body === undefined ? {} : checked(body, await readBody(request, maxBodyBytes)),
  };
}

function readQuery(schema: z.ZodObject, sent: URLSearchParams): unknown {
  const read = Object.entries(schema.shape).map(([name, optional]) => {
    const wanted = optional instanceof z.ZodOptional ? optional.unwrap() : optional;
    const values = sent.getAll(name);
    if (values.length === 0) return [name, undefined];
    // The schema rejects a list for any other parameter.
    if (wanted instanceof z.ZodArray || values.length > 1) return [name, values];
    return [name, wanted instanceof z.ZodNumber ? numberOr(values[0] ?? '') : values[0]];
  });
  return Object.fromEntries(read);
}

function numberOr(text: string): number | string {
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}

async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw missing('body', 'The body is missing or is not JSON.');
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const length = request.headers.get('content-length');
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Servers enforce the length of a body, and a whole body is much faster than pieces.
    if (length !== null && Number(length) <= maxBytes) return new Uint8Array(await request.arrayBuffer());
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw invalid('body', `must have at most ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (failure) {
    if (failure instanceof ApiError) throw failure;
    throw missing('body', 'The body is incomplete.');
  }
  return Buffer.concat(chunks);
}

function checked(schema: z.ZodObject, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const gone = issues.find(({ path }) => path.length > 0 && valueAt(value, path) === undefined);
  if (gone !== undefined) {
    const field = nameOf(gone.path);
    throw missing(field, `${field} is missing.`);
  }
  throw new ApiError('VALIDATION_ERROR', 'The request is invalid.', { details: detailsOf(issues) });
}

const MOST_DETAILS = 100;

/** The other issues of a field follow from its first. */
function detailsOf(issues: readonly z.core.$ZodIssue[]): readonly ErrorDetail[] {
  const messages = new Map<string, string>();
  for (const { path, message } of issues) {
    const field = nameOf(path);
    if (!messages.has(field)) messages.set(field, message);
  }
  return Array.from(messages, ([field, message]) => ({ field, message })).slice(0, MOST_DETAILS);
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'body' : path.map(String).join('.');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const step of path) at = Reflect.get(Object(at) as object, step);
  return at;
}

function missing(field: string, message: string): ApiError {
  return new ApiError('MISSING_REQUIRED_FIELD', message, { field });
}
