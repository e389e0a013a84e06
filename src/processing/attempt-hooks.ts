import { nameOf } from '../errors.ts';
import { type Logger, throttle } from '../host/logger.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { unrefTimer } from '../host/unref-timer.ts';
import { COMMITTED_ALONE } from '../inbox/rules/attempt.ts';
import type { DeadReason } from '../inbox/event.ts';
import type { AttemptError, CrashedEvent } from '../inbox/work.ts';
import { type AttemptResult, type EndedAttempt, loggedError } from './attempt-log.ts';

/** The error that a hook receives. With `logErrors: false`, the error has no message. */
export interface HookError {
  readonly name: string;
  readonly message?: string;
}

/** The facts that every hook for attempts receives. Only `thrown` may contain data of the body, so do not log it whole. */
export interface AttemptHookFacts {
  readonly endpoint: string;
  readonly id: string;
  /** `null` if the body has no type. */
  readonly type: string | null;
  /** The number of the attempt; 0 if no handler ran. */
  readonly attempt: number;
  /** `null` if the process died, because the error is then unknown. */
  readonly error: HookError | null;
  /**
   * The value that the handler threw, for example for Sentry. `undefined` if the process died, if no handler ran, or with
   * `logErrors: false`.
   */
  readonly thrown?: unknown;
  /** How long the handler ran, in milliseconds; `null` if unknown. */
  readonly durationMs: number | null;
}

/** The facts that `onFailed` receives. An attempt failed, and the handler will run again. */
export interface FailedFacts extends AttemptHookFacts {
  /**
   * When the handler will run again. `null` in inline mode, where the handler runs again when the service resends the
   * event.
   */
  readonly dueAt: Date | null;
}

/** The facts that `onDead` receives. The event stays dead until an operator acts. */
export interface DeadFacts extends AttemptHookFacts {
  /** Why the event is dead. */
  readonly reason: DeadReason;
}

/**
 * Hooks for alerts. hookbox calls a hook after the change to the event is durable, and does not wait for it. A hook
 * that throws, rejects or hangs does no harm. At most 100 calls run concurrently; hookbox skips and logs further calls.
 */
export interface AttemptHooks {
  /** An attempt failed or crashed, and the handler will run again. */
  readonly onFailed?: Hook<FailedFacts>;
  /** An event became dead: its last attempt failed, three of its attempts crashed, or its body fits no schema. */
  readonly onDead?: Hook<DeadFacts>;
}

interface AttemptHookOptions extends AttemptHooks {
  readonly logger: Logger;
  readonly logErrors: boolean;
  /** the service's redelivery runs the handler again */
  readonly inline?: boolean;
}

export function attemptHooks(options: AttemptHookOptions) {
  const { onFailed, onDead, logger, logErrors, inline = false } = options;
  const calls = new HookCalls(logger);

  const shownError = (error: AttemptError | null): HookError | null => {
    if (error === null) return null;
    const { name, message } = loggedError({ ...error, stack: null });
    return logErrors ? { name, message } : { name };
  };
  const about = (ended: EndedAttempt, error: AttemptError, thrown: unknown) => {
    const { endpoint, id, type, attempt, durationMs } = ended;
    const value = logErrors && thrown !== undefined ? { thrown } : {};
    return { endpoint, id, type, attempt, error: shownError(error), durationMs, ...value };
  };

  return {
    calls,
    ended(attempt: EndedAttempt, end: AttemptResult, thrown: unknown): void {
      if (end.outcome === 'retry') {
        const dueAt = inline ? null : new Date(end.dueAt);
        calls.call('onFailed', onFailed, { ...about(attempt, end.error, thrown), dueAt });
      }
      const dead = end.outcome === 'committed alone' ? COMMITTED_ALONE : end;
      if (dead.outcome !== 'dead') return;
      calls.call('onDead', onDead, { ...about(attempt, dead.error, thrown), reason: dead.reason });
    },
    /** Reports crashes that a claim found, including those of other processes and endpoints. */
    crashed(crashed: readonly CrashedEvent[]): void {
      for (const { endpoint, id, type, attempt, deadReason, dueAt, error, wasClosing } of crashed) {
        if (wasClosing === true) continue;
        const facts = { endpoint, id, type, attempt, error: shownError(error), durationMs: null };
        if (deadReason !== null) calls.call('onDead', onDead, { ...facts, reason: deadReason });
        else calls.call('onFailed', onFailed, { ...facts, dueAt: dueAt === null ? null : new Date(dueAt) });
      }
    },
  };
}

/** A function that hookbox calls to alert you. Its result and its errors have no effect. */
export type Hook<Facts> = (facts: Facts) => unknown;

const MOST = 100;
const LIMIT_MS = 30_000;
const CLOSE_MS = 2_000;

export class HookCalls {
  readonly #logger: Logger;
  readonly #seldom = throttle();
  readonly #underWay = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  call<Facts extends { readonly endpoint: string }>(name: string, hook: Hook<Facts> | undefined, facts: Facts): void {
    if (hook === undefined) return;
    if (this.#underWay.size >= MOST) {
      this.#warn(`${name} full`, { hook: name }, 'too many hook calls are running, so this call was skipped');
      return;
    }
    const { promise: limit, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = unrefTimer(setTimeout(giveUp, LIMIT_MS));
    const called = Promise.resolve()
      .then(() => hook(facts))
      .then(
        () => {},
        // The message may quote the facts.
        (failure: unknown) => this.#warn(name, { hook: name, error: nameOf(failure) }, 'a hook failed'),
      );
    const done = Promise.race([called, limit]).finally(() => {
      clearTimeout(timer);
      this.#underWay.delete(done);
    });
    this.#underWay.add(done);
  }

  /** Resolves when all running calls have ended; `null` if none is running. */
  pending(): Promise<unknown> | null {
    return this.#underWay.size === 0 ? null : Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    const pending = this.pending();
    if (pending === null) return;
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    await Promise.race([pending, limit]).finally(() => clearTimeout(timer));
  }

  #warn(kind: string, facts: Readonly<Record<string, unknown>>, message: string): void {
    this.#seldom(kind, (suppressed) => this.#logger.warn({ ...facts, suppressed }, message));
  }
}
