import { randomUUID } from 'node:crypto';
import { isError, messageOf, nameOf } from '../errors.ts';
import { throttle, type Logger } from '../host/logger.ts';

/** The code in an error response. Section 7.2 of the service's interface defines the format of the response body. */
export type AnswerCode =
  | 'INVALID_SIGNATURE'
  | 'INVALID_BODY'
  | 'BODY_TOO_LARGE'
  | 'BODY_CONSUMED'
  | 'UNSUPPORTED_ENCODING'
  | 'METHOD_NOT_ALLOWED'
  | 'UNAVAILABLE'
  | 'BUSY'
  | 'HANDLER_FAILED'
  | 'TIMEOUT';

interface AcceptedBody {
  readonly received: true;
  readonly duplicate: boolean;
  readonly id: string;
}

/** The JSON body of an error response. */
export interface ErrorBody {
  readonly error: {
    readonly code: AnswerCode;
    readonly message: string;
    readonly details?: readonly { readonly field: string; readonly message: string }[];
    readonly request_id: string;
  };
}

type Status = 200 | 400 | 401 | 405 | 409 | 413 | 415 | 500 | 503;

interface Answer<Body> {
  readonly status: Status;
  /** Headers in addition to `Content-Type: application/json`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** A delivery whose event is stored. */
interface Accepted extends Answer<AcceptedBody> {
  readonly kind: 'stored' | 'duplicate' | 'processed';
  /** The id of the event. */
  readonly id: string;
}

/** A response whose status is not 200. */
interface ErrorAnswer extends Answer<ErrorBody> {
  readonly code: AnswerCode;
  /** The exact cause, for logs and statistics. The service sees only `code`. */
  readonly reason: Reason;
}

/**
 * The result of a delivery. The HTTP response to the delivery is in `status`, `headers` and `body`.
 *
 * - `stored`: the event was new, and is now on disk
 * - `duplicate`: the event was already stored
 * - `processed`: the handler succeeded (inline mode)
 * - `busy`, `failed`, `timeout` (inline mode): the event is stored, but its handler could not run, threw, or did not
 *   finish in time, respectively
 * - `rejected`: the delivery is not authentic, is incomplete, or is not an event
 * - `unavailable`: hookbox cannot confirm that the event is stored; the service will resend the event
 */
export type Outcome =
  | Accepted
  | (ErrorAnswer & { readonly kind: 'rejected' })
  | (ErrorAnswer & { readonly kind: 'unavailable' })
  | (ErrorAnswer & { readonly kind: 'busy' })
  | (ErrorAnswer & { readonly kind: 'failed' })
  | (ErrorAnswer & { readonly kind: 'timeout' });

/** The outcome of a delivery that was not accepted. */
export type ErrorOutcome = Exclude<Outcome, Accepted>;

/** Why a delivery was not accepted. */
export type Reason = keyof typeof ERROR_OUTCOMES;

export function isReason(name: string): name is Reason {
  return Object.hasOwn(ERROR_OUTCOMES, name);
}

interface ErrorRow {
  readonly kind: ErrorOutcome['kind'];
  readonly status: Status;
  readonly code: AnswerCode;
  /** Never contains the secret, the signature or the body. */
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Enough for a lock or a restart; the service follows its own schedule (interface 6.4). */
const RETRY_AFTER = { 'Retry-After': '5' } as const;
const CLOSE = { Connection: 'close' } as const;

const signed = 'Send X-Signature with the 64 lowercase hexadecimal digits of the HMAC-SHA256 of the exact body bytes';

/** See docs/answers.md. */
const ERROR_OUTCOMES = {
  'signature-missing': rejected(401, 'INVALID_SIGNATURE', `X-Signature is missing. ${signed}.`),
  'signature-malformed': rejected(401, 'INVALID_SIGNATURE', `X-Signature is malformed. ${signed}.`),
  'signature-mismatch': rejected(
    401,
    'INVALID_SIGNATURE',
    `X-Signature does not match the body. ${signed}, computed with the signing secret of this endpoint.`,
  ),
  'not-an-event': rejected(400, 'INVALID_BODY', 'The body is not a JSON object with an id.'),
  'body-incomplete': rejected(400, 'INVALID_BODY', 'The body ended before it was complete. Send it again.', CLOSE),
  'body-too-large': rejected(
    413,
    'BODY_TOO_LARGE',
    'The body is larger than this endpoint accepts (maxBodyBytes).',
    CLOSE,
  ),
  'body-in-tiny-chunks': rejected(
    400,
    'INVALID_BODY',
    'The body arrived in thousands of chunks of a few bytes each. Send larger chunks.',
    CLOSE,
  ),
  'encoding-unsupported': rejected(
    415,
    'UNSUPPORTED_ENCODING',
    'The body has a Content-Encoding and cannot be parsed as an event. Send the body uncompressed, exactly as signed.',
  ),
  'method-not-allowed': rejected(405, 'METHOD_NOT_ALLOWED', 'Send deliveries with POST.', { Allow: 'POST' }),
  'body-not-base64': rejected(
    400,
    'INVALID_BODY',
    'The body is flagged as base64 (isBase64Encoded), but is not base64. Do not decode the body before hookbox ' +
      'reads it.',
  ),
  'body-too-slow': unavailable('The body did not arrive in time. Send it again.', CLOSE),
  'body-no-room': unavailable('The server is receiving too many bodies at once. Send the event again later.', CLOSE),
  'body-consumed': {
    kind: 'unavailable',
    status: 500,
    code: 'BODY_CONSUMED',
    message:
      'Other code already read the raw body, so hookbox cannot verify it. Mount the webhook route before body parsers.',
  },
  'no-secret': unavailable('The signing secret is not available now. Send the event again later.'),
  overloaded: unavailable('Too many deliveries are waiting. Send the event again later.'),
  closing: unavailable('This receiver is shutting down. Send the event again.', CLOSE),
  deadline: unavailable('The event could not be stored in time. Send it again later.'),
  internal: unavailable('The delivery failed with an internal error. Send the event again later.'),
  'handler-busy': {
    kind: 'busy',
    status: 409,
    code: 'BUSY',
    message:
      'The event is stored; its handler cannot start yet, because it or that of another event of the same order, cart ' +
      'or product is running, or because its type has reached its rate or is paused. Send the event again.',
    headers: RETRY_AFTER,
  },
  'handler-failed': {
    kind: 'failed',
    status: 500,
    code: 'HANDLER_FAILED',
    message: 'The event is stored; its handler failed. To run the handler again, send the event again.',
  },
  'handler-timeout': {
    kind: 'timeout',
    status: 503,
    code: 'TIMEOUT',
    message: 'The event is stored; its handler is still running. To get the result, send the event again.',
    headers: RETRY_AFTER,
  },
  'handler-late': {
    kind: 'timeout',
    status: 503,
    code: 'TIMEOUT',
    message: 'The event is stored; its handler could not start in time. To run the handler, send the event again.',
    headers: RETRY_AFTER,
  },
  'handler-lost': {
    kind: 'failed',
    status: 500,
    code: 'HANDLER_FAILED',
    message: 'The event is stored; its handler blocked the process until the lease expired. Send the event again.',
  },
  'not-passed-on': {
    kind: 'failed',
    status: 500,
    code: 'HANDLER_FAILED',
    message: 'The event could not be forwarded. Send it again.',
  },
  'not-passed-on-in-time': unavailable('The event could not be forwarded in time. Send it again later.'),
  'inbox-failing': unavailable('The event cannot be stored now. Send it again later.'),
} as const satisfies Record<string, ErrorRow>;

export function errorOutcome(reason: Reason, details?: ErrorBody['error']['details']): ErrorOutcome {
  const { kind, status, code, message, headers = {} }: ErrorRow = ERROR_OUTCOMES[reason];
  const error = { code, message, request_id: randomUUID() };
  const body: ErrorBody = { error: details === undefined ? error : { ...error, details } };
  return { kind, status, code, reason, headers, body };
}

function rejected(
  status: Status,
  code: AnswerCode,
  message: string,
  headers?: Readonly<Record<string, string>>,
): ErrorRow {
  return { kind: 'rejected', status, code, message, ...(headers && { headers }) };
}

function unavailable(message: string, headers?: Readonly<Record<string, string>>): ErrorRow {
  return { kind: 'unavailable', status: 503, code: 'UNAVAILABLE', message, headers: { ...RETRY_AFTER, ...headers } };
}

/** More facts about a rejection. */
export interface ErrorFacts {
  /** Details that the response shows to the sender. */
  readonly details?: ErrorOutcome['body']['error']['details'];
  /** The cause of the error, for the log only. */
  readonly cause?: unknown;
  /** The name of the error that your function threw, for the log only. Its message may quote the body. */
  readonly error?: string;
  /** The part of the body that was read. Only for `bodyOf`. */
  readonly body?: Uint8Array;
  /** What you must change, for the log only. */
  readonly fix?: string | undefined;
  /** Called after a log line about the rejection has been written. */
  readonly onReported?: () => void;
}

/** Not enumerable, so that no response and no log shows it. */
const READ = Symbol('body read so far');

/** Throttled, because a flood of forged deliveries must not fill the log. */
export function reportedErrorOutcomes(logger: Logger): (reason: Reason, more?: ErrorFacts) => ErrorOutcome {
  const seldom = throttle();
  return (reason, more = {}) => {
    const rejected = errorOutcome(reason, more.details);
    if (!REPORTED_ELSEWHERE.has(reason)) {
      const isReported = seldom(reason, (suppressed) => report(logger, rejected, more, suppressed));
      if (isReported) more.onReported?.();
    }
    return more.body === undefined ? rejected : Object.defineProperty(rejected, READ, { value: more.body });
  };
}

/** Returns `true` for the outcome of a delivery that was not accepted. */
export function isErrorOutcome(result: object): result is ErrorOutcome {
  return 'reason' in result;
}

export function bodyOf(outcome: Outcome & { readonly [READ]?: Uint8Array }): Uint8Array | null {
  return outcome[READ] ?? null;
}

/** For example `Error ECONNREFUSED`. The message may quote the body. */
export function nameAndCode(thrown: unknown): string {
  const name = nameOf(thrown);
  try {
    const code = isError(thrown) && 'code' in thrown ? thrown.code : undefined;
    return typeof code === 'string' ? `${name} ${code.slice(0, 100)}` : name;
  } catch {
    return name;
  }
}

/** The server is not at fault, or the attempt log reports the failure. */
const REPORTED_ELSEWHERE: ReadonlySet<Reason> = new Set([
  'body-incomplete',
  'handler-busy',
  'handler-failed',
  'handler-timeout',
  'handler-late',
  'handler-lost',
]);

function report(
  logger: Logger,
  { kind, reason, status, body }: ErrorOutcome,
  { cause, error, fix }: ErrorFacts,
  suppressed: number,
): void {
  const { message: hint, request_id: requestId } = body.error;
  const facts = { reason, status, requestId, suppressed, hint, ...(error !== undefined && { error }) };
  const isRejected = kind === 'rejected';
  const happened = isRejected ? 'delivery rejected' : 'delivery not stored';
  const what = fix === undefined ? happened : `${happened}: ${fix}`;
  // A browser or a health check: no delivery is lost.
  if (reason === 'method-not-allowed') return logger.info(facts, what);
  if (isRejected) return logger.warn(facts, what);
  logger.error(cause === undefined ? facts : { ...facts, cause: messageOf(cause) }, what);
}
