import type { Engine, EntityQueue, Reruns, Starts, Tombstones } from '../rules/engine.ts';
import type { IncomingEvent } from '../event.ts';
import { isPrunable } from '../rules/pruning.ts';
import { answer, DONE } from '../rules/steps.ts';
import type { Store } from '../rules/store.ts';
import { isInScope } from '../rules/takers.ts';
import type { Scope } from '../work.ts';
import type { Entries, Entry } from './memory-entry.ts';
import { memoryClaims } from './memory-claims.ts';
import { memoryProcessors } from './memory-processors.ts';
import { memoryTakers } from './memory-takers.ts';
import { memoryTypes } from './memory-types.ts';

/** What the rules ask for, carried out by looking through everything. */
export function memoryEngine(entries: Entries): { readonly engine: Engine & Starts; readonly store: Store<'sync'> } {
  const takers = memoryTakers();
  const processors = memoryProcessors();
  const claims = memoryClaims(entries, takers, (now, back) => {
    takers.setBack(now, back);
    processors.setProcessorsBack(now, back);
  });
  const engine: Engine & Starts = {
    counts: { count() {}, countType() {}, countMs() {} },
    timeSlice: () => ({ add: () => false, isOver: () => false }),
    ...arrivals(entries),
    ...claims.engine,
    ...takers,
    ...processors,
    ...memoryTypes(entries),
    ...removal(entries),
  };
  return { engine, store: claims.store };
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

function arrivals(entries: Entries): Omit<Starts, 'counts' | 'timeSlice' | 'ahead' | 'noteTime' | keyof EntityQueue> {
  return {
    insert(event, first) {
      if (entries.find(event) !== undefined) return answer(false);
      entries.add(newEntry(entries, event, first));
      return answer(true);
    },
    insertRunning(event, { now, until }) {
      if (entries.find(event) !== undefined) return answer(null);
      const entry = newEntry(entries, event, { state: 'processing', deadReason: null, isFresh: false });
      const lease = { fence: 1, attemptCount: 1, claimedAt: now, leaseUntil: until, isLeased: true };
      entries.add({ ...entry, ...lease });
      return answer({ seq: entry.seq, fence: lease.fence });
    },
    known(key) {
      const entry = entries.find(key);
      if (entry === undefined) throw new RangeError('a key is known only when its event could not be stored');
      const { seq, entity, state, deadReason, verified, body, hash } = entry;
      return answer({ seq, entity, state, invalid: deadReason === 'invalid', verified, body, hash });
    },
    markVerified(seq) {
      entries.at(seq).verified = true;
      return DONE;
    },
    replace(seq, { type, created, entity, verified, body, trace }, { state, deadReason, isFresh }) {
      const entry = entries.at(seq);
      const about = { type, created, verified, body: Uint8Array.from(body), hash: null, trace: trace ?? entry.trace };
      entries.change(seq, {
        ...about,
        state,
        deadReason,
        isFresh,
        isParked: false,
        yields: false,
        failures: 0,
        crashes: 0,
      });
      entries.setEntity(entry, entity);
      return DONE;
    },
    redeliveries: (seq) => answer(entries.at(seq).redeliveries),
    saveRedeliveries(seq, times) {
      entries.at(seq).redeliveries = times;
      return DONE;
    },
    conflicts: (seq) => answer(entries.at(seq).conflicts),
    saveConflict(seq, times, body) {
      entries.change(seq, { conflicts: times, otherBody: Uint8Array.from(body) });
      return DONE;
    },
  };
}

function removal(entries: Entries): Omit<Reruns & Tombstones, 'counts' | 'timeSlice' | 'noteTime'> {
  return {
    eventToRerun(key, readFrom) {
      const entry = entries.find(key);
      if (entry === undefined) return answer(undefined);
      const { state, body } = entry;
      const isAsRead = readFrom === undefined || (body !== null && Buffer.compare(body, readFrom) === 0);
      return answer({ state, isPruned: body === null, isAsRead });
    },
    toPending(key, { type, created, entity }, now) {
      const entry = entries.find(key);
      if (entry === undefined) return DONE;
      const counted = { yields: false, failures: 0, crashes: 0 };
      const afresh = { state: 'pending', deadReason: null, ...counted, trigger: 'manual' } as const;
      entries.change(entry.seq, { ...afresh, type, created, dueAt: now });
      entries.setEntity(entry, entity);
      return DONE;
    },
    prunable(endpoints, before, limit) {
      const scope: Scope = { endpoints, types: '*' };
      const old = entries.all.filter(
        ({ body, ...entry }) =>
          isPrunable({ ...entry, bytes: body?.byteLength ?? null }, 'processed', before) && isInScope(scope, entry),
      );
      return answer(old.slice(0, limit).map(({ seq }) => seq));
    },
    bodyOf: (seq) => answer(entries.at(seq).body ?? new Uint8Array()),
    prune(seq, hash) {
      entries.change(seq, { body: null, hash });
      return DONE;
    },
    pruneErrors(seq) {
      const { attempts } = entries.at(seq);
      for (const [index, attempt] of attempts.entries()) {
        const { skipped: _, error, ...rest } = attempt;
        attempts[index] = { ...rest, error: error && { name: error.name, message: '', stack: null } };
      }
      return DONE;
    },
    forgetConflict(seq) {
      entries.change(seq, { conflicts: null, otherBody: null });
      return DONE;
    },
  };
}
