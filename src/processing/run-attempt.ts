import { ownContext } from '../host/own-context.ts';
import { performance } from '../host/real-timers.ts';
import { isInstance, isPermanent, requestedWait } from '../errors.ts';
import type { HandledEvent, UnknownEvent, WebhookEvent } from '../events/webhook-event.ts';
import { readEvent } from '../events/parse.ts';
import { schemaOf, type EventSchemas } from '../events/own-events.ts';
import { checkedEvent } from '../events/known-event.ts';
import { handlerLog } from './handler-log.ts';
import { type HandlerContext, type Handlers, handlerFor, type LimitsByType } from './handlers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { ClaimedEvent, LogLine, Settlement } from '../inbox/work.ts';
import type { Logger } from '../host/logger.ts';
import {
  attemptError,
  skipReason,
  type AttemptLog,
  loggedError,
  codeOf,
  factsOf,
  type AttemptResult,
  type EndedAttempt,
} from './attempt-log.ts';
import { processedBy, settlementOfFailure, settlementWithoutFile } from '../inbox/rules/attempt.ts';
import type { Clock } from '../host/clock.ts';
import type { SpanEnd, Tracing } from '../host/tracing.ts';
import { OnceCalls } from './once-calls.ts';
import { TransactionCalls, type Thrown } from './transaction-calls.ts';

export interface AttemptOptions {
  /** its name */
  readonly processor: string;
  readonly inbox: Inbox;
  readonly handlers: Handlers;
  readonly events: EventSchemas;
  readonly logger: Logger;
  readonly log: AttemptLog;
  readonly clock: Clock;
  readonly tracing: Tracing | null;
  readonly inline: boolean;
  readonly limits: Pick<LimitsByType, 'of'>;
}

export interface RunningAttempt {
  /** resolves when its slot is free; never rejects */
  readonly ended: Promise<AttemptResult>;
  /** The lease is lost, or the processor closes. */
  abort(reason: 'lost' | 'closing'): void;
  /** Stops waiting: later results of the handler do not count, and no timer of it keeps the process alive. */
  abandon(): AttemptResult;
}

export interface LoggedAttempt extends RunningAttempt {
  /** `null` if the body no longer has a type */
  readonly type: string | null;
  /** its handler has ended, or was abandoned */
  isOver(): boolean;
  about(): EndedAttempt;
  /** stored with the attempt */
  readonly ran: Pick<Settlement, 'limit' | 'processor'>;
  /** The thrown value of the handler; `undefined` without a failure. Never logged. */
  thrown(): unknown;
  /** the last lines that its handler logged */
  lines(): readonly LogLine[];
}

/** How long an aborted handler may still hold its slot and its entity. */
const GRACE_MS = 30_000;

