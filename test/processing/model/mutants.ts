import type { Inbox } from '../../../src/inbox/inbox.ts';
import type { Lease } from '../../../src/inbox/work.ts';
import type { PromiseName } from './violation.ts';
import type { Mutation } from './world.ts';

/** A fault in the inbox that the histories must find. */
export interface Mutant {
  readonly name: string;
  /** what one of them must be found to break */
  readonly breaks: readonly PromiseName[];
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
];

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
