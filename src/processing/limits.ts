import { delay, performance } from '../host/real-timers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { RetryOptions } from '../inbox/rules/attempt.ts';
import type { Scope } from '../inbox/work.ts';
import { assertOptions, type KnownOptions, MAX_TIMER_MS, positive, positiveWhole } from '../known-options.ts';
import { handledTypes, namedTypes, type Handlers, limitsByType, assertRetry } from './handlers.ts';

/** The limits and the retry schedule for handlers. */
export interface ProcessingOptions {
  /**
   * How many handlers run concurrently in this process. Has no effect in inline mode.
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
   * How long `close` waits for handlers, in milliseconds. After three fifths of this time, it aborts signals. After
   * another fifth, it releases the events of handlers that are still running. Set `closeMs` to less than the time after
   * which your platform kills the process.
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
 * @param more - further options
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

/** Interval of polls and retries, in milliseconds. */
export const AGAIN_MS = 1_000;
export const UPKEEP_EVERY_MS = 60_000;
/** Shares of `closeMs`: until signals are aborted, then to clean up, then to release events. */
export const CLOSE_SHARES = { wait: 3 / 5, cleanUp: 1 / 5, giveBack: 1 / 5 };

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

/** How long the inbox keeps events. */
export interface RetentionOptions {
  /**
   * Days after which a processed event becomes a tombstone. With `Infinity`, hookbox keeps all events.
   *
   * @defaultValue 30
   */
  readonly processedDays?: number;
}

const OPTIONS: KnownOptions<RetentionOptions> = { processedDays: true };
const BATCH = 100;
const DAY_MS = 24 * 60 * 60_000;
const REST = 3;

interface PruningOptions {
  readonly inbox: Pick<Inbox, 'prune'>;
  readonly endpoints: Scope['endpoints'];
  readonly now: () => number;
  /** called before each batch; `false` stops it */
  readonly isOpen: () => boolean;
}

/**
 * Turns old events into tombstones, a batch at a time.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function pruning(
  retention: RetentionOptions,
  { inbox, endpoints, now, isOpen }: PruningOptions,
): () => Promise<void> {
  assertOptions('retention', retention, OPTIONS);
  const { processedDays = 30 } = retention;
  const processedMs = positive('processedDays', processedDays, Infinity) * DAY_MS;
  return async () => {
    if (processedMs === Infinity) return;
    for (let pruned = Infinity; pruned > 0 && isOpen();) {
      const startedAt = performance.now();
      pruned = await inbox.prune(endpoints, now() - processedMs, BATCH);
      if (pruned > 0) await delay(REST * (performance.now() - startedAt), undefined, { ref: false });
    }
  };
}
