import { z } from 'zod';
import { HookboxError } from '../errors.ts';
import { assumed } from './assumptions.ts';

/** It never contains the sent value. `field` is a path such as `items.0.quantity`. */
const errorDetail = z.object({ field: z.string(), message: z.string() });

/** The fields of `error` for each code (interface 7.3). */
export const ERROR_EXTRAS = {
  INVALID_API_KEY: z.object({}),
  /** no permission if the request was not HTTPS */
  INSUFFICIENT_PERMISSIONS: z.object({ required_permission: z.string().optional() }),
  VALIDATION_ERROR: z.object({ details: z.array(errorDetail).readonly() }),
  MISSING_REQUIRED_FIELD: z.object({ field: z.string() }),
  RESOURCE_NOT_FOUND: z.object({ resource_type: z.string(), resource_id: z.string() }),
  RESOURCE_CONFLICT: z.object({ resource_state: z.string() }),
  INSUFFICIENT_INVENTORY: z.object({
    available_quantity: z.int(),
    requested_quantity: z.int(),
    product_id: z.string(),
  }),
  PAYMENT_FAILED: z.object({ payment_error: z.string(), decline_reason: z.string() }),
  RATE_LIMIT_EXCEEDED: z.object({
    retry_after: z.int().meta({ description: 'seconds' }),
    limit: z.int(),
    remaining: z.int(),
    reset: z.union([z.int(), z.iso.datetime()]).meta({ description: 'Unix seconds, or ISO 8601', ...assumed('A10') }),
  }),
};

export type ErrorDetail = z.infer<typeof errorDetail>;

type ErrorExtras = { readonly [Code in keyof typeof ERROR_EXTRAS]: Readonly<z.infer<(typeof ERROR_EXTRAS)[Code]>> };

export type ErrorCode = keyof ErrorExtras;

type ApiErrorStatus = 400 | 401 | 403 | 404 | 409 | 422 | 429;

export const ERROR_CODES: Readonly<Record<ErrorCode, { readonly status: ApiErrorStatus; readonly cause: string }>> = {
  INVALID_API_KEY: { status: 401, cause: 'the key is missing, malformed, expired or unknown' },
  INSUFFICIENT_PERMISSIONS: { status: 403, cause: 'the key lacks the permission' },
  VALIDATION_ERROR: { status: 422, cause: 'the data fails validation' },
  MISSING_REQUIRED_FIELD: { status: 400, cause: 'a required parameter is missing' },
  RESOURCE_NOT_FOUND: { status: 404, cause: 'the resource is missing or deleted' },
  RESOURCE_CONFLICT: { status: 409, cause: 'the request conflicts with the state of the resource' },
  INSUFFICIENT_INVENTORY: { status: 422, cause: 'the quantity exceeds the stock' },
  PAYMENT_FAILED: { status: 422, cause: 'the payment could not be processed' },
  RATE_LIMIT_EXCEEDED: { status: 429, cause: 'too many requests' },
};

/** Statuses of interface 7.1 for which 7.3 has no code. */
export const OUTAGES = {
  500: 'unexpected server error',
  502: 'upstream error',
  503: 'temporary outage',
  504: 'timeout',
} as const;

/** The HTTP status of an outage. */
export type OutageStatus = keyof typeof OUTAGES;

interface ErrorBody {
  readonly error: { readonly code?: ErrorCode; readonly message: string; readonly request_id: string };
}

/** Rolls back the transaction of its request (interface 7.3). */
export class ApiError<Code extends ErrorCode = ErrorCode> extends HookboxError {
  override readonly name = 'ApiError';
  readonly code: Code;
  readonly extras: ErrorExtras[Code];

  constructor(code: Code, message: string, extras: ErrorExtras[Code]) {
    super(message);
    this.code = code;
    this.extras = extras;
  }

  get status(): ApiErrorStatus {
    return ERROR_CODES[this.code].status;
  }

  body(requestId: string): ErrorBody {
    return { error: { code: this.code, message: this.message, ...this.extras, request_id: requestId } };
  }
}

export class SandboxClosedError extends HookboxError {
  override readonly name = 'SandboxClosedError';
  readonly code = 'CLOSED';

  constructor() {
    super('The sandbox is closed.');
  }
}

export function outageBody(status: OutageStatus, requestId: string): ErrorBody {
  return { error: { message: `${OUTAGES[status]}; try again later`, request_id: requestId } };
}

export function notFound(type: string, id: string): ApiError {
  return new ApiError('RESOURCE_NOT_FOUND', `No ${type.replaceAll('_', ' ')} has this id.`, {
    resource_type: type,
    resource_id: id,
  });
}

export function invalid(field: string, message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', `Invalid request: ${field} ${message}.`, {
    details: [{ field, message }],
  });
}
