import type { Clock } from '../host/clock.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Lease } from '../inbox/work.ts';
import type { LeaseGrace } from './lease-grace.ts';
import { AGAIN_MS } from './limits.ts';
import type { RunningAttempt } from './run-attempt.ts';
import type { Timers } from './timers.ts';

/**
 * Keeps the leases of attempts, from when their event was claimed until their end is written: each is renewed at least
 * twice before it runs out. An attempt is told when another processor has taken its event over.
 */
export interface LeaseRenewal {
  /** What is held: a claim names it, and so renews it too. */
  held(): readonly Lease[];
  keep(lease: Lease, attempt: RunningAttempt): void;
  letGo(lease: Lease): void;
  /** Has the inbox told that the processor closes, at once: an attempt whose process is killed meanwhile is interrupted. */
  close(): void;
}

export interface LeaseRenewalOptions {
  readonly inbox: Pick<Inbox, 'renew'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly grace: LeaseGrace;
  readonly leaseMs: number;
  readonly failed: (what: string, failure: unknown) => void;
}

export function leaseRenewal({ inbox, clock, timers, grace, leaseMs, failed }: LeaseRenewalOptions): LeaseRenewal {
  const attempts = new Map<Lease, RunningAttempt>();
  /** `null` while no turn is to come: nothing is held, or a turn is under way */
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
    held: () => [...attempts.keys()],
    keep(lease, attempt) {
      attempts.set(lease, attempt);
      if (cancelNext === null && !isRenewing) renewIn(leaseMs / 3);
    },
    letGo(lease) {
      attempts.delete(lease);
      if (attempts.size > 0) return;
      cancelNext?.();
      cancelNext = null;
    },
    close() {
      isClosing = true;
      if (cancelNext === null) return;
      cancelNext();
      cancelNext = null;
      void turn();
    },
  };
}
