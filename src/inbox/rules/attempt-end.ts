import type { DeadReason } from '../state.ts';
import type { Attempt, AttemptError, Settlement } from '../work.ts';
import { backoffMs, type RetryOptions } from './backoff.ts';
import { fingerprintOf } from './fingerprint.ts';

/** An event is dead(crashed) after this many crashes. */
export const MAX_CRASHES = 3;

/** What an attempt's end makes of its event, and of the attempt. */
export type Ending = Pick<Attempt, 'outcome' | 'error' | 'skipped'> & {
  /** by how much its failures and its crashes grow */
  readonly failed: 0 | 1;
  readonly crashed: 0 | 1;
  /** what operators see counted; `null` where it does not count */
  readonly counted: 'processed' | 'failed' | 'dead' | null;
} & (
    | { readonly state: 'processed' }
    /** `yields`: whether newer events of its entity may pass; unless set, that stays as it was */
    | { readonly state: 'pending'; readonly dueAt: number; readonly yields?: boolean }
    | { readonly state: 'dead'; readonly deadReason: DeadReason; readonly fingerprint: string | null }
  );

const PROCESSED: Ending = Object.freeze({
  state: 'processed',
  outcome: 'processed',
  error: null,
  failed: 0,
  crashed: 0,
  counted: 'processed',
});

/**
 * What a failed attempt is settled with: another attempt after a while, or none when there were as many as there may be.
 *
 * @param failuresBefore - since the event was stored or rerun
 * @param isPermanent - trying again would not help
 * @param afterMs - the least that it asks to wait
 * @param yields - newer events of its entity need not wait for the next attempt
 */
export function settlementOfFailure(
  failuresBefore: number,
  {
    error,
    isPermanent,
    afterMs = 0,
    yields = false,
  }: {
    readonly error: AttemptError;
    readonly isPermanent: boolean;
    readonly afterMs?: number;
    readonly yields?: boolean;
  },
  retry: Required<RetryOptions>,
  now: number,
  random?: () => number,
): EndOfAttempt {
  const failures = failuresBefore + 1;
  if (isPermanent || failures >= retry.attempts) return { outcome: 'dead', reason: 'failed', error };
  // Not sooner than usual either: who is told to wait a second each time shall not have used up all attempts in twenty.
  const dueAt = now + Math.max(afterMs, backoffMs(failures, retry, random));
  return { outcome: 'retry', error, dueAt, ...(yields && { yields }) };
}

/**
 * What an attempt is settled with whose transaction could not be had, as the file of its inbox was not: that says nothing about the
 * event, so it does not count. As nobody knows when that ends, it waits the longer the more attempts there were.
 */
export function settlementWithoutFile(
  attempts: number,
  retry: Required<RetryOptions>,
  now: number,
  random?: () => number,
): EndOfAttempt {
  return { outcome: 'interrupted', dueAt: now + backoffMs(attempts, retry, random) };
}

/** @param skipped - says why the handler has let its event go by, if it has */
export function processedBy(
  skipped: (() => string | undefined) | undefined,
): Extract<Settlement, { readonly outcome: 'processed' }> {
  const reason = skipped?.();
  return reason === undefined ? { outcome: 'processed' } : { outcome: 'processed', skipped: reason };
}

/** A settlement that ends an attempt, and not only its lease. */
export type EndOfAttempt = Exclude<Settlement, { readonly outcome: 'committed' }>;

/** Where an attempt that has ended leaves its event. */
export function endingOf(settlement: EndOfAttempt, now: number): Ending {
  switch (settlement.outcome) {
    case 'processed':
      return settlement.skipped === undefined ? PROCESSED : { ...PROCESSED, skipped: settlement.skipped };
    case 'retry': {
      const { error, dueAt, yields = false } = settlement;
      return { state: 'pending', dueAt, yields, outcome: 'failed', error, failed: 1, crashed: 0, counted: 'failed' };
    }
    case 'dead': {
      const { error, reason } = settlement;
      const dead = { state: 'dead', deadReason: reason, fingerprint: fingerprintOf(error) } as const;
      return { ...dead, outcome: 'failed', error, failed: 1, crashed: 0, counted: 'dead' };
    }
    case 'interrupted':
      return {
        state: 'pending',
        dueAt: settlement.dueAt ?? now,
        outcome: 'interrupted',
        error: null,
        failed: 0,
        crashed: 0,
        counted: null,
      };
  }
}

/** A lease that ran out without a word is a crash; after so many the event is dead. */
export function crashEnding(crashesBefore: number, now: number): Ending {
  const crash = { outcome: 'crashed', error: null, failed: 0, crashed: 1 } as const;
  if (crashesBefore + 1 < MAX_CRASHES) return { ...crash, state: 'pending', dueAt: now, counted: 'failed' };
  // Without a fingerprint: nobody has said why, so those that crashed are a group by their reason.
  return { ...crash, state: 'dead', deadReason: 'crashed', fingerprint: null, counted: 'dead' };
}
