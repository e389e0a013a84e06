import type { IncomingEvent } from '../event.ts';
import { firstStateOf, hashOf } from '../rules/accept.ts';
import { isPrunable } from '../rules/pruning.ts';
import type { SyncStore } from '../queue-operations.ts';
import { isInScope } from '../rules/processors.ts';
import type { Scope } from '../work.ts';
import type { Entries, Entry } from './memory-entry.ts';
import { memoryClaims } from './memory-claims.ts';
import { memoryAnnouncements, MemoryHandling } from './memory-announcements.ts';

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
