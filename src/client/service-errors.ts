import { HookboxError } from '../errors.ts';

/** An entry of `details` (section 7.2 of the service's interface). */
export interface ErrorDetail {
  readonly field: string;
  readonly message: string;
}

interface Answered {
  readonly status: number;
  readonly requestId: string | null;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The service rejected or failed a request. Each code of section 7.3 has its class. */
export abstract class ServiceError extends HookboxError {
  /** The HTTP status of the response. */
  readonly status: number;
  /** The service's id of the request, for its support. */
  readonly requestId: string | null;
  /** Whether the request may have had its effect. */
  readonly isEffectUnknown: boolean = false;

  constructor({ status, requestId, message }: Pick<Answered, 'status' | 'requestId' | 'message'>) {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

/** 401: the key is missing, malformed, expired or unknown. */
export class InvalidApiKeyError extends ServiceError {
  override readonly name = 'InvalidApiKeyError';
  readonly code = 'INVALID_API_KEY';
}

/** 403: the key lacks a permission. */
export class InsufficientPermissionsError extends ServiceError {
  override readonly name = 'InsufficientPermissionsError';
  readonly code = 'INSUFFICIENT_PERMISSIONS';
  readonly requiredPermission: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.requiredPermission = text(answered.fields['required_permission']);
  }
}

/** 422: the data fails validation. */
export class ValidationError extends ServiceError {
  override readonly name = 'ValidationError';
  readonly code = 'VALIDATION_ERROR';
  readonly details: readonly ErrorDetail[];

  constructor(answered: Answered) {
    super(answered);
    const { details } = answered.fields;
    this.details = Array.isArray(details) ? details.filter(isDetail) : [];
  }
}

/** 400: a required parameter is missing. */
export class MissingRequiredFieldError extends ServiceError {
  override readonly name = 'MissingRequiredFieldError';
  readonly code = 'MISSING_REQUIRED_FIELD';
  readonly field: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.field = text(answered.fields['field']);
  }
}

/** 404: the resource is missing or deleted. */
export class ResourceNotFoundError extends ServiceError {
  override readonly name = 'ResourceNotFoundError';
  readonly code = 'RESOURCE_NOT_FOUND';
  readonly resourceType: string | null;
  readonly resourceId: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.resourceType = text(answered.fields['resource_type']);
    this.resourceId = text(answered.fields['resource_id']);
  }
}

/** 409: the request conflicts with the state of the resource. */
export class ResourceConflictError extends ServiceError {
  override readonly name = 'ResourceConflictError';
  readonly code = 'RESOURCE_CONFLICT';
  readonly resourceState: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.resourceState = text(answered.fields['resource_state']);
  }
}

/** 422: the quantity exceeds the stock. */
export class InsufficientInventoryError extends ServiceError {
  override readonly name = 'InsufficientInventoryError';
  readonly code = 'INSUFFICIENT_INVENTORY';
  readonly availableQuantity: number | null;
  readonly requestedQuantity: number | null;
  readonly productId: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.availableQuantity = number(answered.fields['available_quantity']);
    this.requestedQuantity = number(answered.fields['requested_quantity']);
    this.productId = text(answered.fields['product_id']);
  }
}

/** 422: the payment could not be processed. */
export class PaymentFailedError extends ServiceError {
  override readonly name = 'PaymentFailedError';
  readonly code = 'PAYMENT_FAILED';
  readonly paymentError: string | null;
  readonly declineReason: string | null;

  constructor(answered: Answered) {
    super(answered);
    this.paymentError = text(answered.fields['payment_error']);
    this.declineReason = text(answered.fields['decline_reason']);
  }
}

/** 429: too many requests. The request had no effect. */
export class RateLimitExceededError extends ServiceError {
  override readonly name = 'RateLimitExceededError';
  readonly code = 'RATE_LIMIT_EXCEEDED';
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** The number of requests that the window allows. */
  readonly limit: number | null;
  /** The end of the window. */
  readonly resetAt: Date | null;

