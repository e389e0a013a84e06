import type { Clock } from '../host/clock.ts';
import type { Inbox } from '../inbox/contract.ts';
import { COMMITTED_ALONE, withTimes } from '../inbox/rules/attempt.ts';
import { movedBack } from '../inbox/rules/claim.ts';
import type { BreakerNews, ClaimedEvent, Lease, Settled, Settlement } from '../inbox/work.ts';
import type { LeaseGrace, LeaseRenewal } from './leases.ts';
import { AGAIN_MS, CLOSE_SHARES } from './limits.ts';
import type { EndedAttempt, AttemptResult } from './attempt-log.ts';
import type { LoggedAttempt } from './run-attempt.ts';
import type { Timers } from './timers.ts';

export interface AttemptEndingOptions {
  readonly inbox: Pick<Inbox, 'settle'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly grace: LeaseGrace;
  readonly leases: LeaseRenewal;
  readonly closeMs: number;
  readonly failed: (what: string, failure: unknown) => void;
  readonly tell: readonly {
    ended(attempt: EndedAttempt, end: AttemptResult, thrown: unknown): void;
    /** Its handler was still running when `close` released its event. */
    outlived?(attempt: EndedAttempt): void;
    breaker?(attempt: EndedAttempt, news: BreakerNews, probeAt: number): void;
  }[];
}

/** Writes the results of attempts, and releases events, in a processor and in inline mode. */
export function attemptEnding({ inbox, clock, timers, grace, leases, closeMs, failed, tell }: AttemptEndingOptions) {
  /** attempts whose result is not written yet */
  const running = new Map<Promise<unknown>, { readonly lease: Lease; readonly attempt: LoggedAttempt }>();
  const givingBack = new Set<Promise<void>>();
  /** reported attempts, because two writes may both find the result written */
  const known = new WeakSet<LoggedAttempt>();

  /** Retries until it is written: a handler that succeeded must not count as crashed because the disk was full. */
  async function settle(lease: Lease, settlement: Settlement): Promise<Settled> {
    const endedAt = clock.now();
    for (;;) {
      const now = clock.now();
      try {
        const isHeld = await inbox.settle(lease, asOf(now, endedAt, settlement), now);
        grace.wrote(now, clock.now());
        return isHeld;
      } catch (failure) {
        failed('cannot store the result of an attempt', failure);
        await timers.pause(AGAIN_MS);
      }
    }
  }

  function reportOnce(attempt: LoggedAttempt, end: AttemptResult): AttemptResult {
    if (end.outcome !== 'lost') {
      if (known.has(attempt)) return end;
      known.add(attempt);
    }
    for (const each of tell) each.ended(attempt.about(), end, attempt.thrown());
    return end;
  }

  function tellNews(attempt: LoggedAttempt, { breaker }: Settlement, settled: Settled): void {
    if (breaker === undefined || typeof settled === 'boolean' || settled === 'committed alone') return;
    for (const each of tell) each.breaker?.(attempt.about(), settled, clock.now() + breaker.probeMs);
  }

  function whenGivenBack(work: Promise<unknown>): Promise<void> {
    const done: Promise<void> = work
      .then(
        () => {},
        (failure: unknown) => failed('cannot release an event', failure),
      )
      .finally(() => givingBack.delete(done));
    givingBack.add(done);
    return done;
  }

  /** Releases the event of a running attempt. Later results of its handler do not count. */
  function giveBack(lease: Lease, attempt: LoggedAttempt): Promise<void> {
    leases.letGo(lease);
    attempt.abort('closing');
    const end = attempt.abandon();
    const settlement = settlementOf(end, attempt);
    if (settlement === null) return Promise.resolve();
    const written = inbox.settle(lease, settlement, clock.now()).then((settled) => {
      // Otherwise another write of the same end came first, or the lease is lost.
      if (settled !== false) reportOnce(attempt, endAs(end, settled));
      tellNews(attempt, settlement, settled);
    });
    return whenGivenBack(written);
  }

  const atMost = (share: number, work: Promise<unknown>): Promise<unknown> => timers.atMost(closeMs * share, work);

  return {
    /** Keeps the lease until `ended` resolves, when the result is written. `close` waits for it. */
    hold(lease: Lease, attempt: LoggedAttempt, ended: Promise<unknown>): void {
      leases.keep(lease, attempt);
      running.set(ended, { lease, attempt });
      ended
        .catch((failure: unknown) => failed('cannot store the result of an attempt', failure))
        .finally(() => running.delete(ended));
    },
    /** @returns `lost` if another processor has taken over the event */
    async write(lease: Lease, attempt: LoggedAttempt, end: AttemptResult): Promise<AttemptResult> {
      try {
        const settlement = settlementOf(end, attempt);
        if (settlement === null) return reportOnce(attempt, end);
        const settled = await settle(lease, settlement);
        const known = reportOnce(attempt, endAs(end, settled));
        tellNews(attempt, settlement, settled);
        return known;
      } finally {
        leases.letGo(lease);
      }
    },
    giveBack,
    /** Releases events whose handlers have not started. */
    giveBackUnrun: (claiming: Promise<readonly ClaimedEvent[]>): Promise<void> =>
      whenGivenBack(
        claiming.then((claimed) =>
          Promise.all(claimed.map(({ lease }) => inbox.settle(lease, { outcome: 'interrupted' }, clock.now()))),
        ),
      ),
    /** Aborts running handlers after a while, and then releases the remaining events and those of `claiming`. */
    async close(claiming: Promise<unknown> | null = null): Promise<void> {
      const allEnded = (): Promise<unknown> => Promise.allSettled([claiming, ...running.keys(), ...givingBack]);
      leases.close();
      await atMost(CLOSE_SHARES.wait, allEnded());
      for (const { attempt } of running.values()) attempt.abort('closing');
      await atMost(CLOSE_SHARES.cleanUp, allEnded());
      // These handlers ignore their signal, or their end could not be written.
      const left = Array.from(running.values(), ({ lease, attempt }) => {
        if (!attempt.isOver()) for (const each of tell) each.outlived?.(attempt.about());
        return giveBack(lease, attempt);
      });
      await atMost(CLOSE_SHARES.giveBack, Promise.all(left));
    },
  };
}

function endAs(end: AttemptResult, settled: Settled): AttemptResult {
  if (settled === 'committed alone') return { outcome: 'committed alone' };
  // A committed transaction counts, even if its lease was lost later.
  return settled !== false || end.outcome === 'committed' ? end : { outcome: 'lost' };
}

/** `null` if another processor has taken over the event. */
function settlementOf(end: AttemptResult, attempt: Pick<LoggedAttempt, 'lines' | 'ran'>): Settlement | null {
  if (end.outcome === 'lost') return null;
  const settlement = end.outcome === 'committed alone' ? COMMITTED_ALONE : end;
  const log = attempt.lines();
  return { ...settlement, ...attempt.ran, ...(log.length > 0 && { log }) };
}

/** If the clock was set back since, the backoff and the pause keep their length. */
function asOf(now: number, endedAt: number, settlement: Settlement): Settlement {
  return now >= endedAt ? settlement : withTimes(settlement, (ms) => movedBack(ms, endedAt - now, now));
}
