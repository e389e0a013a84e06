import type { BreakerEnd } from '../../../src/inbox/work.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Lease, Rate, Settlement } from '../../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, PRESENT_MS } from '../../../src/inbox/rules/processors.ts';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { Mutation } from './world.ts';

export function unchanged(): Mutation {
  return (inbox) => inbox;
}

/** Anyone may settle, with or without the lease. */
export function noFence(): Mutation {
  const fences = new Map<number, number>();
  const present = ({ seq, fence }: Lease): Lease => ({ seq, fence: fences.get(seq) ?? fence });
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) fences.set(lease.seq, lease.fence);
      return claimed;
    },
    async renew(leases, ...given) {
      const held = await inbox.renew(leases.map(present), ...given);
      return leases.filter(({ seq }) => held.some((lease) => lease.seq === seq));
    },
    settle: (lease, settlement, now) => inbox.settle(present(lease), settlement, now),
    transaction: (lease, work, attempt) => inbox.transaction(present(lease), work, attempt),
  });
}

/** Anyone may keep a step, with or without the lease. */
export function noFenceForSteps(): Mutation {
  const fences = new Map<number, number>();
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) fences.set(lease.seq, lease.fence);
      return claimed;
    },
    keepStep: ({ seq, fence }, step, now) => inbox.keepStep({ seq, fence: fences.get(seq) ?? fence }, step, now),
  });
}

export function stepsNotRead(): Mutation {
  return (inbox) => ({ ...inbox, steps: async () => [] });
}

/** An entity is free once its transaction has committed, although its handler is still running. */
export function freeOnceCommitted(): Mutation {
  return (inbox) => ({
    ...inbox,
    async transaction(lease, work, attempt) {
      const result = await inbox.transaction(lease, work, attempt);
      await inbox.settle(lease, { outcome: 'committed' }, attempt.now());
      return result;
    },
  });
}

/** Each event of a burst runs. */
export function noLatest(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: ({ latest, ...request }, limit) =>
      inbox.claim(latest === undefined ? request : { ...request, latest: {} }, limit),
  });
}

/** Handlers without the option have it. */
export function latestOfAll(): Mutation {
  const latest = { '*': { quietMs: 0, maxMs: 0 } };
  return (inbox) => ({ ...inbox, claim: (request, limit) => inbox.claim({ ...request, latest }, limit) });
}

/** A processor closes, and says so to nobody. */
export function closesUnsaid(): Mutation {
  return (inbox) => ({ ...inbox, renew: (leases, now, leaseMs) => inbox.renew(leases, now, leaseMs) });
}

export function noEntityLock(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, ordered: false }, limit),
  });
}

export function startsBesideItsEntity(): Mutation {
  return (inbox) => ({
    ...inbox,
    accept: (event, deadline, start) => inbox.accept(event, deadline, start && { ...start, ordered: false }),
  });
}

export function hashTakenForId(): Mutation {
  const ofHash = new Map<string, string>();
  return (inbox) => ({
    ...inbox,
    async accept(event, deadline, start) {
      const hash = event.id.slice(-1);
      const first = ofHash.get(hash) ?? event.id;
      if (first !== event.id) return { result: 'duplicate', conflict: false, replaced: false };
      const acceptance = await inbox.accept(event, deadline, start);
      ofHash.set(hash, event.id);
      return acceptance;
    },
  });
}

export function noDeduplication(): Mutation {
  const deliveries = new Map<string, number>();
  return (inbox) => ({
    ...inbox,
    accept(event, deadline, start) {
      const before = deliveries.get(event.id) ?? 0;
      deliveries.set(event.id, before + 1);
      return inbox.accept(before === 0 ? event : { ...event, id: `${event.id}, no. ${before}` }, deadline, start);
    },
  });
}

/** Answers at once and stores with the next delivery, unless the process crashes before. */
export function answerBeforeCommit(): Mutation {
  return (inbox, life) => {
    let store: (() => Promise<unknown>) | null = null;
    return {
      ...inbox,
      async accept(event, deadline, start) {
        const known = await inbox.get(event);
        if (known !== null) return inbox.accept(event, deadline, start);
        if (!life.dead) await store?.();
        store = () => inbox.accept(event, deadline);
        return { result: 'stored', conflict: false, replaced: false };
      },
    };
  };
}

export function noRenewal(): Mutation {
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

export function claimsOfAnyEndpoint(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, endpoints: '*' }, limit),
  });
}

export function pruningOfAnyEndpoint(): Mutation {
  return (inbox) => ({ ...inbox, prune: (_, before, limit) => inbox.prune('*', before, limit) });
}

export function forgetful(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) =>
      inbox.announce(scope, ignoreBefore === null ? now : now + IGNORE_AFTER_MS - PRESENT_MS, ignoreBefore),
  });
}

/** A process without handlers puts away what nobody handles. */
export function ignoredByNobody(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) =>
      scope.types.length > 0
        ? inbox.announce(scope, now, ignoreBefore)
        : inbox.announce({ ...scope, types: ['order.none'] }, now, now - PRESENT_MS),
  });
}

export function ignoredAtFirstSight(): Mutation {
  return (inbox) => ({
    ...inbox,
    announce: (scope, now, ignoreBefore) => inbox.announce(scope, now, ignoreBefore ?? now - PRESENT_MS),
  });
}

/** After a clock jumps forward, all processors seem gone. */
export function goneByTheClock(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, handledSince: request.now - PRESENT_MS }, limit),
  });
}

