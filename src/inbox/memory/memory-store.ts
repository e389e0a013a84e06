import type { Announcements, SyncStore } from '../queue-operations.ts';
import { firstStateOf, hashOf } from '../rules/accept.ts';
import { isPaused, lastingPauses } from '../rules/pauses.ts';
import { isAmong, isInScope, wasSeenAfter, type HandledType, type ReadyType } from '../rules/processors.ts';
import { memoryClaims } from './memory-claims.ts';
import { fits, type MemoryHandling, type Entries, type Entry } from './memory-events.ts';

export function memoryStore(entries: Entries, handling: MemoryHandling): SyncStore {
  return {
    counts: { count() {}, countType() {}, countMs() {} },
    ...memoryClaims(entries, handling),
    ...memoryAnnouncements(entries, handling),
    insert(event, first, lease) {
      if (entries.find(event) !== undefined) return null;
      const { seq } = entries.add(event, first);
      if (lease === undefined) return { seq, fence: 0 };
      entries.change(seq, { fence: 1, attempt: 1, claimedAt: lease.now, leaseUntil: lease.until, isLeased: true });
      return { seq, fence: 1 };
    },
    known(key) {
      const entry = entries.find(key);
      if (entry === undefined) throw new RangeError('the event of a known key is missing');
      return { ...entry, invalid: entry.deadReason === 'invalid' };
    },
    saveAgain({ event: { seq, redeliveries, conflicts }, beside, replacement, isVerified }) {
      entries.change(seq, { redeliveries, conflicts });
      if (beside !== null) entries.change(seq, { otherBody: Uint8Array.from(beside) });
      if (isVerified) entries.change(seq, { verified: true });
      if (replacement === null) return;
      const { type, created, entity, verified, body, trace = entries.at(seq).trace } = replacement;
      const { state, deadReason, isFresh } = firstStateOf(replacement);
      const waiting = { state, deadReason, isFresh, isParked: false, yields: false, failures: 0, crashes: 0 };
      const content = { type, created, entity, verified, body: Uint8Array.from(body), hash: null, trace };
      entries.change(seq, { ...content, ...waiting });
    },
    eventToRerun(key, readFrom) {
      const entry = entries.find(key);
      if (entry === undefined) return undefined;
      const { entity, state, body } = entry;
      const isAsRead = readFrom === undefined || (body !== null && Buffer.compare(body, readFrom) === 0);
      return { entity, state, isPruned: body === null, isAsRead };
    },
    toPending(key, { type, created, entity }, now) {
      const entry = entries.find(key);
      if (entry === undefined) return;
      const waiting = { state: 'pending', deadReason: null, yields: false, failures: 0, crashes: 0 } as const;
      entries.change(entry.seq, { ...waiting, trigger: 'manual', type, created, entity, dueAt: now });
    },
    prunable: (endpoints, before, limit) =>
      entries.all
        .filter(({ state, settledAt, body }) => state === 'processed' && settledAt < before && body !== null)
        .filter((entry) => isInScope({ endpoints, types: '*' }, entry))
        .slice(0, limit),
    prune(seqs) {
      for (const seq of seqs) {
        const { attempts, body, steps } = entries.at(seq);
        steps.length = 0;
        for (const [index, attempt] of attempts.entries()) {
          const { skipped: _, log: __, error, ...rest } = attempt;
          attempts[index] = { ...rest, error: error && { name: error.name, message: '', stack: null } };
        }
        entries.change(seq, { body: null, hash: body && hashOf(body), conflicts: null, otherBody: null });
      }
    },
  };
}

