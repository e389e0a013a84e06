import { isPermanent, messageOf, TransactionError } from '../errors.ts';
import type { UnknownEvent, WebhookEvent } from '../events/event.ts';
import { readEvent } from '../events/parse.ts';
import type { Handler, HandlerContext, Handlers } from '../handlers.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { ClaimedEvent, Settlement } from '../inbox/work.ts';
import type { Logger } from '../logger.ts';
import { attemptError } from './attempt-error.ts';
import { backoffMs, type RetryOptions } from './backoff.ts';
import type { Clock } from './clock.ts';

/** What an attempt needs to know of its processor. */
export interface AttemptOptions {
  readonly inbox: Inbox;
  readonly handlers: Handlers;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly retry: Required<RetryOptions>;
}

/** How an attempt ended: with a settlement to write, with everything written by its transaction, or without a lease. */
export type AttemptEnd = Settlement | { readonly outcome: 'committed' } | { readonly outcome: 'lost' };

/** A handler that is running. */
export interface RunningAttempt {
  /** resolves when the attempt is over and its slot may be used again; never rejects */
  readonly ended: Promise<AttemptEnd>;
  /** Aborts the handler's signal: its lease is gone, or the processor closes. */
  abort(reason: 'lost' | 'closing'): void;
  /** Waits for it no more: what it does from here on counts for nothing, and nothing of it keeps the process alive. */
  abandon(): void;
}

/** How long a handler that was told to stop may still hold its slot and its entity. */
const GRACE_MS = 30_000;

/** Runs the handler for one claimed event. */
export function runAttempt(claimed: ClaimedEvent, options: AttemptOptions): RunningAttempt {
  const { inbox, handlers, logger, clock, timeoutMs, retry } = options;
  const { parsed } = readEvent(claimed.body);
  if (!parsed.ok) {
    // Valid when it was stored, but not to this version of hookbox.
    const message = parsed.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ');
    const error = { ...attemptError(message), name: 'InvalidEvent' };
    return { ended: Promise.resolve({ outcome: 'dead', reason: 'invalid', error }), abort() {}, abandon() {} };
  }

  const controller = new AbortController();
  let stopped: 'timeout' | 'lost' | 'closing' | null = null;
  let over = false;
  let transaction: { promise: Promise<unknown>; state: 'running' | 'failed' | 'committed' } | null = null;
  let spoiled: TransactionError | null = null;
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<'gave up'>();
  let cancelGrace = (): void => {};

  const stop = (reason: 'timeout' | 'lost' | 'closing', message: string): void => {
    if (stopped !== null || over) return;
    // Its own commit has ended the lease.
    if (reason === 'lost' && transaction?.state === 'committed') return;
    stopped = reason;
    controller.abort(new DOMException(message, reason === 'timeout' ? 'TimeoutError' : 'AbortError'));
    cancelGrace = clock.after(GRACE_MS, () => giveUp('gave up'));
  };
  const cancelTimeout = clock.after(timeoutMs, () => stop('timeout', `the handler took longer than ${timeoutMs} ms`));

  const conclude = (): void => {
    over = true;
    cancelTimeout();
    cancelGrace();
  };

  const context: HandlerContext = {
    attempt: claimed.attempt,
    signal: controller.signal,
    superseded: claimed.superseded,
    delivery: { endpoint: claimed.endpoint, receivedAt: claimed.receivedAt, verified: claimed.verified },
    log: about(logger, claimed, parsed.event.type),
    transaction(work) {
      if (transaction?.state === 'running' || transaction?.state === 'committed') {
        const message = 'ctx.transaction was called before for this event: put everything into one call.';
        return Promise.reject(new TransactionError('ALREADY_COMMITTED', message));
      }
      const attempt = { now: () => clock.now(), signal: controller.signal };
      const promise = inbox.transaction(claimed.lease, work, attempt);
      const current: typeof transaction = { promise, state: 'running' };
      transaction = current;
      promise.then(
        () => {
          current.state = 'committed';
        },
        (failure: unknown) => {
          current.state = 'failed';
          const itself = failure instanceof TransactionError && failure.code.endsWith('_BY_ITSELF');
          if (itself) spoiled = failure;
        },
      );
      return promise;
    },
  };

  /** What the handler, or a transaction that it did not wait for, has thrown; `null` when all went well. */
  async function outcomeOf(event: WebhookEvent | UnknownEvent): Promise<{ readonly error: unknown } | null> {
    try {
      const finished = await Promise.race([Promise.resolve(handlerFor(handlers, event.type)(event, context)), gaveUp]);
      if (finished === 'gave up') return { error: controller.signal.reason };
      if (transaction?.state === 'running') await transaction.promise;
      return null;
    } catch (error) {
      // Thrown past a transaction that is still running: whether that one commits decides.
      if (transaction?.state === 'running') await transaction.promise.catch(() => {});
      return { error };
    }
  }

  async function run(event: WebhookEvent | UnknownEvent): Promise<AttemptEnd> {
    const thrown = await outcomeOf(event);
    conclude();
    if (transaction?.state === 'committed') {
      if (thrown !== null) await noteLate(thrown.error);
      return { outcome: 'committed' };
    }
    if (spoiled?.code === 'COMMITTED_BY_ITSELF') {
      logger.error({ endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt }, spoiled.message);
      return { outcome: 'committed' };
    }
    if (stopped === 'lost') return { outcome: 'lost' };
    if (stopped === 'closing' && thrown !== null) return { outcome: 'interrupted' };
    if (stopped === 'timeout') return failed(controller.signal.reason);
    if (spoiled !== null) return failed(spoiled);
    return thrown === null ? { outcome: 'processed' } : failed(thrown.error);
  }

  async function noteLate(thrown: unknown): Promise<void> {
    const error = attemptError(thrown);
    const facts = { endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt, error: error.name };
    logger.error(facts, 'the handler failed after its transaction was committed; it is not run again');
    await inbox.noteLateError(claimed.lease, error).catch((failure: unknown) => {
      logger.error({ ...facts, cause: messageOf(failure) }, 'cannot note what the handler threw');
    });
  }

  function failed(thrown: unknown): Settlement {
    const error = attemptError(thrown);
    const failures = claimed.failures + 1;
    // What a transaction wrote past its own end is committed, so its handler must not run again by itself.
    const permanent = isPermanent(thrown) || thrown === spoiled;
    if (permanent || failures >= retry.attempts) return { outcome: 'dead', reason: 'failed', error };
    return { outcome: 'retry', error, dueAt: clock.now() + backoffMs(failures, retry) };
  }

  return {
    ended: run(parsed.event),
    abort(reason) {
      stop(reason, reason === 'lost' ? 'the lease on this event was lost' : 'the processor is closing');
    },
    abandon: conclude,
  };
}

/** The handler of a type, or `'*'`. The record's types hold that each is given the event it is written for. */
function handlerFor(handlers: Handlers, type: string): Handler<WebhookEvent | UnknownEvent> {
  const own = Object.hasOwn(handlers, type) ? (handlers as Record<string, Handler<never>>)[type] : undefined;
  const handler = own ?? handlers['*'];
  if (handler === undefined) throw new Error(`no handler for ${type}`);
  return handler as Handler<WebhookEvent | UnknownEvent>;
}

function about(logger: Logger, { endpoint, id, attempt }: ClaimedEvent, type: string): Logger {
  const facts = { endpoint, id, type, attempt };
  return {
    info: (more, message) => logger.info({ ...facts, ...more }, message),
    warn: (more, message) => logger.warn({ ...facts, ...more }, message),
    error: (more, message) => logger.error({ ...facts, ...more }, message),
  };
}