export function runAttempt(claimed: ClaimedEvent, options: AttemptOptions): LoggedAttempt {
  const { inbox, handlers, events, logger, log, clock } = options;
  const { parsed } = readEvent(claimed.body);
  if (!parsed.ok) {
    // It was valid when it was stored, but not in this version of hookbox.
    const message = parsed.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ');
    const end = invalid(message);
    const about = (): EndedAttempt => ({ ...factsOf(claimed, null), durationMs: 0 });
    return {
      type: null,
      ended: Promise.resolve(end),
      abort() {},
      abandon: () => end,
      isOver: () => true,
      about,
      ran: {},
      thrown() {},
      lines: () => [],
    };
  }

  const facts = factsOf(claimed, parsed.event.type);
  const { timeoutMs, retry, blocks, breaker } = options.limits.of(parsed.event.type);
  const isProbe = claimed.isProbe === true;
  const left = retry.attempts - claimed.failures - 1;
  const ran = { processor: options.processor, ...(left < Infinity && { limit: claimed.attempt + Math.max(left, 0) }) };
  const forBreaker: Pick<Settlement, 'breaker'> =
    breaker === null ? {} : { breaker: { limit: breaker.failures, probeMs: breaker.probeMs, isProbe } };
  const { type } = parsed.event;
  const span = options.tracing?.handle({ ...facts, type, trace: claimed.trace }, options.inline);
  const startedAt = performance.now();
  let endedAt: number | null = null;
  let code: string | undefined;
  let lastThrown: unknown;
  const about = (): EndedAttempt => {
    const durationMs = Math.round((endedAt ?? performance.now()) - startedAt);
    return { ...facts, durationMs, ...(code !== undefined && { code }) };
  };

  /** Each attempt has a separate context, so `enterWith` in a handler does not reach the next attempt. */
  const inOwnContext = ownContext();
  const controller = new AbortController();
  let stopped: 'timeout' | 'lost' | 'closing' | null = null;
  let isChecking = false;
  let over = false;
  let skipped: string | undefined;
  let end: AttemptResult | null = null;
  const kept = handlerLog(logger, facts, log.logErrors);
  const transactions = new TransactionCalls((givenUp) => (work) => {
    const attempt = {
      ...ran,
      now: () => clock.now(),
      signal: controller.signal,
      givenUp,
      skipped: () => skipped,
      log: kept.lines,
      unused: () => log.unused(about()),
    };
    return inbox.transaction(claimed.lease, work, attempt);
  });
  const once = new OnceCalls({ inbox, event: claimed, clock, signal: controller.signal, transactions });
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<'gave up'>();
  let cancelGrace = (): void => {};

  const stop = (reason: 'timeout' | 'lost' | 'closing', message: string): void => {
    if (stopped !== null || over) return;
    stopped = reason;
    const why = new DOMException(message, reason === 'timeout' ? 'TimeoutError' : 'AbortError');
    inOwnContext(() => controller.abort(why));
    cancelGrace = clock.after(GRACE_MS, () => giveUp('gave up'));
  };
  const cancelTimeout = clock.after(timeoutMs, () => {
    const slow = isChecking ? `the schema of ${facts.type}` : 'the handler';
    stop('timeout', `${slow} took longer than ${timeoutMs} ms`);
  });

  const conclude = (): void => {
    over = true;
    endedAt ??= performance.now();
    transactions.close();
    once.close();
    once.end();
    cancelTimeout();
    cancelGrace();
  };

  let rawBody: Uint8Array | undefined;
  const context: HandlerContext = {
    attempt: claimed.attempt,
    signal: controller.signal,
    superseded: claimed.superseded,
    get rawBody() {
      // A copy, so that the memory has exactly the stored value.
      return (rawBody ??= Uint8Array.from(claimed.body));
    },
    delivery: { endpoint: claimed.endpoint, receivedAt: claimed.receivedAt, verified: claimed.verified },
    log: kept.log,
    transaction: transactions.call,
    once: once.call,
    skip(reason) {
      if (!over && !transactions.committed) skipped = skipReason(reason);
    },
  };

  /** The error of the handler, or of a transaction that it did not await; `null` for success. */
  async function outcomeOf(event: WebhookEvent | UnknownEvent): Promise<Thrown | null> {
    const close = (): void => {
      transactions.close();
      once.close();
    };
    const handled = handling(event).then(
      () => {
        close();
        return null;
      },
      (error: unknown) => {
        close();
        return { error };
      },
    );
    // Also after a transaction that is still running, because its commit decides.
    const settled = handled.then(async (thrown) => {
      await Promise.all([transactions.settled(), once.settled()]);
      return thrown;
    });
    const thrown = await Promise.race([settled, gaveUp]);
    if (thrown !== 'gave up') return thrown ?? transactions.unawaited ?? once.unawaited;
    await transactions.giveUp();
    return { error: controller.signal.reason };
  }

  function called(event: HandledEvent): unknown {
    const handle = handlerFor(handlers, event.type);
    return span === undefined ? handle(event, context) : span.run(() => handle(event, context));
  }

  async function handling(event: WebhookEvent | UnknownEvent): Promise<unknown> {
    const schema = schemaOf(events, event.type);
    if (schema === undefined) return called(event);
    isChecking = true;
    const checked = await checkedEvent(event, schema);
    isChecking = false;
    // The attempt may have been aborted in between.
    controller.signal.throwIfAborted();
    if (!checked.fits) throw new DoesNotFit(checked.why);
    return called(checked.event);
  }

  async function run(event: WebhookEvent | UnknownEvent): Promise<AttemptResult> {
    const thrown = await outcomeOf(event);
    conclude();
    end ??= withProbe(endOf(thrown));
    span?.end(spanEnd(end, log.logErrors));
    return end;
  }

  /** A probe that was interrupted, or whose event is at fault, lets another event probe. */
  function withProbe(ended: AttemptResult): AttemptResult {
    const { breaker: report } = forBreaker;
    const isReported = ended.outcome === 'lost' || ended.outcome === 'committed alone' || ended.breaker !== undefined;
    return isProbe && report !== undefined && !isReported
      ? { ...ended, breaker: { ...report, isUnclear: true } }
      : ended;
  }

  function endOf(thrown: Thrown | null): AttemptResult {
    const { committed, spoiled } = transactions;
    if (committed) return { ...(thrown === null ? { outcome: 'committed' } : failedLate(thrown.error)), ...forBreaker };
    if (spoiled?.code === 'COMMITTED_BY_ITSELF') return { outcome: 'committed alone' };
    if (stopped === 'lost') return { outcome: 'lost' };
    // Writes after the transaction's own end are committed, so the handler must not run again.
    if (spoiled !== null) return failed(spoiled, true);
    // A handler that returns after its signal was aborted may not have finished its work.
    if (stopped === 'closing') return { outcome: 'interrupted' };
    // The lost transaction explains more than the timeout.
    if (stopped === 'timeout') return failed(transactions.givenUp ?? controller.signal.reason);
    if (thrown === null) return { ...processedBy({ skipped: () => skipped }), ...forBreaker };
    if (isInstance(thrown.error, DoesNotFit)) return invalid(thrown.error.message);
    return transactions.isWithoutFile(thrown.error) ? withoutFile(thrown.error) : failed(thrown.error);
  }

  function failedLate(thrown: unknown): AttemptResult {
    const error = attemptError(thrown);
    code = codeOf(thrown);
    log.failedLate(about(), error);
    return { outcome: 'committed', error };
  }

  function withoutFile(thrown: unknown): Settlement {
    log.withoutFile(about(), thrown);
    return settlementWithoutFile(claimed.attempt, retry, clock.now());
  }

  function failed(thrown: unknown, permanent = isPermanent(thrown)): Settlement {
    lastThrown = thrown;
    code = codeOf(thrown);
    const error = attemptError(thrown);
    const requested = requestedWait(thrown);
    const isUncounted = isProbe || requested.isUncounted;
    const failure = { error, isPermanent: permanent, yields: !blocks, ...requested, isUncounted };
    const settlement = settlementOfFailure(claimed.failures, failure, retry, clock.now());
    return permanent ? settlement : { ...settlement, ...forBreaker };
  }

  return {
    type,
    ended: inOwnContext(() => run(parsed.event)),
    abort(reason) {
      stop(reason, reason === 'lost' ? 'the lease on this event was lost' : 'the processor is closing');
    },
    abandon() {
      conclude();
      void transactions.giveUp();
      end ??= transactions.committed ? { outcome: 'committed' } : withProbe(endOf({ error: controller.signal.reason }));
      span?.end(spanEnd(end, log.logErrors));
      return end;
    },
    isOver: () => over,
    about,
    ran,
    thrown: () => lastThrown,
    lines: kept.lines,
  };
}

/** Includes the message only if the log also has it. */
function spanEnd(end: AttemptResult, logErrors: boolean): SpanEnd {
  const { outcome } = end;
  if (!('error' in end)) return { outcome, ...(outcome === 'lost' && { errorType: 'lost' }) };
  const { name, message } = loggedError({ ...end.error, stack: null });
  return { outcome, errorType: name, isError: true, ...(logErrors && { message }) };
}

/** The event does not fit the application's schema; its handler was not called. */
class DoesNotFit extends Error {}

function invalid(why: string): Settlement & { readonly outcome: 'dead' } {
  return { outcome: 'dead', reason: 'invalid', error: { ...attemptError(why), name: 'InvalidEvent' } };
}
