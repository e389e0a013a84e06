import type { IncomingEvent } from '../event.ts';
import type { SyncStore } from '../queue-operations.ts';
import { firstStateOf, hashOf } from '../rules/accept.ts';
import { type ReadyType, isInScope, isAmong, wasSeenAfter, type HandledType } from '../rules/processors.ts';
import type { Scope } from '../work.ts';
import { isPrunable } from '../rules/pruning.ts';
import { memoryClaims } from './memory-claims.ts';
import { type Entries, type Entry, MemoryHandling, fits } from './memory-events.ts';

/** What the operations of `queue-operations.ts` need, by looking through everything. */
export function memoryStore(entries: Entries): SyncStore {
  const handling = new MemoryHandling();
  return {
    counts: { count() {}, countType() {}, countMs() {} },
    ...memoryClaims(entries, handling),
    ...memoryAnnouncements(entries, handling),
    ...deliveries(entries),
    ...settledEvents(entries),
  };
}

function newEntry(
  entries: Entries,
  { endpoint, id, type, created, entity, verified, receivedAt, body, trace }: IncomingEvent,
  { state, deadReason, isFresh }: Pick<Entry, 'state' | 'deadReason' | 'isFresh'>,
): Entry {
  return {
    endpoint,
    id,
    type,
    created,
    entity,
    verified,
    state,
    deadReason,
    isFresh,
    isParked: false,
    yields: false,
    trace: trace ?? null,
    // A copy: the caller may reuse its buffer.
    body: Uint8Array.from(body),
    hash: null,
    seq: entries.all.length + 1,
    receivedAt: new Date(receivedAt),
    redeliveries: null,
    conflicts: null,
    otherBody: null,
    dueAt: receivedAt,
    settledAt: receivedAt,
    failures: 0,
    crashes: 0,
    fence: 0,
    claimedAt: 0,
    leaseUntil: 0,
    isLeased: false,
    isClosing: false,
    trigger: 'auto',
    attempts: [],
    attemptCount: 0,
  };
}

function deliveries(entries: Entries): Pick<SyncStore, 'insert' | 'known' | 'saveAgain'> {
  return {
    insert(event, first, lease) {
      if (entries.find(event) !== undefined) return null;
      const entry = newEntry(entries, event, first);
      if (lease !== undefined) {
        const { now: claimedAt, until: leaseUntil } = lease;
        Object.assign(entry, { fence: 1, attemptCount: 1, claimedAt, leaseUntil, isLeased: true });
      }
      entries.add(entry);
      return { seq: entry.seq, fence: entry.fence };
    },
    known(key) {
      const entry = entries.find(key);
      if (entry === undefined) throw new RangeError('the event of a known key is missing');
      return { ...entry, invalid: entry.deadReason === 'invalid' };
    },
    saveAgain({ event, beside, replacement, isVerified }) {
      const { seq, redeliveries, conflicts } = event;
      entries.change(seq, { redeliveries, conflicts });
      if (beside !== null) entries.change(seq, { otherBody: Uint8Array.from(beside) });
      if (isVerified) entries.change(seq, { verified: true });
      if (replacement === null) return;
      const entry = entries.at(seq);
      const { type, created, entity, verified, body, trace } = replacement;
      const { state, deadReason, isFresh } = firstStateOf(replacement);
      const about = { type, created, verified, body: Uint8Array.from(body), hash: null, trace: trace ?? entry.trace };
      const waiting = { isFresh, isParked: false, yields: false, failures: 0, crashes: 0 };
      entries.change(seq, { ...about, state, deadReason, ...waiting });
      entries.setEntity(entry, entity);
    },
  };
}

function settledEvents(entries: Entries): Pick<SyncStore, 'eventToRerun' | 'toPending' | 'prunable' | 'prune'> {
  return {
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
      const counted = { yields: false, failures: 0, crashes: 0 };
      const afresh = { state: 'pending', deadReason: null, ...counted, trigger: 'manual' } as const;
      entries.change(entry.seq, { ...afresh, type, created, dueAt: now });
      entries.setEntity(entry, entity);
    },
    prunable(endpoints, before, limit) {
      const scope: Scope = { endpoints, types: '*' };
      const old = entries.all.filter(
        ({ body, ...entry }) =>
          isPrunable({ ...entry, bytes: body?.byteLength ?? null }, 'processed', before) && isInScope(scope, entry),
      );
      return old.slice(0, limit).map(({ seq, body }) => ({ seq, bytes: body?.byteLength ?? 0 }));
    },
    prune(seqs) {
      for (const seq of seqs) {
        const { attempts, body } = entries.at(seq);
        for (const [index, attempt] of attempts.entries()) {
          const { skipped: _, error, ...rest } = attempt;
          attempts[index] = { ...rest, error: error && { name: error.name, message: '', stack: null } };
        }
        entries.change(seq, { body: null, hash: body && hashOf(body), conflicts: null, otherBody: null });
      }
    },
  };
}

type Part = Pick<
  SyncStore,
  | 'noteScope'
  | 'noteProcessor'
  | 'forgetProcessors'
  | 'forgetProcessor'
  | 'processorsAfter'
  | 'handledTypes'
  | 'isAnybodyThere'
  | 'parkedAfter'
  | 'readyTypes'
  | 'waitingOf'
  | 'ignore'
  | 'pendingTypes'
  | 'ignoredTypes'
>;

/** Announcements, and what waits by type. Operators pause types, and they do not look into memory. */
function memoryAnnouncements(entries: Entries, handling: MemoryHandling): Part {
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
    noteProcessor(processor) {
      handling.running = [...handling.running.filter(({ name }) => name !== processor.name), processor];
    },
    forgetProcessors(seenBy) {
      handling.running = handling.running.filter(({ seenAt }) => seenAt > seenBy);
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
        .map((entry) => {
          const isHandled = isAmong(handling.typesSeen(entry.endpoint, handledSince), entry.type);
          return { ...entry, bytes: bytesOf(entry), isHandled };
        }),
    readyTypes(endpoints, begin, gone, limit) {
      const types = new Map<string, ReadyType>();
      for (const { endpoint, type } of entries.ready()) {
        if (type === null || !isInScope({ endpoints, types: '*' }, { endpoint, type })) continue;
        if (wasSeenAfter(handling.lastSeen(endpoint, '*'), gone)) continue;
        const found = { endpoint, type, isPaused: false, lastSeen: handling.lastSeen(endpoint, type) };
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
          .map((entry) => ({ ...entry, type, bytes: bytesOf(entry) })),
      );
      const events = waiting.slice(0, limit);
      return { events, endedAt: events.length === limit ? (events.at(-1) ?? null) : null };
    },
    ignore(seqs, now) {
      for (const seq of seqs) entries.change(seq, { state: 'ignored', settledAt: now, isParked: false });
    },
    pendingTypes: () =>
      totalsOf(entries.all.filter(({ state }) => state === 'pending')).map((total) => ({
        ...total,
        isPaused: false,
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

function bytesOf({ body }: Entry): number {
  return body?.byteLength ?? 0;
}

/** How many there are of each endpoint and type, and when the first of them was due. */
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
