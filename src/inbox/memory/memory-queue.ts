import { TransactionError } from '../../errors.ts';
import { WHOLE_SWEEP, type Sweep, isInScope, seenSince, ignoredTypes } from '../rules/processors.ts';
import {
  announce,
  claimDue,
  claimOne,
  processors,
  prune,
  renewLeases,
  rerun,
  settle,
  settleInTransaction,
  unhandled,
  type ClaimProgress,
  type SyncStore,
  refuseAsyncFunction,
  refusePromise,
} from '../queue-operations.ts';
import { isRunning, processedBy } from '../rules/attempt.ts';
import type { SqliteDatabase } from '../sqlite/opening/database.ts';
import type { CrashedEvent, WorkQueue } from '../work.ts';
import type { Entries } from './memory-entry.ts';

/** The handling half of `memoryInbox`. */
export function memoryQueue(entries: Entries, store: SyncStore): { queue: WorkQueue; notify: () => void } {
  /** how far each processor has come with what waits */
  const sweeps = new Map<string, Sweep>();
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  const queue: WorkQueue = {
    async claim(request, limit, tell = () => {}) {
      const progress: ClaimProgress = { newestSeq: null, crashed: [] };
      for (;;) {
        const step = claimDue(store, request, limit, progress);
        if (step === 'more') continue;
        tell(progress.crashed);
        return step;
      }
    },
    async claimOne(key, request, tell = () => {}) {
      const crashed: CrashedEvent[] = [];
      for (;;) {
        const step = claimOne(store, key, request, { crashed });
        if (step === 'more') continue;
        tell(crashed);
        return step;
      }
    },
    renew: async (leases, now, leaseMs, isClosing) => renewLeases(store, leases, now, leaseMs, isClosing),
    settle: async (lease, settlement, now) => settle(store, lease, settlement, now),
    async transaction(lease, work, { now, signal, skipped }) {
      refuseAsyncFunction(work);
      signal.throwIfAborted();
      if (!isRunning(store.held([lease], null)[0])) throw lost();
      const result = work(noDatabase);
      refusePromise(result);
      if (!settleInTransaction(store, lease, processedBy(skipped), now())) throw lost();
      return result;
    },
    async nextDue(scope) {
      const times = entries.all.flatMap((entry) => {
        if (entry.isLeased) return [entry.leaseUntil];
        return entry.state === 'pending' && !entry.isParked && isInScope(scope, entry) ? [entry.dueAt] : [];
      });
      return times.length === 0 ? null : Math.min(...times);
    },
    async announce(scope, now, ignoreBefore, processor) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const { sweep, ...announced } = announce(store, scope, now, ignoreBefore, from, processor);
      sweeps.set(whose, sweep);
      return announced;
    },
    leave: async (processor) => store.forgetProcessor(processor),
    processors: async (now) => processors(store, now),
    unhandled: async (now, handledSince = seenSince(now)) => unhandled(store, handledSince),
    ignoredSince: async (scope, since, now) => ignoredTypes(store.ignoredTypes(scope, since), now),
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    attempts: async (key) => [...(entries.find(key)?.attempts ?? [])],
    async rerun(key, content, now, readFrom) {
      const moved = rerun(store, key, content, now, readFrom);
      if (moved) notify();
      return moved;
    },
    prune: async (endpoints, processedBefore, limit) => prune(store, endpoints, processedBefore, limit),
  };
  return { queue, notify };
}

function lost(): TransactionError {
  return new TransactionError('LEASE_LOST', 'The attempt lost its lease on this event. Nothing was committed.');
}

/** There is nothing to write to, and nothing that could be taken back: exactly once cannot be promised in memory. */
const noDatabase: SqliteDatabase = new Proxy({} as SqliteDatabase, {
  get(_, name) {
    throw new Error(
      `memoryInbox has no database, so the function in ctx.transaction cannot use one (${String(name)}). Use ` +
        'sqliteInbox to test transactions.',
    );
  },
});
