import { LATE, withinDeadline, type Deadline } from '../host/deadline.ts';
import { askToWait } from '../host/host-limits.ts';
import { messageOf } from '../errors.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Lease, Settlement } from '../inbox/work.ts';
import { systemClock } from '../host/clock.ts';
import { Doubt } from './doubt.ts';
import type { ProcessorOptions } from './processor.ts';
import { CLOSE_GRACE_MS, CLOSE_LIMIT_MS, limitsOf } from './limits.ts';
import { runAttempt, type AttemptEnd, type RunningAttempt } from './run-attempt.ts';

/** What became of an event that was run while its delivery waited; `late`: its handler could not begin in time. */
export type InlineResult = 'processed' | 'failed' | 'busy' | 'timeout' | 'late' | 'lost' | 'nothing to run';

/** What happens to work that outlives its delivery. */
export interface Afterwards {
  /** asks the host to go on until a promise has settled */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** the host stops with the answer, so nothing that is left can be finished */
  readonly frozen?: boolean;
}

/** Runs handlers inside deliveries, on hosts without a background. */
export interface InlineRunner {
  run(key: EventKey, deadline: Deadline, afterwards: Afterwards): Promise<InlineResult>;
  /** Waits for handlers that run, then aborts their signals, waits a moment more, and gives back what is left. */
  close(): Promise<void>;
}

export type InlineRunnerOptions = Required<Pick<ProcessorOptions, 'inbox' | 'handlers' | 'ordering' | 'logger'>> &
  Pick<ProcessorOptions, 'processing' | 'clock'>;

interface Run {
  readonly lease: Lease;
  readonly attempt: RunningAttempt;
  readonly stopRenewing: () => void;
}

const AGAIN_MS = 1_000;

/**
 * One run for each delivery: no backoff and no budget, because the service's own schedule is the retry. A handler that
 * outlives the deadline keeps its lease while it runs; where the host would freeze it, the event is given back instead.
 */
