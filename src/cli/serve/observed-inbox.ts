import { performance } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { COMMITTED_ALONE } from '../../inbox/rules/attempt.ts';
import type { Acceptance, IncomingEvent } from '../../inbox/event.ts';
import type { AttemptError, ClaimedEvent, Lease, Settlement } from '../../inbox/work.ts';
import { labelOf } from '../../sender/event-label.ts';
import type { AttemptReport } from './serve-reports.ts';

/** Who is told. */
export interface Observer {
  /** an event was accepted, inside the delivery that brought it */
  accepted(event: IncomingEvent, acceptance: Acceptance): void;
  attempted(attempt: AttemptReport): void;
}

interface Running {
  readonly claimed: ClaimedEvent;
  readonly startedAt: number;
  told: boolean;
}

/** The inbox, telling what its receiver stores and how its handlers end. */
export function observedInbox(inbox: Inbox, observer: Observer): Inbox {
  const running = new WeakMap<Lease, Running>();

  function tell(lease: Lease, outcome: AttemptReport['outcome'], error?: AttemptError, againAt?: number): void {
    const run = running.get(lease);
    if (run === undefined) return;
    run.told = true;
    observer.attempted({
      kind: 'attempt',
      at: new Date(),
      outcome,
      type: labelOf(run.claimed.body).type,
      id: run.claimed.id,
      attempt: run.claimed.attempt,
      ms: performance.now() - run.startedAt,
      error: error?.message ?? null,
      stack: error?.stack ?? null,
      againAt: againAt === undefined ? null : new Date(againAt),
    });
  }

  function tellLost(lease: Lease): void {
    if (running.get(lease)?.told === false) tell(lease, 'lost');
  }

  return {
    ...inbox,
    async accept(event, deadline) {
      const acceptance = await inbox.accept(event, deadline);
      observer.accepted(event, acceptance);
      return acceptance;
    },
    async claim(request, limit, tell) {
      const claimed = await inbox.claim(request, limit, tell);
      for (const event of claimed) {
        running.set(event.lease, { claimed: event, startedAt: performance.now(), told: false });
      }
      return claimed;
    },
    async renew(leases, ...more) {
      const held = await inbox.renew(leases, ...more);
      for (const lease of leases) if (!held.includes(lease)) tellLost(lease);
      return held;
    },
    async settle(lease, settlement, now) {
      const held = await inbox.settle(lease, settlement, now);
      if (held === false && settlement.outcome !== 'committed') tellLost(lease);
      else if (held === 'committed alone') tell(lease, 'dead', COMMITTED_ALONE.error);
      else tell(lease, outcomeOf(settlement), ...errorOf(settlement));
      return held;
    },
  };
}

function outcomeOf({ outcome }: Settlement): AttemptReport['outcome'] {
  switch (outcome) {
    case 'retry':
      return 'failed';
    case 'committed':
      return 'processed';
    default:
      return outcome;
  }
}

function errorOf(settlement: Settlement): [AttemptError?, number?] {
  if (!('error' in settlement) || settlement.error === undefined) return [];
  const { error } = settlement;
  return settlement.outcome === 'retry' ? [error, settlement.dueAt] : [error];
}
