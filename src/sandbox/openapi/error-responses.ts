import { z } from 'zod';
import type { ZodOpenApiHeaderObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { AssumptionId } from '../assumptions.ts';
import { ERROR_CODES, ERROR_EXTRAS, OUTAGES, type ErrorCode, type OutageStatus } from '../errors.ts';
import type { Marks } from './assumption-marks.ts';

const OUTAGE_STATUSES = Object.keys(OUTAGES).map(Number) as readonly OutageStatus[];

/** What decides when there is such an error, or what it looks like. */
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

/** `INVALID_API_KEY` as a component is `InvalidApiKey`. */
function componentOf(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Interface 8.4. Where no limits are set, which is how a sandbox begins, no answer has these. */
export function limitHeaders(marks: Marks): Readonly<Record<string, ZodOpenApiHeaderObject>> {
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

/** What an answer of a request that was counted may carry. */
export const COUNTED_HEADERS = headersOf(COUNTED);

function headersOf(names: readonly string[]): ResponseHeaders {
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };
}

/** What an operation may be answered beside success, by status: several codes may share one. */
export type Refusals = (codes: readonly ErrorCode[]) => ZodOpenApiResponsesObject;

export function refusalsWith(marks: Marks): Refusals {
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
  // Who is asking is not known yet.
  if (code === 'INVALID_API_KEY') return {};
  return code === 'RATE_LIMIT_EXCEEDED' ? headersOf([...COUNTED, 'X-RateLimit-Retry-After']) : COUNTED_HEADERS;
}

function eitherOf([only = z.never(), ...others]: readonly z.ZodType[]): z.ZodType {
  return others.length === 0 ? only : z.union([only, ...others]);
}
