import { ConfigurationError } from '../errors.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { MAX_TIMER_MS, positive, positiveWhole } from '../number-option.ts';
import { DEFAULT_RETRY, type RetryOptions } from '../inbox/rules/attempt.ts';

/** Options for one event type. For each option that you do not set here, the value in `processing` applies. */
export interface TypeOptions {
  /**
   * When and how often the handler of a failed event runs again. In inline mode, the retry schedule of the service
   * applies instead.
   */
  readonly retry?: RetryOptions;
  /** How long the handler may run before its signal is aborted, in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * How many events of this type are handled concurrently in this process, within `processing.concurrency`. Events of
   * other types do not wait for these events. For `'*'`, all types without their own handler share this limit. This
   * limit has no effect in inline mode, where each delivery runs the handler of its own event.
   */
  readonly concurrency?: number;
  /**
   * `false` lets newer events of the entity pass while this event waits for its next attempt. If a newer event has been
   * processed in the meantime, `ctx.superseded` is `true`.
   *
   * @defaultValue `true`
   */
  readonly blocks?: boolean;
}

const KNOWN: KnownOptions<TypeOptions & { readonly handle: unknown }> = {
  handle: true,
  retry: true,
  timeoutMs: true,
  concurrency: true,
  blocks: 'boolean',
};
const RETRY: KnownOptions<RetryOptions> = { attempts: true, baseMs: true, maxMs: true };

/**
 * Refuses a handler with options that cannot work.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertTypeOptions(type: string, handler: object): void {
  const name = `handlers['${type}']`;
  assertOptions(name, handler, KNOWN, 'Write { handle: (event, context) => …, timeoutMs: 5_000 }.');
  const { handle, retry, timeoutMs, concurrency }: TypeOptions & { readonly handle?: unknown } = handler;
  if (typeof handle !== 'function') {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${name}.handle must be a function, not ${typeof handle}. Pass a function, or remove the key ${type}.`,
    );
  }
  if (timeoutMs !== undefined) positive(`${name}.timeoutMs`, timeoutMs, MAX_TIMER_MS);
  if (concurrency !== undefined) positiveWhole(`${name}.concurrency`, concurrency);
  if (retry !== undefined) {
    assertRetry(`${name}.retry`, retry);
    retryOf(`${name}.retry`, retry);
  }
}

/** @throws ConfigurationError `INVALID_OPTION` for options that there are not */
export function assertRetry(whose: string, retry: RetryOptions): void {
  assertOptions(whose, retry, RETRY);
}

/**
 * With its defaults.
 *
 * @param own - what counts before `all`
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function retryOf(whose: string, all?: RetryOptions, own?: RetryOptions): Required<RetryOptions> {
  const { attempts, baseMs, maxMs } = { ...DEFAULT_RETRY, ...all, ...own };
  return {
    attempts: positiveWhole(`${whose}.attempts`, attempts, Infinity),
    baseMs: positive(`${whose}.baseMs`, baseMs),
    maxMs: positive(`${whose}.maxMs`, maxMs),
  };
}
