import { delay, performance } from '../host/real-timers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { RetryOptions } from '../inbox/rules/attempt.ts';
import type { Scope } from '../inbox/work.ts';
import { whole, positive, MAX_TIMER_MS, type RulesFor } from '../option-rules.ts';
import { handledTypes, latestTypes, type Handlers, limitsByType, namedTypes, RETRY_RULE } from './handlers.ts';

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

export const PROCESSING_RULES: RulesFor<ProcessingOptions> = {
  concurrency: whole(),
  timeoutMs: positive(MAX_TIMER_MS),
  leaseMs: whole(1, MAX_TIMER_MS),
  retry: RETRY_RULE,
  closeMs: positive(MAX_TIMER_MS),
};

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
  const usual = Math.min(10, inbox.transactionsAtOnce ?? 10);
  const { concurrency = usual, timeoutMs = 30_000, leaseMs = 15_000, closeMs = 5_000, retry = {} } = processing;
  return {
    concurrency,
    leaseMs,
    closeMs,
    byType: limitsByType(handlers, { timeoutMs, retry, leaseMs }),
    latest: latestTypes(handlers),
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

export const RETENTION_RULES: RulesFor<RetentionOptions> = { processedDays: positive(Infinity) };
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

/** Turns old events into tombstones, a batch at a time. */
export function pruning(
  { processedDays = 30 }: RetentionOptions,
  { inbox, endpoints, now, isOpen }: PruningOptions,
): () => Promise<void> {
  const processedMs = processedDays * DAY_MS;
  return async () => {
    if (processedMs === Infinity) return;
    for (let pruned = Infinity; pruned > 0 && isOpen();) {
      const startedAt = performance.now();
      pruned = await inbox.prune(endpoints, now() - processedMs, BATCH);
      if (pruned > 0) await delay(REST * (performance.now() - startedAt), undefined, { ref: false });
    }
  };
}
