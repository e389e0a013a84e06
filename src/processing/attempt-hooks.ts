import type { Logger } from '../host/logger.ts';
import { COMMITTED_ALONE } from '../inbox/rules/committed-alone.ts';
import type { DeadReason } from '../inbox/state.ts';
import type { AttemptError, TellCrashed } from '../inbox/work.ts';
import type { AttemptEnd, EndedAttempt } from './attempt-end.ts';
import { HookCalls, type Hook } from './hook-calls.ts';
import { loggedError } from './logged-error.ts';

/** What a hook is told of an error: without `logErrors: false` its message too, as the log has it. */
export interface HookError {
  readonly name: string;
  readonly message?: string;
}

/** What every hook about an attempt is told; nothing of the body. */
export interface AttemptHookFacts {
  readonly endpoint: string;
  readonly id: string;
  /** `null` where the body says none */
  readonly type: string | null;
  /** the number of the attempt; 0 where no handler has run */
  readonly attempt: number;
  /** `null` where nobody has said why: its process went away */
  readonly error: HookError | null;
  /** how long the handler ran, in milliseconds; `null` where nobody knows */
  readonly durationMs: number | null;
}

/** An attempt has failed, and the event will be handled again. */
export interface FailedFacts extends AttemptHookFacts {
  /** when it runs again; `null` in inline mode, where it does when the service sends it again */
  readonly dueAt: Date | null;
}

/** An event is dead: nobody handles it unless somebody acts. */
export interface DeadFacts extends AttemptHookFacts {
  readonly reason: DeadReason;
}

/**
 * Functions that are told what goes wrong, for alerts. They are called once it is durable, and nothing waits for them: they may
 * throw, reject or hang. At most 100 calls are under way at once; what comes beyond that is left out, and the log says so.
 */
export interface AttemptHooks {
  /** An attempt has failed or crashed, and the event will be handled again. */
  readonly onFailed?: Hook<FailedFacts>;
  /** An event is dead: it failed for the last time, crashed three times, or fits no schema. */
  readonly onDead?: Hook<DeadFacts>;
}

/** The hooks about attempts, as a processor or inline mode calls them. */
export interface AttemptHookCalls {
  ended(attempt: EndedAttempt, end: AttemptEnd): void;
  /** What a claim has found, also of other processes and other endpoints: whoever frees it tells. */
  readonly crashed: TellCrashed;
  readonly calls: HookCalls;
}

export interface AttemptHookOptions extends AttemptHooks {
  readonly logger: Logger;
  /** `false` keeps the messages of errors out */
  readonly logErrors: boolean;
  /** handlers run before the answer, and again when the service sends again */
  readonly inline?: boolean;
}

export function attemptHooks(options: AttemptHookOptions): AttemptHookCalls {
  const { onFailed, onDead, logger, logErrors, inline = false } = options;
  const calls = new HookCalls(logger);

  const told = (error: AttemptError | null): HookError | null => {
    if (error === null) return null;
    const { name, message } = loggedError({ ...error, stack: null });
    return logErrors ? { name, message } : { name };
  };
  const about = ({ endpoint, id, type, attempt, durationMs }: EndedAttempt, error: AttemptError) => {
    return { endpoint, id, type, attempt, error: told(error), durationMs };
  };

  return {
    calls,
    ended(attempt, end) {
      switch (end.outcome) {
        case 'retry': {
          const dueAt = inline ? null : new Date(end.dueAt);
          calls.call('onFailed', onFailed, { ...about(attempt, end.error), dueAt });
          break;
        }
        case 'dead':
          calls.call('onDead', onDead, { ...about(attempt, end.error), reason: end.reason });
          break;
        case 'committed alone':
          calls.call('onDead', onDead, { ...about(attempt, COMMITTED_ALONE.error), reason: 'failed' });
          break;
        case 'committed':
        case 'processed':
        case 'interrupted':
        case 'lost':
      }
    },
    crashed(crashed) {
      for (const { endpoint, id, type, attempt, deadReason, dueAt, error, wasClosing } of crashed) {
        // It has not failed.
        if (wasClosing === true) continue;
        const facts = { endpoint, id, type, attempt, error: told(error), durationMs: null };
        if (deadReason !== null) calls.call('onDead', onDead, { ...facts, reason: deadReason });
        else calls.call('onFailed', onFailed, { ...facts, dueAt: dueAt === null ? null : new Date(dueAt) });
      }
    },
  };
}
