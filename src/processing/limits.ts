import { handledTypes, type Handlers } from '../handlers.ts';
import { MAX_TIMER_MS, positive } from '../positive.ts';
import { DEFAULT_RETRY, type RetryOptions } from './backoff.ts';

export interface ProcessingOptions {
  /** How many handlers run at once; 10 unless set. */
  readonly concurrency?: number;
  /** How long a handler may run before its signal is aborted, in milliseconds; 30,000 unless set. */
  readonly timeoutMs?: number;
  /** How long a lease holds without being renewed, in milliseconds; 15,000 unless set. */
  readonly leaseMs?: number;
  readonly retry?: RetryOptions;
}

/** The options with their defaults. @throws ConfigurationError `INVALID_OPTION` */
export function limitsOf({
  processing = {},
  handlers,
}: {
  processing?: ProcessingOptions | undefined;
  handlers: Handlers;
}) {
  const retry = { ...DEFAULT_RETRY, ...processing.retry };
  return {
    concurrency: positive('concurrency', processing.concurrency ?? 10),
    timeoutMs: positive('timeoutMs', processing.timeoutMs ?? 30_000, MAX_TIMER_MS),
    leaseMs: positive('leaseMs', processing.leaseMs ?? 15_000, MAX_TIMER_MS),
    retry: {
      attempts: positive('retry.attempts', retry.attempts, Infinity),
      baseMs: positive('retry.baseMs', retry.baseMs),
      maxMs: positive('retry.maxMs', retry.maxMs),
    },
    types: handledTypes(handlers),
  };
}
