import type { Entry } from './memory-entry.ts';
import { createHash } from 'node:crypto';
import { TransactionError } from '../../errors.ts';
import type { Instant } from '../../events/instant.ts';
import type { SqliteDatabase } from '../sqlite/database.ts';
import type { EventKey, StoredEvent } from '../event.ts';
import { arrivedBy, latestTime, movedBack, setBackBy } from '../rules/set-back.ts';
import { countTypes, isIn, memoryTakers } from './memory-takers.ts';
import { refuseAsyncFunction, refusePromise } from '../synchronous.ts';
import {
  MAX_CRASHES,
  TAKER_MS,
  type Attempt,
  type AttemptError,
  type ClaimedEvent,
  type ClaimRequest,
  type Lease,
  type Settlement,
  type WorkQueue,
} from '../work.ts';

/** The handling half of `memoryInbox`: the same moves as in SQLite, by looking through everything. */
export function memoryWork(entries: readonly Entry[], find: (key: EventKey) => Entry | undefined) {
  const takers = memoryTakers(entries);
  const highWater = new Map<string, Instant>();
  const listeners = new Set<() => void>();
  let latest = 0;
  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  const sameEntity = (a: Entry, b: Entry): boolean => a !== b && a.entity === b.entity && a.endpoint === b.endpoint;

  function noteTime(now: number): void {
    latest = latestTime(latest, now);
  }

  function followClock({ now, leaseMs }: ClaimRequest): void {
    const back = setBackBy(latest, now);
    latest = back > 0 ? latestTime(0, now) : latestTime(latest, now);
    if (back === 0) return;
    takers.setBack(now, back);
    for (const entry of entries) {
      if (entry.state === 'processing') entry.leaseUntil = movedBack(entry.leaseUntil, back, now + leaseMs);
      else if (entry.state === 'pending' && !entry.fresh) entry.dueAt = movedBack(entry.dueAt, back, now);
    }
  }

  function lookAtFresh(now: number): void {
    for (const entry of entries) {
      if (!entry.fresh) continue;
      entry.fresh = false;
      entry.dueAt = arrivedBy(entry.dueAt, now);
    }
  }

  function releaseRanOut({ now, leaseMs, holds = [], ranOutBy = now }: ClaimRequest, only?: Entry): void {
    for (const entry of entries) {
      if (entry.state !== 'processing' || entry.leaseUntil > Math.min(now, ranOutBy)) continue;
      if (only !== undefined && entry !== only && !(only.entity !== null && sameEntity(entry, only))) continue;
      if (holds.some(({ seq, fence }) => entry.seq === seq && entry.fence === fence)) {
        entry.leaseUntil = now + leaseMs;
        continue;
      }
      entry.crashes += 1;
      leave(entry, 'crashed', now, null);
      if (entry.crashes >= MAX_CRASHES) finish(entry, 'dead', 'crashed', now);
      else toPending(entry, now);
    }
  }

  function hasLease(entry: Entry): boolean {
    return entry.entity !== null && entries.some((other) => sameEntity(entry, other) && other.state === 'processing');
  }

  function hasOlder(entry: Entry, request: ClaimRequest): boolean {
    const { now, takenSince = now - TAKER_MS } = request;
    const handled = (other: Entry): boolean => isIn(request, other) || takers.seen(other) > takenSince;
    return entries.some(
      (other) => sameEntity(entry, other) && other.state === 'pending' && order(other, entry) < 0 && handled(other),
    );
  }

  function take(entry: Entry, { now, leaseMs }: ClaimRequest): ClaimedEvent {
    const newest = entry.entity === null ? undefined : highWater.get(entityKey(entry));
    entry.state = 'processing';
    entry.fresh = false;
    entry.deadReason = null;
    entry.fence += 1;
    entry.attemptCount += 1;
    entry.claimedAt = now;
    entry.leaseUntil = now + leaseMs;
    return {
      lease: { seq: entry.seq, fence: entry.fence },
      endpoint: entry.endpoint,
      id: entry.id,
      body: entry.body ?? new Uint8Array(),
      verified: entry.verified,
      receivedAt: entry.receivedAt,
      attempt: entry.attemptCount,
      failures: entry.failures,
      superseded: newest !== undefined && entry.created !== null && compare(newest, entry.created) > 0,
    };
  }

  /** Nobody has taken it over, however late it is. */
  function held({ seq, fence }: Lease): Entry | undefined {
    const entry = entries[seq - 1];
    return entry?.state === 'processing' && entry.fence === fence ? entry : undefined;
  }

  function settle(lease: Lease, settlement: Settlement, now: number): boolean {
    const entry = held(lease);
    if (entry === undefined) return false;
    noteTime(now);
    switch (settlement.outcome) {
      case 'processed': {
        leave(entry, 'processed', now, null);
        finish(entry, 'processed', null, now);
        const before = highWater.get(entityKey(entry));
        if (entry.entity !== null && entry.created !== null && (!before || compare(before, entry.created) < 0)) {
          highWater.set(entityKey(entry), entry.created);
        }
        break;
      }
      case 'retry':
        entry.failures += 1;
        leave(entry, 'failed', now, settlement.error);
        toPending(entry, settlement.dueAt);
        break;
      case 'dead':
        entry.failures += 1;
        leave(entry, 'failed', now, settlement.error);
        finish(entry, 'dead', settlement.reason, now);
        break;
      case 'interrupted':
        leave(entry, 'interrupted', now, null);
        toPending(entry, now);
        break;
    }
    return true;
  }

  const queue: WorkQueue = {
    async claim(request, limit) {
      const { now, ordered } = request;
      followClock(request);
      releaseRanOut(request);
      lookAtFresh(now);
      const claimed: ClaimedEvent[] = [];
      const due = entries
        .filter((entry) => entry.state === 'pending' && entry.dueAt <= now)
        .filter((entry) => isIn(request, entry))
        .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
      for (const entry of due) {
        if (claimed.length === limit) break;
        if (entry.crashes > 0 && entries.some((other) => other.state === 'processing' && other.crashes > 0)) continue;
        if (ordered && entry.entity !== null && (hasLease(entry) || hasOlder(entry, request))) continue;
        claimed.push(take(entry, request));
      }
      return claimed;
    },
    async claimOne(key, request) {
      followClock(request);
      const entry = find(key);
      if (entry === undefined || entry.body === null) return 'settled';
      releaseRanOut(request, entry);
      if (entry.state === 'processed' || entry.deadReason === 'invalid') return 'settled';
      if (!isIn(request, entry)) return 'settled';
      if (entry.state === 'processing' || (request.ordered && hasLease(entry))) return 'busy';
      return take(entry, request);
    },
    async renew(leases, now, leaseMs) {
      noteTime(now);
      return leases.filter((lease) => {
        const entry = held(lease);
        if (entry !== undefined) entry.leaseUntil = now + leaseMs;
        return entry !== undefined;
      });
    },
    async settle(lease, settlement, now) {
      return settle(lease, settlement, now);
    },
    async transaction(lease, work, { now, signal }) {
      refuseAsyncFunction(work);
      signal.throwIfAborted();
      if (held(lease) === undefined) {
        throw new TransactionError('LEASE_LOST', 'The lease on this event was lost; nothing was committed.');
      }
      const result = work(noDatabase);
      refusePromise(result);
      settle(lease, { outcome: 'processed' }, now());
      return result;
    },
    async noteLateError({ seq, fence }, error) {
      const entry = entries[seq - 1];
      const last = entry?.attempts.at(-1);
      if (entry?.fence === fence && last !== undefined) entry.attempts[entry.attempts.length - 1] = { ...last, error };
    },
    async nextDue(scope) {
      const times = entries.flatMap((entry) => {
        if (entry.state === 'processing') return [entry.leaseUntil];
        return entry.state === 'pending' && isIn(scope, entry) ? [entry.dueAt] : [];
      });
      return times.length === 0 ? null : Math.min(...times);
    },
    async announce(scope, now, ignoreBefore) {
      noteTime(now);
      lookAtFresh(now);
      takers.note(scope, now);
      const untaken = ignoreBefore === null ? [] : takers.untaken(scope.endpoints, now, ignoreBefore);
      for (const entry of untaken) finish(entry, 'ignored', null, now);
      return {
        ignored: countTypes(untaken).map(({ endpoint, type, count }) => ({ endpoint, type, count })),
        more: false,
      };
    },
    unhandled: async (now, takenSince) => takers.unhandled(now, takenSince),
    ignoredSince: async (scope, since, now) => takers.ignoredSince(scope, since, now),
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async attempts(key) {
      return [...(find(key)?.attempts ?? [])];
    },
    async rerun(key, content, now, readFrom) {
      const entry = find(key);
      if (entry === undefined || entry.body === null || !['dead', 'ignored'].includes(entry.state)) return false;
      if (readFrom !== undefined && Buffer.compare(entry.body, readFrom) !== 0) return false;
      Object.assign(entry, content);
      entry.failures = 0;
      entry.crashes = 0;
      entry.trigger = 'manual';
      entry.deadReason = null;
      noteTime(now);
      toPending(entry, now);
      notify();
      return true;
    },
    async prune(endpoints, processedBefore, limit) {
      const old = entries
        .filter((entry) => isIn({ endpoints, types: '*' }, entry))
        .filter(({ state, body, settledAt }) => state === 'processed' && body !== null && settledAt < processedBefore)
        .slice(0, limit);
      for (const entry of old) {
        entry.hash = createHash('sha256')
          .update(entry.body ?? '')
          .digest();
        entry.body = null;
        entry.conflict = null;
        entry.attempts.forEach((attempt, index) => {
          const error = attempt.error && { name: attempt.error.name, message: '', stack: null };
          entry.attempts[index] = { ...attempt, error };
        });
      }
      return old.length;
    },
  };
  return { queue, notify };
}

