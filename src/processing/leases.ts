import type { Clock } from '../host/clock.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Lease } from '../inbox/work.ts';
import { AGAIN_MS } from './limits.ts';
import type { RunningAttempt } from './run-attempt.ts';
import type { Timers } from './timers.ts';

interface LeaseRenewalOptions {
  readonly inbox: Pick<Inbox, 'renew'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly grace: LeaseGrace;
  readonly leaseMs: number;
  readonly failed: (what: string, failure: unknown) => void;
}

export type LeaseRenewal = ReturnType<typeof leaseRenewal>;

/** Renews the leases of attempts, each at least twice before it runs out, and aborts attempts that have lost theirs. */
export function leaseRenewal({ inbox, clock, timers, grace, leaseMs, failed }: LeaseRenewalOptions) {
  const attempts = new Map<Lease, RunningAttempt>();
  /** `null` if no renewal is planned */
  let cancelNext: (() => void) | null = null;
  let isRenewing = false;
  let isClosing = false;

  function renewIn(ms: number): void {
    cancelNext = timers.later(ms, () => {
      cancelNext = null;
      void turn();
    });
  }

  async function turn(): Promise<void> {
    let next = leaseMs / 3;
    const asClosing = isClosing;
    isRenewing = true;
    try {
      await renewAll();
      if (asClosing !== isClosing) next = 0;
    } catch (failure) {
      failed('cannot renew leases', failure);
      next = Math.min(AGAIN_MS, next);
    }
    isRenewing = false;
    if (attempts.size > 0) renewIn(next);
  }

  async function renewAll(): Promise<void> {
    const leases = [...attempts.keys()];
    const now = clock.now();
    const renewed = new Set(await inbox.renew(leases, now, leaseMs, isClosing));
    grace.wrote(now, clock.now());
    for (const lease of leases) if (!renewed.has(lease)) attempts.get(lease)?.abort('lost');
  }

  return {
    /** A claim names the held leases, and so also renews them. */
    held: (): readonly Lease[] => [...attempts.keys()],
    keep(lease: Lease, attempt: RunningAttempt): void {
      attempts.set(lease, attempt);
      if (cancelNext === null && !isRenewing) renewIn(leaseMs / 3);
    },
    letGo(lease: Lease): void {
      attempts.delete(lease);
      if (attempts.size > 0) return;
      cancelNext?.();
      cancelNext = null;
    },
    /** Records at once that the processor closes: an attempt whose process is killed later counts as interrupted. */
    close(): void {
      isClosing = true;
      if (cancelNext === null) return;
      cancelNext();
      cancelNext = null;
      void turn();
    },
  };
}

/**
 * Decides which leases of other processes have expired. A process that was suspended, saw its clock jump, or could not
 * write cannot tell, because the others may have been unable to renew. It gives them a grace period of one lease.
 * During this period, their leases count.
 */
export class LeaseGrace {
  readonly #leaseMs: number;
  readonly #lookMs: number;
  /** the last check, and the last write */
  #lookedAt: number;
  #wroteAt: number;
  #failedAt = 0;
  /** leases that ended since then are not judged before `until` */
  #since: number | null = null;
  #until = 0;
  /** a claim judges again after the grace period, and may not be written yet */
  #isJudging = false;
  /** the clock was set back, and no claim has followed yet */
  #isSetBack = false;

  constructor({ leaseMs, lookMs, now }: { readonly leaseMs: number; readonly lookMs: number; readonly now: number }) {
    this.#leaseMs = leaseMs;
    this.#lookMs = lookMs;
    this.#lookedAt = now;
    this.#wroteAt = now;
  }

  /** Checks begin only now, and a write was possible until now. */
  startAt(now: number): void {
    this.#lookedAt = now;
    this.#wroteAt = now;
  }

  look(now: number): boolean {
    this.#noteAbsence(now);
    const isSetBack = now < this.#lookedAt;
    this.#lookedAt = now;
    if (!isSetBack) return this.#isSetBack;
    this.#isSetBack = true;
    this.#wroteAt = Math.min(this.#wroteAt, now);
    this.#failedAt = Math.min(this.#failedAt, now);
    if (this.#since !== null) this.#begin(now, now);
    return true;
  }

  /** A claim moves the times from before the clock was set back. */
  claimed(requestedAt: number, now: number): void {
    this.#isSetBack = false;
    this.wrote(requestedAt, now);
  }

  /**
   * If every write is slow, no other grace period begins before one claim without it: otherwise crashed processes would
   * never be noticed.
   *
   * @param requestedAt - the write may have waited since then, for example for a lock
   */
  wrote(requestedAt: number, now: number): void {
    if (this.#isJudging) this.#since = null;
    this.#isJudging = false;
    if (now - requestedAt > this.#tolerated && this.#since === null) this.#begin(requestedAt, now);
    // The clock was set back while it waited, so a time from before that was written.
    if (now < requestedAt) this.#isSetBack = true;
    this.#wroteAt = now;
  }

  /**
   * A claim, renewal or settlement failed. The grace period begins when others may have lost their leases, and the time
   * without writes does not count. An occasional failure prolongs it by no more, or crashed processes would never be
   * noticed.
   */
  failed(now: number): void {
    this.#isJudging = false;
    const failing = now - this.#wroteAt;
    const isLong = failing > this.#tolerated / 2;
    if (this.#since === null || failing >= this.#leaseMs) {
      if (isLong) this.#begin(this.#wroteAt, now);
    } else {
      this.#until += Math.max(0, now - Math.max(this.#wroteAt, this.#failedAt));
      // Holders try again each second.
      if (isLong) this.#until = Math.max(this.#until, now + 2 * this.#lookMs);
    }
    this.#failedAt = now;
  }

  /** The process was awake until then, and its clock was not set. */
  wasAwake(until: number): void {
    this.#lookedAt = Math.max(this.#lookedAt, until);
  }

  /** A lease that ended before this time has expired. */
  expiredBy(now: number): number {
    // An event that arrives right after a sleep is claimed before the next check.
    this.#noteAbsence(now);
    if (this.#since === null) return now;
    if (now < this.#until) return Math.min(this.#since, now);
    this.#isJudging = true;
    return now;
  }

  /** Two thirds of a lease are left when its holder renews it. */
  get #tolerated(): number {
    return Math.max((this.#leaseMs / 3) * 2, this.#lookMs);
  }

  #noteAbsence(now: number): void {
    if (now - this.#lookedAt <= this.#lookMs + this.#tolerated) return;
    this.#begin(this.#lookedAt, now);
    this.#lookedAt = now;
  }

  #begin(since: number, now: number): void {
    this.#since = Math.min(this.#since ?? since, since);
    this.#until = now + this.#leaseMs;
    this.#isJudging = false;
  }
}