export function frozenByTheClock(): Mutation {
  let latest = -Infinity;
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      latest = Math.max(latest, request.now);
      return request.now < latest ? [] : inbox.claim(request, limit);
    },
  });
}

export function processedWhenTold(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) =>
      inbox.settle(lease, settlement.outcome === 'interrupted' ? { outcome: 'processed' } : settlement, now),
  });
}

export function nobodyLooks(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) => {
      const isForgotten = settlement.outcome === 'retry' && settlement.error.message === 'inside the transaction';
      return inbox.settle(lease, isForgotten ? { outcome: 'processed' } : settlement, now);
    },
  });
}

export function transactionsDoNotCount(): Mutation {
  return (inbox) => ({
    ...inbox,
    transaction: (lease, work, attempt) =>
      inbox.transaction(lease, work, attempt).catch(() => {
        throw new InboxUnavailableError('FAILED', 'the connection was lost');
      }),
  });
}

export function neverGivenBack(): Mutation {
  return (inbox) => ({
    ...inbox,
    transaction: (lease, work, { now, signal, skipped }) => inbox.transaction(lease, work, { now, signal, skipped }),
  });
}

export function nullIsForGood(): Mutation {
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

/** A processor that could not renew, because the disk was full, has lost its leases. */
export function goneWhileFull(): Mutation {
  return (inbox) => ({
    ...inbox,
    claim: (request, limit) => inbox.claim({ ...request, holds: [], expiredBy: request.now }, limit),
  });
}

export function tooLateToSettle(): Mutation {
  const untils = new Map<string, number>();
  const nameOf = ({ seq, fence }: Lease): string => `${seq}/${fence}`;
  return (inbox) => ({
    ...inbox,
    async claim(request, limit) {
      const claimed = await inbox.claim(request, limit);
      for (const { lease } of claimed) untils.set(nameOf(lease), request.now + request.leaseMs);
      return claimed;
    },
    async renew(leases, now, leaseMs, closing) {
      const held = await inbox.renew(leases, now, leaseMs, closing);
      for (const lease of held) untils.set(nameOf(lease), now + leaseMs);
      return held;
    },
    settle: async (lease, settlement, now) =>
      (untils.get(nameOf(lease)) ?? now) > now && inbox.settle(lease, settlement, now),
  });
}

function claimsAt(change: (rate: Rate) => Rate): Mutation {
  return (inbox) => ({
    ...inbox,
    claim({ rates = {}, ...request }, limit, ...tell) {
      const changed = Object.entries(rates).map(([type, rate]) => [type, change(rate)] as const);
      return inbox.claim({ ...request, rates: Object.fromEntries(changed) }, limit, ...tell);
    },
  });
}

export function noRate(): Mutation {
  return claimsAt(({ perMs }) => ({ count: 1_000_000, perMs }));
}

export function rateForLonger(): Mutation {
  return claimsAt(({ count, perMs }) => ({ count, perMs: perMs * 10_000 }));
}

export function startsAnyType(): Mutation {
  return (inbox) => ({
    ...inbox,
    accept: (event, deadline, start = { now: 0, leaseMs: 3_000, ordered: true }) =>
      inbox.accept(event, deadline, start),
  });
}

/** Each process counts only its own attempts. */
export function ratesAlone(): Mutation {
  return (inbox) => {
    const starts: number[] = [];
    return {
      ...inbox,
      async claim({ rates, ...request }, limit, ...tell) {
        const room = Object.entries(rates ?? {}).map(([type, { count, perMs }]) => {
          const own = starts.filter((at) => at > request.now - perMs).length;
          return [type, Math.max(0, count - own)] as const;
        });
        const claimed = await inbox.claim(
          rates ? { ...request, room: Object.fromEntries(room) } : request,
          limit,
          ...tell,
        );
        for (const _ of claimed) starts.push(request.now);
        return claimed;
      },
    };
  };
}

function settlesAs(change: (settlement: Extract<Settlement, { outcome: 'retry' }>) => Settlement): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, settlement, now) =>
      inbox.settle(lease, settlement.outcome === 'retry' ? change(settlement) : settlement, now),
  });
}

/** A breaker that opens only after very many failures, or that a success does not close. */
export function neverOpens(): Mutation {
  return reportsAs((breaker) => ({ ...breaker, limit: 1_000 }));
}

export function neverCloses(): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, { breaker, ...settlement }, now) =>
      inbox.settle(
        lease,
        settlement.outcome === 'processed' || !breaker ? settlement : { ...settlement, breaker },
        now,
      ),
  });
}

export function probesLater(): Mutation {
  return reportsAs((breaker) => ({ ...breaker, probeMs: 24 * 60 * 60_000 }));
}

function reportsAs(change: (breaker: BreakerEnd) => BreakerEnd): Mutation {
  return (inbox) => ({
    ...inbox,
    settle: (lease, { breaker, ...settlement }, now) =>
      inbox.settle(lease, breaker === undefined ? settlement : { ...settlement, breaker: change(breaker) }, now),
  });
}

export function pausesForLonger(): Mutation {
  return settlesAs((settlement) => {
    const { pauseUntil: until } = settlement;
    return { ...settlement, ...(until !== undefined && { pauseUntil: until + 24 * 60 * 60_000 }) };
  });
}

export function pausesNothing(): Mutation {
  return settlesAs(({ pauseUntil: _pauseUntil, ...settlement }) => settlement);
}

export function countsPauses(): Mutation {
  return settlesAs(({ isUncounted: _isUncounted, ...settlement }) => settlement);
}