function memoryAnnouncements(entries: Entries, handling: MemoryHandling): Omit<Announcements, 'indexArrivals'> {
  return {
    noteScope({ endpoints, types, named = [] }, now) {
      for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
        for (const type of types === '*' ? ['*', ...named] : types) {
          const isSame = (one: HandledType): boolean => one.endpoint === endpoint && one.type === type;
          const at = Math.max(now, handling.types.find(isSame)?.at ?? now);
          handling.types = [...handling.types.filter((one) => !isSame(one)), { endpoint, type, at }];
        }
      }
    },
    noteProcessor(processor, seenBy) {
      const others = handling.running.filter(({ name, seenAt }) => name !== processor.name && seenAt > seenBy);
      handling.running = [...others, processor];
    },
    forgetProcessor(forgotten) {
      handling.running = handling.running.filter(({ name }) => name !== forgotten);
    },
    processorsAfter: (since) =>
      handling.running
        .filter(({ seenAt }) => seenAt > since)
        .toSorted((one, other) => one.startedAt - other.startedAt || (one.name < other.name ? -1 : 1)),
    handledTypes: () => handling.types,
    isAnybodyThere: (since) => handling.types.some(({ at }) => at > since),
    parkedAfter: (seq, limit, handledSince) =>
      entries.all
        .slice(seq)
        .filter(({ isParked }) => isParked)
        .slice(0, limit)
        .map((entry) => ({
          ...entry,
          isHandled: isAmong(handling.typesSeen(entry.endpoint, handledSince), entry.type),
        })),
    readyTypes(endpoints, begin, gone, limit) {
      const types = new Map<string, ReadyType>();
      for (const { endpoint, type } of entries.ready()) {
        if (type === null || !isInScope({ endpoints, types: '*' }, { endpoint, type })) continue;
        if (wasSeenAfter(handling.lastSeen(endpoint, '*'), gone)) continue;
        const found = {
          endpoint,
          type,
          isPaused: isPaused(handling.pauses, { endpoint, type }),
          lastSeen: handling.lastSeen(endpoint, type),
        };
        if (begin.endpoint !== null && compare(found, { endpoint: begin.endpoint, type: begin.from }) < 0) continue;
        types.set(JSON.stringify([endpoint, type]), found);
      }
      return [...types.values()].toSorted(compare).slice(0, limit);
    },
    waitingOf(types, dueBy, limit) {
      const waiting = types.flatMap(({ endpoint, type }) =>
        entries
          .ready()
          .filter((entry) => entry.endpoint === endpoint && entry.type === type && entry.dueAt <= dueBy)
          .toSorted((a, b) => a.dueAt - b.dueAt)
          .map((entry) => ({ ...entry, type })),
      );
      const events = waiting.slice(0, limit);
      return { events, endedAt: events.length === limit ? (events.at(-1) ?? null) : null };
    },
    ignore(events, now) {
      for (const { seq } of events) entries.change(seq, { state: 'ignored', settledAt: now, isParked: false });
    },
    pendingTypes: (handledSince) =>
      totalsOf(entries.all.filter(({ state }) => state === 'pending')).map((total) => ({
        ...total,
        isPaused: isPaused(lastingPauses(handling.pauses, handledSince), total),
        lastSeen: handling.lastSeen(total.endpoint, total.type),
        wasEndpointHandled: handling.types.some(({ endpoint }) => fits(endpoint, total.endpoint)),
      })),
    ignoredTypes: (scope, since) =>
      totalsOf(
        entries.all.filter((entry) => entry.state === 'ignored' && entry.settledAt >= since && isInScope(scope, entry)),
      ).map((total) => ({ ...total, lastSeen: handling.lastSeen(total.endpoint, total.type) })),
  };
}

type Named = Pick<ReadyType, 'endpoint' | 'type'>;

function compare(one: Named, other: Named): number {
  const [a, b] = one.endpoint === other.endpoint ? [one.type, other.type] : [one.endpoint, other.endpoint];
  return a === b ? 0 : a < b ? -1 : 1;
}

function totalsOf(some: readonly Entry[]) {
  const totals = new Map<string, { endpoint: string; type: string; count: number; dueAt: number }>();
  for (const { endpoint, type, dueAt } of some) {
    if (type === null) continue;
    const key = JSON.stringify([endpoint, type]);
    const { count = 0, dueAt: first = dueAt } = totals.get(key) ?? {};
    totals.set(key, { endpoint, type, count: count + 1, dueAt: Math.min(first, dueAt) });
  }
  return [...totals.values()];
}
