import { LATE, withinDeadline, type Deadline } from '../deadline.ts';
import { messageOf } from '../errors.ts';
import type { EventKey } from '../inbox/inbox.ts';
import type { Lease } from '../inbox/work.ts';
import { systemClock } from './clock.ts';
import type { ProcessorOptions } from './processor.ts';
import { CLOSE_GRACE_MS, CLOSE_LIMIT_MS, limitsOf } from './limits.ts';
import { runAttempt, type AttemptEnd, type RunningAttempt } from './run-attempt.ts';

/** What became of an event that was run while its delivery waited. */
export type InlineResult = 'processed' | 'failed' | 'busy' | 'timeout' | 'nothing to run';

/** Runs handlers inside deliveries, on hosts without a background. */
export interface InlineRunner {
  /** @param waitUntil - asks the host to go on until a handler that has outlived the deadline has ended */
  run(key: EventKey, deadline: Deadline, waitUntil?: (work: Promise<unknown>) => void): Promise<InlineResult>;
  /** Waits for handlers that run, then aborts their signals, and waits a moment more. */
  close(): Promise<void>;
}

/**
 * One run for each delivery: no backoff and no budget, because the service's own schedule is the retry. A handler that
 * outlives the deadline keeps its lease for as long as it runs, and no longer.
 */
export function createInlineRunner(
  options: Required<Pick<ProcessorOptions, 'inbox' | 'handlers' | 'ordering' | 'logger'>> &
    Pick<ProcessorOptions, 'processing' | 'clock'>,
): InlineRunner {
  const { inbox, handlers, ordering, logger, clock = systemClock } = options;
  const { leaseMs, timeoutMs, types } = limitsOf(options);
  // The budget and the backoff are the service's.
  const retry = { attempts: Infinity, baseMs: 0, maxMs: 0 };
  const running = new Map<Promise<unknown>, RunningAttempt>();

  async function settled(key: EventKey, lease: Lease, attempt: RunningAttempt): Promise<AttemptEnd['outcome']> {
    const stopRenewing = keepLease(lease, attempt);
    const end = await attempt.ended.finally(stopRenewing);
    if (end.outcome === 'committed' || end.outcome === 'lost') return end.outcome;
    const held = await inbox.settle(lease, end, clock.now());
    if (end.outcome === 'retry' || end.outcome === 'dead') {
      logger.warn({ ...key, error: end.error.name }, 'handler failed; it runs again when the service sends again');
    }
    return held ? end.outcome : 'lost';
  }

  function keepLease(lease: Lease, attempt: RunningAttempt): () => void {
    let cancel = clock.after(leaseMs / 3, renew);
    let stopped = false;
    function renew(): void {
      inbox
        .renew([lease], clock.now(), leaseMs)
        .then((held) => {
          if (held.length === 0) attempt.abort('lost');
          else if (!stopped) cancel = clock.after(leaseMs / 3, renew);
        })
        .catch((failure: unknown) => {
          logger.error({ cause: messageOf(failure) }, 'cannot renew a lease');
          if (!stopped) cancel = clock.after(leaseMs / 3, renew);
        });
    }
    return () => {
      stopped = true;
      cancel();
    };
  }

  function ended(limitMs: number): Promise<unknown> {
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(limitMs, resolve);
    return Promise.race([Promise.allSettled(running.keys()).finally(cancel), limit]);
  }

  /** The database was not free in time: what is claimed after that has nobody to run for. */
  function giveBackWhenClaimed(claiming: ReturnType<typeof inbox.claimOne>): void {
    claiming
      .then(async (claimed) => {
        if (typeof claimed === 'object') await inbox.settle(claimed.lease, { outcome: 'interrupted' }, clock.now());
      })
      .catch((failure: unknown) => logger.error({ cause: messageOf(failure) }, 'cannot give back an event'));
  }

  return {
    async run(key, deadline, waitUntil) {
      const claiming = inbox.claimOne(key, { now: clock.now(), leaseMs, types, ordered: ordering });
      const claimed = await withinDeadline(claiming, deadline);
      if (claimed === LATE) {
        giveBackWhenClaimed(claiming);
        return 'timeout';
      }
      if (claimed === 'busy') return 'busy';
      if (claimed === 'settled') return 'nothing to run';
      const attempt = runAttempt(claimed, { inbox, handlers, logger, clock, timeoutMs, retry });
      const outcome = settled(key, claimed.lease, attempt);
      running.set(outcome, attempt);
      outcome
        .catch((failure: unknown) => logger.error({ cause: messageOf(failure) }, 'cannot write how an attempt ended'))
        .finally(() => running.delete(outcome));
      const result = await withinDeadline(outcome, deadline);
      if (result === LATE) {
        waitUntil?.(Promise.allSettled([outcome]));
        return 'timeout';
      }
      return result === 'processed' || result === 'committed' ? 'processed' : 'failed';
    },
    async close() {
      await ended(CLOSE_LIMIT_MS);
      for (const attempt of running.values()) attempt.abort('closing');
      await ended(CLOSE_GRACE_MS);
    },
  };
}