function leave(entry: Entry, outcome: Attempt['outcome'], now: number, error: AttemptError | null): void {
  const { attemptCount: number, trigger, claimedAt } = entry;
  entry.attempts.push({ number, trigger, outcome, startedAt: new Date(claimedAt), endedAt: new Date(now), error });
  entry.trigger = 'auto';
}

function toPending(entry: Entry, dueAt: number): void {
  entry.state = 'pending';
  entry.dueAt = dueAt;
}

function finish(
  entry: Entry,
  state: 'processed' | 'dead' | 'ignored',
  reason: StoredEvent['deadReason'],
  now: number,
): void {
  entry.state = state;
  entry.deadReason = reason;
  entry.settledAt = now;
}

function order(a: Entry, b: Entry): number {
  return (a.created && b.created ? compare(a.created, b.created) : 0) || a.seq - b.seq;
}

function compare(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.ns - b.ns;
}

function entityKey({ endpoint, entity }: Entry): string {
  return JSON.stringify([endpoint, entity]);
}

/** There is nothing to write to, and nothing that could be taken back: exactly once cannot be promised in memory. */
const noDatabase: SqliteDatabase = new Proxy({} as SqliteDatabase, {
  get(_, name) {
    throw new Error(
      `memoryInbox has no database, so ctx.transaction cannot use it (${String(name)}). Use sqliteInbox where it matters ` +
        'what a transaction writes.',
    );
  },
});
