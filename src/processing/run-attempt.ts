import { isPermanent, messageOf } from '../errors.ts';
import type { UnknownEvent, WebhookEvent } from '../events/webhook-event.ts';
import { readEvent } from '../events/parse.ts';
import type { Handler, HandlerContext, Handlers } from './handlers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { ClaimedEvent, Settlement } from '../inbox/work.ts';
import type { Logger } from '../host/logger.ts';
import { attemptError } from './attempt-error.ts';
import { settlementOfFailure, settlementWithoutFile } from '../inbox/rules/attempt-end.ts';
import type { RetryOptions } from '../inbox/rules/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { TransactionCalls, type Thrown } from './transaction-calls.ts';

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
  /**
   * Waits for it no more: what it does from here on counts for nothing, and nothing of it keeps the process alive.
   *
   * @returns what it counts as
   */
  abandon(): AttemptEnd;
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
    const end = { outcome: 'dead', reason: 'invalid', error } as const;
    return { ended: Promise.resolve(end), abort() {}, abandon: () => end };
  }

  const controller = new AbortController();
  let stopped: 'timeout' | 'lost' | 'closing' | null = null;
  let over = false;
  let end: AttemptEnd | null = null;
  const transactions = new TransactionCalls((work) =>
    inbox.transaction(claimed.lease, work, { now: () => clock.now(), signal: controller.signal }),
  );
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<'gave up'>();
  let cancelGrace = (): void => {};

  const stop = (reason: 'timeout' | 'lost' | 'closing', message: string): void => {
    if (stopped !== null || over) return;
    // Its own commit has ended the lease.
    if (reason === 'lost' && transactions.committed) return;
    stopped = reason;
    controller.abort(new DOMException(message, reason === 'timeout' ? 'TimeoutError' : 'AbortError'));
    cancelGrace = clock.after(GRACE_MS, () => giveUp('gave up'));
  };
  const cancelTimeout = clock.after(timeoutMs, () => stop('timeout', `the handler took longer than ${timeoutMs} ms`));

  const conclude = (): void => {
    over = true;
    transactions.close();
    cancelTimeout();
    cancelGrace();
  };

  const context: HandlerContext = {
    attempt: claimed.attempt,
    signal: controller.signal,
    superseded: claimed.superseded,
    delivery: { endpoint: claimed.endpoint, receivedAt: claimed.receivedAt, verified: claimed.verified },
    log: about(logger, claimed, parsed.event.type),
    transaction: transactions.call,
  };

  /** What the handler, or a transaction that it did not wait for, has thrown; `null` when all went well. */
  async function outcomeOf(event: WebhookEvent | UnknownEvent): Promise<Thrown | null> {
    const handled = handling(event).then(
      () => {
        transactions.close();
        return null;
      },
      (error: unknown) => {
        transactions.close();
        return { error };
      },
    );
    const thrown = await Promise.race([handled, gaveUp]);
    if (thrown === 'gave up') return { error: controller.signal.reason };
    // Also past a transaction that is still running: whether that one commits decides.
    await transactions.settled();
    return thrown ?? transactions.unheard;
  }

  function handling(event: WebhookEvent | UnknownEvent): Promise<unknown> {
    try {
      return Promise.resolve(handlerFor(handlers, event.type)(event, context));
    } catch (error) {
      return Promise.reject(error); // whatever it is
    }
  }

  async function run(event: WebhookEvent | UnknownEvent): Promise<AttemptEnd> {
    const thrown = await outcomeOf(event);
    conclude();
    end ??= endOf(thrown);
    if (transactions.committed && thrown !== null) await noteLate(thrown.error);
    return end;
  }

  /** The one place that says how an attempt ended. */
  function endOf(thrown: Thrown | null): AttemptEnd {
    const { committed, spoiled } = transactions;
    if (committed) return { outcome: 'committed' };
    if (spoiled?.code === 'COMMITTED_BY_ITSELF') {
      logger.error({ endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt }, spoiled.message);
      return { outcome: 'committed' };
    }
    if (stopped === 'lost') return { outcome: 'lost' };
    // What a transaction wrote past its own end is committed, so its handler must not run again by itself.
    if (spoiled !== null) return failed(spoiled, true);
    // What ends after its signal was aborted has not done its work, also when it returns.
    if (stopped === 'closing') return { outcome: 'interrupted' };
    if (stopped === 'timeout') return failed(controller.signal.reason);
    if (thrown === null) return { outcome: 'processed' };
    return transactions.isWithoutFile(thrown.error) ? withoutFile(thrown.error) : failed(thrown.error);
  }

  async function noteLate(thrown: unknown): Promise<void> {
    const error = attemptError(thrown);
    const facts = { endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt, error: error.name };
    logger.error(facts, 'the handler failed after its transaction was committed; it is not run again');
    await inbox.noteLateError(claimed.lease, error).catch((failure: unknown) => {
      logger.error({ ...facts, cause: messageOf(failure) }, 'cannot note what the handler threw');
    });
  }

  function withoutFile(thrown: unknown): Settlement {
    const facts = { endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt, cause: messageOf(thrown) };
    logger.error(facts, 'ctx.transaction cannot be had; the handler runs again later, which does not count');
    return settlementWithoutFile(claimed.attempt, retry, clock.now());
  }

  function failed(thrown: unknown, permanent = isPermanent(thrown)): Settlement {
    const failure = { error: attemptError(thrown), isPermanent: permanent };
    return settlementOfFailure(claimed.failures, failure, retry, clock.now());
  }

  return {
    ended: run(parsed.event),
    abort(reason) {
      stop(reason, reason === 'lost' ? 'the lease on this event was lost' : 'the processor is closing');
    },
    abandon() {
      conclude();
      return (end ??= endOf({ error: controller.signal.reason }));
    },
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
