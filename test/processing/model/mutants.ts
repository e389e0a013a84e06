import type { Inbox } from '../../../src/inbox/inbox.ts';
import { IGNORE_AFTER_MS, TAKER_MS, type Lease } from '../../../src/inbox/work.ts';
import {
  deploy,
  fullDisk,
  fullDiskForMany,
  heldBack,
  leftBehind,
  nothingStarted,
  outage,
  setBack,
  sleep,
  type DirectedHistory,
} from './directed-histories.ts';
import type { PromiseName } from './violation.ts';
import type { Mutation } from './world.ts';

/** A fault that the histories must find. */
export interface Mutant {
  readonly name: string;
  /** what one of them must be found to break */
  readonly breaks: readonly PromiseName[];
  /** where it is found, should chance take too long */
  readonly history?: DirectedHistory;
  /** which updates of events are left undone, as a condition in SQL; in memory there is no such mutant */
  readonly undone?: string;
  /** whose fault it is, if not the inbox's */
  readonly of?: 'processor';
  /** Begins a history: what is returned wraps the inbox of each process in it. */
  begin(): Mutation;
}

export const mutants: readonly Mutant[] = [
  { name: 'no fence', breaks: ['only the holder of a lease settles'], begin: noFence },
  { name: 'no entity lock', breaks: ['one live lease an entity', 'order within an entity'], begin: noEntityLock },
  { name: 'no deduplication', breaks: ['stored once'], begin: noDeduplication },
  { name: 'answer before commit', breaks: ['stored ⊇ acknowledged'], begin: answerBeforeCommit },
  {
    name: 'no renewal',
    // Whoever notices first that somebody else has the event.
    breaks: [
      'a lease that is renewed holds',
      'one live lease an entity',
      'suspects run one at a time',
      'only the holder of a lease settles',
    ],
    begin: noRenewal,
  },
  { name: 'claims of any endpoint', breaks: ['only its own endpoint'], begin: claimsOfAnyEndpoint },
  { name: 'pruning of any endpoint', breaks: ['only its own endpoint'], begin: pruningOfAnyEndpoint },
  {
    name: 'ignored after ten minutes without a worker',
    breaks: ['dead only for a reason'],
    history: outage,
    begin: forgetful,
  },
  {
    name: 'ignored by who handles nothing',
    breaks: ['dead only for a reason'],
    history: nothingStarted,
    begin: ignoredByNobody,
  },
  { name: 'ignored at first sight', breaks: ['dead only for a reason'], history: sleep, begin: ignoredAtFirstSight },
  { name: 'gone by the clock', breaks: ['order within an entity'], history: heldBack, begin: goneByTheClock },
  {
    name: 'parked for ever behind who is gone',
    breaks: ['nothing stuck'],
    history: leftBehind,
    undone: `OLD.parked = 1 AND NEW.parked = 0 AND NEW.state = 'pending' AND EXISTS (
      SELECT 1 FROM hookbox_events WHERE state = 'pending' AND entity = OLD.entity AND endpoint = OLD.endpoint
        AND (created_ms, created_ns, seq) < (OLD.created_ms, OLD.created_ns, OLD.seq)
    )`,
    begin: unchanged,
  },
  { name: 'frozen by a clock that was set back', breaks: ['nothing stuck'], history: setBack, begin: frozenByTheClock },
  {
    name: 'leases stay where the clock was',
    breaks: ['nothing stuck'],
    history: setBack,
    undone: "OLD.state = 'processing' AND NEW.state = 'processing' AND NEW.lease_until_ms < OLD.lease_until_ms",
    begin: unchanged,
  },
  {
    name: 'due times stay where the clock was',
    breaks: ['nothing stuck'],
    history: setBack,
    undone: "OLD.state = 'pending' AND NEW.state = 'pending' AND NEW.due_ms < OLD.due_ms",
    begin: unchanged,
  },
  {
    name: 'processed when told to stop',
    breaks: ['an attempt ends as its run did'],
    history: deploy,
    of: 'processor',
    begin: processedWhenTold,
  },
  {
    name: 'nobody looks at a transaction',
    breaks: ['an attempt ends as its run did'],
    of: 'processor',
    begin: nobodyLooks,
  },
  { name: 'null is for good', breaks: ['an attempt ends as its run did'], of: 'processor', begin: nullIsForGood },
  {
    name: 'gone while nobody could write',
    breaks: ['a lease that is renewed holds'],
    history: fullDiskForMany,
    begin: goneWhileFull,
  },
  {
    name: 'too late to settle',
    breaks: ['only the holder of a lease settles'],
    history: fullDisk,
    begin: tooLateToSettle,
  },
];

/** Its fault lies in the store. */
function unchanged(): Mutation {
  return (inbox) => inbox;
}

/** Whoever settles is taken for the present holder of the lease. */
function noFence(): Mutation {
  const fences = new Map<number, number>();
  const present = ({ seq, fence }: Lease): Lease => ({ seq, fence: fences.get(seq) ?? fence });
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) fences.set(lease.seq, lease.fence);
      return claimed;
    },
    async renew(leases, now, leaseMs) {
      const held = await inbox.renew(leases.map(present), now, leaseMs);
      return leases.filter(({ seq }) => held.some((lease) => lease.seq === seq));
    },
    settle: (lease, settlement, now) => inbox.settle(present(lease), settlement, now),
    transaction: (lease, work, attempt) => inbox.transaction(present(lease), work, attempt),
    noteLateError: (lease, error) => inbox.noteLateError(present(lease), error),
  });
}