  constructor(answered: Answered, retryAfterMs: number | null) {
    super(answered);
    this.retryAfterMs = retryAfterMs;
    this.limit = number(answered.fields['limit']);
    this.resetAt = timeOf(answered.fields['reset']);
  }
}

/** A 5xx response. */
export class OutageError extends ServiceError {
  override readonly name = 'OutageError';
  readonly code = 'OUTAGE';
  override readonly isEffectUnknown: boolean;

  constructor(answered: Answered, isEffectUnknown: boolean) {
    super(answered);
    this.isEffectUnknown = isEffectUnknown;
  }
}

/** A response that the interface does not describe, such as a page of a proxy. */
export class UnexpectedAnswerError extends ServiceError {
  override readonly name = 'UnexpectedAnswerError';
  readonly code = 'UNEXPECTED_ANSWER';
  override readonly isEffectUnknown: boolean;

  constructor(answered: Pick<Answered, 'status' | 'requestId' | 'message'>, isEffectUnknown: boolean) {
    super(answered);
    this.isEffectUnknown = isEffectUnknown;
  }
}

/** No response arrived: the connection failed, or `timeoutMs` passed. */
export class ConnectionError extends HookboxError {
  override readonly name = 'ConnectionError';
  readonly code: 'CONNECTION_FAILED' | 'TIMEOUT';
  /** Whether the request may have had its effect. */
  readonly isEffectUnknown: boolean;

  constructor(code: ConnectionError['code'], message: string, isEffectUnknown: boolean) {
    super(message);
    this.code = code;
    this.isEffectUnknown = isEffectUnknown;
  }
}

const BY_CODE = {
  INVALID_API_KEY: InvalidApiKeyError,
  INSUFFICIENT_PERMISSIONS: InsufficientPermissionsError,
  VALIDATION_ERROR: ValidationError,
  MISSING_REQUIRED_FIELD: MissingRequiredFieldError,
  RESOURCE_NOT_FOUND: ResourceNotFoundError,
  RESOURCE_CONFLICT: ResourceConflictError,
  INSUFFICIENT_INVENTORY: InsufficientInventoryError,
  PAYMENT_FAILED: PaymentFailedError,
} as const;

/**
 * The error of a response that is not a success.
 *
 * @param body - the parsed body, or `undefined` if it is not JSON
 * @param mayHaveActed - whether a 5xx leaves the effect unknown
 */
export function errorOf(response: Response, body: unknown, mayHaveActed: boolean): ServiceError {
  const { status, headers } = response;
  const { error } = record(body);
  // The interface lets the extra fields stand inside `error`, or beside it.
  const fields = { ...record(body), ...record(error) };
  const message = text(fields['message']) ?? `The service answered with status ${status}.`;
  const answered = { status, requestId: text(fields['request_id']), message, fields };
  const code = text(fields['code']);
  if (status >= 500) return new OutageError(answered, mayHaveActed);
  if (status === 429) return new RateLimitExceededError(answered, waitOf(headers, fields));
  if (code !== null && Object.hasOwn(BY_CODE, code)) return new BY_CODE[code as keyof typeof BY_CODE](answered);
  return new UnexpectedAnswerError(answered, false);
}

/** The wait that the service asks for (section 8.4), in milliseconds. */
function waitOf(headers: Headers, fields: Readonly<Record<string, unknown>>): number | null {
  for (const given of [headers.get('x-ratelimit-retry-after'), fields['retry_after'], headers.get('retry-after')]) {
    const seconds = given === null || given === '' ? NaN : Number(given);
    if (seconds >= 0 && seconds < Infinity) return Math.ceil(seconds * 1_000);
  }
  return null;
}

/** A Unix time in seconds, or an ISO 8601 time (section 8.5). */
export function timeOf(given: unknown): Date | null {
  const seconds =
    typeof given === 'number' || (typeof given === 'string' && /^\d+$/.test(given)) ? Number(given) : null;
  const time = new Date(seconds === null ? String(given) : seconds * 1_000);
  return Number.isNaN(time.getTime()) ? null : time;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function isDetail(value: unknown): value is ErrorDetail {
  const { field, message } = record(value);
  return typeof field === 'string' && typeof message === 'string';
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