export function createInlineRunner(options: InlineRunnerOptions): InlineRunner {
  const { inbox, handlers, ordering, logger, clock = systemClock } = options;
  const { leaseMs, timeoutMs, types } = limitsOf(options);
  // The budget and the backoff are the service's.
  const retry = { attempts: Infinity, baseMs: 0, maxMs: 0 };
  const running = new Map<Promise<unknown>, Run>();
  const handingBack = new Set<Promise<unknown>>();
  const doubt = new Doubt({ leaseMs, lookMs: AGAIN_MS, now: clock.now() });
  let looked = { now: clock.now(), steady: performance.now() };
  let closed = false;

  /** Nothing ticks between deliveries. What the steady clock has counted since the last one was no sleep. */
  function look(): number {
    const next = { now: clock.now(), steady: performance.now() };
    doubt.wasAwake(Math.min(next.now, looked.now + Math.ceil(next.steady - looked.steady)));
    doubt.look(next.now);
    looked = next;
    return next.now;
  }

  async function claim(key: EventKey): ReturnType<typeof inbox.claimOne> {
    const now = look();
    const holds = [...running.values()].map(({ lease }) => lease);
    const request = { now, leaseMs, endpoints: [key.endpoint], types, ordered: ordering, holds };
    try {
      const claimed = await inbox.claimOne(key, { ...request, ranOutBy: doubt.ranOutBy(now) });
      doubt.claimed(now, clock.now());
      return claimed;
    } catch (failure) {
      doubt.failed(clock.now());
      throw failure;
    }
  }

  async function settled(key: EventKey, { lease, attempt, stopRenewing }: Run): Promise<AttemptEnd['outcome']> {
    try {
      const end = await attempt.ended;
      if (end.outcome === 'committed') return end.outcome;
      const held = end.outcome !== 'lost' && (await write(lease, end));
      if (!held) {
        logger.warn({ ...key }, 'the lease was lost before the handler ended; the event runs when it is sent again');
        return 'lost';
      }
      if (end.outcome === 'retry' || end.outcome === 'dead') {
        logger.warn({ ...key, error: end.error.name }, 'handler failed; it runs again when the service sends again');
      }
      return end.outcome;
    } finally {
      stopRenewing();
    }
  }

  /** Tried until it is written: a handler that has succeeded must not count as crashed because the disk was full. */
  async function write(lease: Lease, settlement: Settlement): Promise<boolean> {
    for (;;) {
      try {
        return await inbox.settle(lease, settlement, clock.now());
      } catch (failure) {
        doubt.failed(clock.now());
        logger.error({ cause: messageOf(failure) }, 'cannot write how an attempt ended');
        if (closed) throw failure;
        await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve));
      }
    }
  }

  function keepLease(lease: Lease, attempt: RunningAttempt): () => void {
    let cancel = clock.after(leaseMs / 3, renew);
    let stopped = false;
    function renew(): void {
      const now = clock.now();
      inbox
        .renew([lease], now, leaseMs)
        .then((held) => {
          doubt.wrote(now, clock.now());
          if (held.length === 0) attempt.abort('lost');
          else if (!stopped) cancel = clock.after(leaseMs / 3, renew);
        })
        .catch((failure: unknown) => {
          doubt.failed(clock.now());
          logger.error({ cause: messageOf(failure) }, 'cannot renew a lease');
          if (!stopped) cancel = clock.after(Math.min(AGAIN_MS, leaseMs / 3), renew);
        });
    }
    return () => {
      stopped = true;
      cancel();
    };
  }

  /** The fence keeps what the handler still does from counting. */
  async function giveBack({ lease, attempt, stopRenewing }: Run): Promise<void> {
    stopRenewing();
    attempt.abort('closing');
    const end = attempt.abandon();
    if (end.outcome === 'committed' || end.outcome === 'lost') return;
    await handBack(inbox.settle(lease, end, clock.now()));
  }

  /** The database was not free in time: what is claimed after that has nobody to run for. */
  function giveBackWhenClaimed(claiming: ReturnType<typeof inbox.claimOne>): Promise<void> {
    return handBack(
      claiming.then(async (claimed) => {
        if (typeof claimed === 'object') await inbox.settle(claimed.lease, { outcome: 'interrupted' }, clock.now());
      }),
    );
  }

  function handBack(work: Promise<unknown>): Promise<void> {
    const done = work
      .then(() => {})
      .catch((failure: unknown) => logger.error({ cause: messageOf(failure) }, 'cannot give back an event'))
      .finally(() => handingBack.delete(done));
    handingBack.add(done);
    return done;
  }

  function start(
    claimed: Parameters<typeof runAttempt>[0],
    key: EventKey,
  ): { run: Run; outcome: ReturnType<typeof settled> } {
    const attempt = runAttempt(claimed, { inbox, handlers, logger, clock, timeoutMs, retry });
    const run = { lease: claimed.lease, attempt, stopRenewing: keepLease(claimed.lease, attempt) };
    const outcome = settled(key, run);
    running.set(outcome, run);
    outcome
      .catch((failure: unknown) => logger.error({ cause: messageOf(failure) }, 'cannot write how an attempt ended'))
      .finally(() => running.delete(outcome));
    return { run, outcome };
  }

  function atMost(limitMs: number, work: Promise<unknown>): Promise<unknown> {
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(limitMs, resolve);
    return Promise.race([work.finally(cancel), limit]);
  }

  const allEnded = (): Promise<unknown> => Promise.allSettled([...running.keys(), ...handingBack]);

  return {
    async run(key, deadline, { waitUntil, frozen = false }) {
      const claiming = claim(key);
      const claimed = await withinDeadline(claiming, deadline);
      if (claimed === LATE) {
        logger.warn({ ...key }, 'the inbox was not free in time to begin; the event runs when it is sent again');
        askToWait(waitUntil, giveBackWhenClaimed(claiming));
        return 'late';
      }
      if (claimed === 'busy') return 'busy';
      if (claimed === 'settled') return 'nothing to run';
      const { run, outcome } = start(claimed, key);
      const result = await withinDeadline(outcome, deadline);
      if (result === LATE) {
        if (frozen && waitUntil === undefined) await atMost(FROZEN_LIMIT_MS, giveBack(run));
        else askToWait(waitUntil, Promise.allSettled([outcome]));
        return 'timeout';
      }
      if (result === 'lost') return 'lost';
      return result === 'processed' || result === 'committed' ? 'processed' : 'failed';
    },
    async close() {
      await atMost(CLOSE_LIMIT_MS, allEnded());
      for (const { attempt } of running.values()) attempt.abort('closing');
      await atMost(CLOSE_GRACE_MS, allEnded());
      closed = true;
      await atMost(CLOSE_GRACE_MS, Promise.all([...running.values()].map(giveBack)));
    },
  };
}

/** Within the time that adapters keep back for the answer itself. */
const FROZEN_LIMIT_MS = 200;