/** Several events of one entity run at once. */
function noEntityLock(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, ordered: false }, limit),
  });
}

/** A redelivery is stored as if it were another event. */
function noDeduplication(): Mutation {
  const deliveries = new Map<string, number>();
  return (inbox) => ({
    ...inbox,
    accept(event, deadline) {
      const before = deliveries.get(event.id) ?? 0;
      deliveries.set(event.id, before + 1);
      return inbox.accept(before === 0 ? event : { ...event, id: `${event.id}, no. ${before}` }, deadline);
    },
  });
}

/** Answers at once and stores with the next delivery, unless the process has crashed by then. */
function answerBeforeCommit(): Mutation {
  return (inbox, life) => {
    let store: (() => Promise<unknown>) | null = null;
    return {
      ...inbox,
      async accept(event, deadline) {
        const known = await inbox.get(event);
        if (known !== null) return inbox.accept(event, deadline);
        if (!life.dead) await store?.();
        store = () => inbox.accept(event, deadline);
        return { result: 'stored', conflict: false, replaced: false };
      },
    };
  };
}

/** Says that leases are renewed and leaves them as they are. */
function noRenewal(): Mutation {
  const untils = new Map<string, number>();
  const nameOf = ({ seq, fence }: Lease): string => `${seq}/${fence}`;
  return (inbox: Inbox): Inbox => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) untils.set(nameOf(lease), request.now + request.leaseMs);
      return claimed;
    },
    async renew(leases, now) {
      const held = await Promise.all(
        leases.map((lease) => inbox.renew([lease], now, (untils.get(nameOf(lease)) ?? now) - now)),
      );
      return held.flat();
    },
  });
}

/** Whoever handles a type takes it from every endpoint. */
function claimsOfAnyEndpoint(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, endpoints: '*' }, limit),
  });
}

function pruningOfAnyEndpoint(): Mutation {
  return (inbox) => ({ ...inbox, prune: (_, before, limit) => inbox.prune('*', before, limit) });
}

/** A worker that was not seen for ten minutes is as good as one that never was. */
function forgetful(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) =>
      inbox.announce(scope, ignoreBefore === null ? now : now + IGNORE_AFTER_MS - TAKER_MS, ignoreBefore),
  });
}

/** A process without handlers puts away what nobody handles. */
function ignoredByNobody(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) =>
      scope.types.length > 0
        ? inbox.announce(scope, now, ignoreBefore)
        : inbox.announce({ ...scope, types: ['order.none'] }, now, now - TAKER_MS),
  });
}

/** Whoever starts puts away what it finds, before anybody had the time to be seen. */
function ignoredAtFirstSight(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) => inbox.announce(scope, now, ignoreBefore ?? now - TAKER_MS),
  });
}

/** A clock that jumps forward makes everybody look gone. */
function goneByTheClock(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, takenSince: request.now - TAKER_MS }, limit),
  });
}

/** What was written before the clock was set back waits until it has got there again. */
function frozenByTheClock(): Mutation {
  let latest = -Infinity;
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      latest = Math.max(latest, request.now);
      return request.now < latest ? [] : inbox.claim(request, limit);
    },
  });
}

/** A handler that returned because it was told to stop counts as one that was done. */
function processedWhenTold(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) =>
      inbox.settle(lease, settlement.outcome === 'interrupted' ? { outcome: 'processed' } : settlement, now),
  });
}

/** A handler that returned has succeeded, whatever became of its transaction. */
function nobodyLooks(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) => {
      const isForgotten = settlement.outcome === 'retry' && settlement.error.message === 'inside the transaction';
      return inbox.settle(lease, isForgotten ? { outcome: 'processed' } : settlement, now);
    },
  });
}

function nullIsForGood(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) => {
      const isNull = settlement.outcome === 'retry' && settlement.error.message === 'null';
      return inbox.settle(
        lease,
        isNull ? { outcome: 'dead', reason: 'failed', error: settlement.error } : settlement,
        now,
      );
    },
  });
}

/** Who could not renew its leases, because nobody could write, has lost them. */
function goneWhileFull(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, holds: [], ranOutBy: request.now }, limit),
  });
}

/** A lease that ran out is lost, although nobody else has taken the event. */
function tooLateToSettle(): Mutation {
  const untils = new Map<string, number>();
  const nameOf = ({ seq, fence }: Lease): string => `${seq}/${fence}`;
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) untils.set(nameOf(lease), request.now + request.leaseMs);
      return claimed;
    },
    async renew(leases, now, leaseMs) {
      const held = await inbox.renew(leases, now, leaseMs);
      for (const lease of held) untils.set(nameOf(lease), now + leaseMs);
      return held;
    },
    settle: async (lease, settlement, now) =>
      (untils.get(nameOf(lease)) ?? now) > now && inbox.settle(lease, settlement, now),
  });
}
