import { handledTypes, namedTypes, type Handlers } from './handlers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { RetryOptions } from '../inbox/rules/attempt.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { MAX_TIMER_MS, positive, positiveWhole } from '../number-option.ts';
import { limitsByType } from './limits-by-type.ts';
import { assertRetry } from './type-options.ts';

/** The limits and the retry schedule for handlers. */
export interface ProcessingOptions {
  /**
   * How many handlers run concurrently in this process. This limit has no effect in inline mode, where each delivery
   * runs the handler of its own event.
   *
   * @defaultValue 10; with a Postgres pool, at most the size of the pool minus two
   */
  readonly concurrency?: number;
  /**
   * How long a handler may run before its signal is aborted, in milliseconds.
   *
   * @defaultValue 30,000
   */
  readonly timeoutMs?: number;
  /**
   * How long a lease lasts without renewal, in milliseconds.
   *
   * @defaultValue 15,000
   */
  readonly leaseMs?: number;
  /** When and how often the handler of a failed event runs again. */
  readonly retry?: RetryOptions;
  /**
   * How long `close` waits for handlers, in milliseconds. Signals are aborted after three fifths of this time. If a
   * handler is still running after another fifth of this time, hookbox returns its event to the inbox, and the handler
   * runs again. Set `closeMs` to less than the time after which your platform kills the process.
   *
   * @defaultValue 5,000
   */
  readonly closeMs?: number;
}

const PROCESSING: KnownOptions<ProcessingOptions> = {
  concurrency: true,
  timeoutMs: true,
  leaseMs: true,
  retry: true,
  closeMs: true,
};

/**
 * Refuses options of `processing` that there are not.
 *
 * @param more - which there are beside those of a processor
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertProcessing(
  processing: ProcessingOptions | undefined,
  more: Readonly<Record<string, true>> = {},
): void {
  if (processing === undefined) return;
  assertOptions('processing', processing, { ...PROCESSING, ...more });
  if (processing.retry !== undefined) assertRetry('processing.retry', processing.retry);
}

/** How soon a processor looks again for what is due, and what could not be written is tried again, in milliseconds. */
export const AGAIN_MS = 1_000;
/** How often processors and receivers have an inbox do its upkeep, in milliseconds. */
export const UPKEEP_EVERY_MS = 60_000;
/** Of the time that `close` has for handlers: until their signals are aborted; then to clean up; then to be given back. */
export const CLOSE_SHARES = { wait: 3 / 5, cleanUp: 1 / 5, giveBack: 1 / 5 };

/** The options with their defaults. @throws ConfigurationError `INVALID_OPTION` */
export function limitsOf({
  processing = {},
  handlers,
  inbox,
}: {
  processing?: ProcessingOptions | undefined;
  handlers: Handlers;
  inbox: Pick<Inbox, 'transactionsAtOnce'>;
}) {
  const timeoutMs = positive('timeoutMs', processing.timeoutMs ?? 30_000, MAX_TIMER_MS);
  const usual = Math.min(10, inbox.transactionsAtOnce ?? 10);
  return {
    concurrency: positiveWhole('concurrency', processing.concurrency ?? usual),
    leaseMs: positiveWhole('leaseMs', processing.leaseMs ?? 15_000, MAX_TIMER_MS),
    closeMs: positive('closeMs', processing.closeMs ?? 5_000, MAX_TIMER_MS),
    byType: limitsByType(handlers, { timeoutMs, ...(processing.retry && { retry: processing.retry }) }),
    types: handledTypes(handlers),
    named: namedTypes(handlers).filter((type) => type !== '*'),
  };
}
