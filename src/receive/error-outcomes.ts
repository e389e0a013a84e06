import { isError, messageOf, nameOf } from '../errors.ts';
import { throttle, type Logger } from '../host/logger.ts';
import { errorOutcome, type Outcome, type Reason, type ErrorOutcome } from './outcome.ts';

/** More facts about a rejection. */
export interface ErrorFacts {
  /** Details that the response shows to the sender. */
  readonly details?: ErrorOutcome['body']['error']['details'];
  /** The cause of the error, for the log only. */
  readonly cause?: unknown;
  /**
   * The name of the error that your function threw, for the log only. The message of that error is not logged, because
   * it may quote the body.
   */
  readonly error?: string;
  /** The part of the body that was read. Only for `bodyOf`. */
  readonly body?: Uint8Array;
  /** What you must change, for the log only. */
  readonly fix?: string | undefined;
  /** Called after a log line about the rejection has been written. */
  readonly onReported?: () => void;
}

/** The rejection for a reason, reported to the logger. */
export type EndWithError = (reason: Reason, more?: ErrorFacts) => ErrorOutcome;

/** What was read of a rejected delivery's body: not enumerable, so that no answer and no log shows it. */
const READ = Symbol('body read so far');

/** Makes rejections, and reports each kind of them seldom: a flood of forged deliveries must not fill the log. */
export function reportedErrorOutcomes(logger: Logger): EndWithError {
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

/** What was read of the body of a delivery, if it was rejected. */
export function bodyOf(outcome: Outcome & { readonly [READ]?: Uint8Array }): Uint8Array | null {
  return outcome[READ] ?? null;
}

/** Such as `Error ECONNREFUSED`. The message may quote the body, as that of JSON.parse does. */
export function nameAndCode(thrown: unknown): string {
  const name = nameOf(thrown);
  try {
    const code = isError(thrown) && 'code' in thrown ? thrown.code : undefined;
    return typeof code === 'string' ? `${name} ${code.slice(0, 100)}` : name;
  } catch {
    return name;
  }
}

/** A client that went away is no fault to mend, and how handlers end is reported where they run. */
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
