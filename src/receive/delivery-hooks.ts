import { ConfigurationError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../host/logger.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Acceptance } from '../inbox/event.ts';
import { MAX_TIMER_MS, positive } from '../number-option.ts';
import { oneLine } from '../printable.ts';
import type { AttemptHooks, DeadFacts } from '../processing/attempt-hooks.ts';
import { HookCalls, type Hook } from '../processing/hook-calls.ts';
import { silenceWatch, type Silence } from './silence.ts';
import type { VerifiedDelivery } from './verifier.ts';

/**
 * The facts that `onConflict` receives. A different body arrived with the id of a stored event. The inbox keeps the
 * stored body and the most recent of the different bodies.
 */
export interface ConflictFacts {
  readonly endpoint: string;
  readonly id: string;
  /** The type in the new body; `null` if that body fits no schema. */
  readonly type: string | null;
}

/** The facts that `onSilent` receives. The inbox has accepted no delivery for the time set in `silentAfterMs`. */
export interface SilentFacts extends Silence {
  readonly endpoint: string;
  /** The option `silentAfterMs`, in milliseconds. */
  readonly silentAfterMs: number;
}

/** Hooks for deliveries, in addition to those for attempts. */
export interface DeliveryHooks extends AttemptHooks {
  /** A delivery had the id of a stored event but a different body. */
  readonly onConflict?: Hook<ConflictFacts>;
  /**
   * No process that shares the inbox has accepted a delivery for `silentAfterMs`. Possible causes are that the service
   * cannot reach your server, or that the registration was removed. hookbox calls the hook only once for each silence,
   * and never on hosts that run no code between requests.
   */
  readonly onSilent?: Hook<SilentFacts>;
  /**
   * How long the inbox may go without a delivery before `onSilent` is called, in milliseconds. Required with
   * `onSilent`.
   */
  readonly silentAfterMs?: number;
}

/** The hooks of a receiver, beside those of its attempts. */
export interface DeliveryHookCalls {
  /** A delivery is in the inbox. */
  accepted(verified: VerifiedDelivery, acceptance: Acceptance): void;
  /** What a host that stops with the answer is to wait for; `null` for nothing. */
  pending(): Promise<unknown> | null;
  close(): Promise<void>;
}

export interface DeliveryHookOptions extends DeliveryHooks {
  readonly inbox: Inbox;
  readonly endpoint: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** @throws ConfigurationError `INVALID_OPTION` for a time that is none, or is missing */
export function deliveryHooks(options: DeliveryHookOptions): DeliveryHookCalls {
  const { onConflict, onSilent, onDead, silentAfterMs, inbox, endpoint, logger, clock } = options;
  if (onSilent !== undefined && silentAfterMs === undefined) {
    const why =
      'onSilent needs silentAfterMs, the number of milliseconds without a delivery after which onSilent is called.';
    throw new ConfigurationError('INVALID_OPTION', why);
  }
  if (silentAfterMs !== undefined) positive('silentAfterMs', silentAfterMs, MAX_TIMER_MS);
  const calls = new HookCalls(logger);
  const tell = (silence: Silence): void => {
    if (silentAfterMs !== undefined) calls.call('onSilent', onSilent, { endpoint, silentAfterMs, ...silence });
  };
  const silence =
    onSilent === undefined || silentAfterMs === undefined
      ? null
      : silenceWatch({ inbox, endpoint, silentAfterMs, tell, clock });

  return {
    accepted({ id, event, facts }, { result, conflict, replaced }) {
      silence?.heard();
      const type = facts.type === null ? null : oneLine(facts.type);
      if (conflict) calls.call('onConflict', onConflict, { endpoint, id, type });
      if (event.type !== null || (result !== 'stored' && !replaced)) return;
      // It fits no schema, so no handler has run.
      const dead: DeadFacts = { endpoint, id, type, attempt: 0, error: null, durationMs: null, reason: 'invalid' };
      calls.call('onDead', onDead, dead);
    },
    pending: () => calls.pending(),
    async close() {
      silence?.stop();
      await calls.close();
    },
  };
}
