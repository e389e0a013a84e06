import type { Clock } from '../host/clock.ts';
import type { Inbox } from '../inbox/contract.ts';
import { COMMITTED_ALONE } from '../inbox/rules/attempt.ts';
import { movedBack } from '../inbox/rules/claim.ts';
import type { ClaimedEvent, Lease, Settled, Settlement } from '../inbox/work.ts';
import type { LeaseGrace, LeaseRenewal } from './leases.ts';
import { AGAIN_MS, CLOSE_SHARES } from './limits.ts';
import type { EndedAttempt, AttemptEnd } from './attempt-log.ts';
import type { LoggedAttempt } from './run-attempt.ts';
import type { Timers } from './timers.ts';

/** How attempts end, in a processor and in inline mode: their end is written, or their event is given back. */
export interface AttemptEnding {
  /**
   * An attempt has begun: its lease is kept.
   *
   * @param ended - resolves when its end is written; `close` waits for it
   */
  hold(lease: Lease, attempt: LoggedAttempt, ended: Promise<unknown>): void;
  /**
   * Writes how an attempt ended, lets go of its lease, and tells.
   *
   * @returns what it counts as: nothing when another has taken the event over
   */
  write(lease: Lease, attempt: LoggedAttempt, end: AttemptEnd): Promise<AttemptEnd>;
  /** Ends an attempt that still runs. The fence keeps what its handler does from here on from counting. */
  giveBack(lease: Lease, attempt: LoggedAttempt): Promise<void>;
  /** Gives back what was claimed too late: its handlers do not even start. */
  giveBackUnrun(claiming: Promise<readonly ClaimedEvent[]>): Promise<void>;
  /**
   * Says in the inbox that the processor closes, waits for handlers that run, then aborts their signals, waits a moment more, and
   * gives back the remaining leases. It takes `closeMs` at most.
   *
   * @param claiming - a claim that is under way; its leases are given back
   */
  close(claiming?: Promise<unknown> | null): Promise<void>;
}

export interface AttemptEndingOptions {
  readonly inbox: Pick<Inbox, 'settle'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly grace: LeaseGrace;
  readonly leases: LeaseRenewal;
  readonly closeMs: number;
  readonly failed: (what: string, failure: unknown) => void;
  /** Who is told how an attempt has ended, once that is written. */
  readonly tell: readonly {
    ended(attempt: EndedAttempt, end: AttemptEnd): void;
    /** Its handler ran on when `close` gave its event back. */
    outlived?(attempt: EndedAttempt): void;
  }[];
}

export function attemptEnding({
  inbox,
  clock,
  timers,
  grace,
  leases,
  closeMs,
  failed,
  tell,
}: AttemptEndingOptions): AttemptEnding {
  /** the ends of attempts that are not written yet */
  const running = new Map<Promise<unknown>, { readonly lease: Lease; readonly attempt: LoggedAttempt }>();
  const givingBack = new Set<Promise<void>>();
  /** those whose end was told: two writes of it may both find it written, where the first was not answered in time */
  const known = new WeakSet<LoggedAttempt>();

  /** Tried until it is written: a handler that has succeeded must not count as crashed because the disk was full. */
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

  function told(attempt: LoggedAttempt, end: AttemptEnd): AttemptEnd {
    if (end.outcome !== 'lost') {
      if (known.has(attempt)) return end;
      known.add(attempt);
    }
    for (const each of tell) each.ended(attempt.about(), end);
    return end;
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

  function giveBack(lease: Lease, attempt: LoggedAttempt): Promise<void> {
    leases.letGo(lease);
    attempt.abort('closing');
    const end = attempt.abandon();
    const settlement = settlementOf(end);
    if (settlement === null) return Promise.resolve();
    const written = inbox.settle(lease, settlement, clock.now()).then((settled) => {
      // Otherwise another write of the same end has come first, or nothing of it counts.
      if (settled !== false) told(attempt, endAs(end, settled));
    });
    return whenGivenBack(written);
  }

  const atMost = (share: number, work: Promise<unknown>): Promise<unknown> => timers.atMost(closeMs * share, work);

  return {
    hold(lease, attempt, ended) {
      leases.keep(lease, attempt);
      running.set(ended, { lease, attempt });
      ended
        .catch((failure: unknown) => failed('cannot store the result of an attempt', failure))
        .finally(() => running.delete(ended));
    },
    async write(lease, attempt, end) {
      try {
        const settlement = settlementOf(end);
        return told(attempt, settlement === null ? end : endAs(end, await settle(lease, settlement)));
      } finally {
        leases.letGo(lease);
      }
    },
    giveBack,
    giveBackUnrun: (claiming) =>
      whenGivenBack(
        claiming.then((claimed) =>
          Promise.all(claimed.map(({ lease }) => inbox.settle(lease, { outcome: 'interrupted' }, clock.now()))),
        ),
      ),
    async close(claiming = null) {
      const allEnded = (): Promise<unknown> => Promise.allSettled([claiming, ...running.keys(), ...givingBack]);
      leases.close();
      await atMost(CLOSE_SHARES.wait, allEnded());
      for (const { attempt } of running.values()) attempt.abort('closing');
      await atMost(CLOSE_SHARES.cleanUp, allEnded());
      // What is left does not listen, or its end could not be written.
      const left = Array.from(running.values(), ({ lease, attempt }) => {
        if (!attempt.isOver()) for (const each of tell) each.outlived?.(attempt.about());
        return giveBack(lease, attempt);
      });
      await atMost(CLOSE_SHARES.giveBack, Promise.all(left));
    },
  };
}

/** How an attempt has ended, by what became of that. */
function endAs(end: AttemptEnd, settled: Settled): AttemptEnd {
  if (settled === 'committed alone') return { outcome: 'committed alone' };
  // A committed transaction counts, even if its lease was lost later.
  return settled || end.outcome === 'committed' ? end : { outcome: 'lost' };
}

/** The settlement to write for the end of an attempt; `null` if another processor has taken over its event. */
function settlementOf(end: AttemptEnd): Settlement | null {
  if (end.outcome === 'lost') return null;
  return end.outcome === 'committed alone' ? COMMITTED_ALONE : end;
}

/** How an attempt ended, when the clock was set back before that could be written: its backoff lasts as long as it would have. */
function asOf(now: number, endedAt: number, settlement: Settlement): Settlement {
  if (!('dueAt' in settlement) || settlement.dueAt === undefined || now >= endedAt) return settlement;
  return { ...settlement, dueAt: movedBack(settlement.dueAt, endedAt - now, now) };
}
