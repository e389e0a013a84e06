import type { Arrivals, Engine, EntityQueue, Reruns, Tombstones } from '../rules/engine.ts';
import { isPrunable } from '../rules/pruning.ts';
import { answer, DONE } from '../rules/steps.ts';
import { isInScope } from '../rules/takers.ts';
import type { Scope } from '../work.ts';
import type { Entries } from './memory-entry.ts';
import { memoryEntityQueue, memoryHandling } from './memory-handling.ts';
import { memoryTakers } from './memory-takers.ts';
import { memoryTypes } from './memory-types.ts';

/** What the rules ask for, carried out by looking through everything. */
export function memoryEngine(entries: Entries): Engine {
  const takers = memoryTakers();
  return {
    counts: { count() {}, countType() {}, countMs() {} },
    timeSlice: () => ({ add: () => false, isOver: () => false }),
    ...arrivals(entries),
    ...memoryHandling(entries, takers),
    ...memoryEntityQueue(entries),
    ...takers,
    ...memoryTypes(entries),
    ...removal(entries),
  };
}

function arrivals(entries: Entries): Omit<Arrivals, 'counts' | keyof EntityQueue> {
  return {
    insert(event, { state, deadReason, isFresh }) {
      if (entries.find(event) !== undefined) return answer(false);
      const { endpoint, id, type, created, entity, verified, receivedAt } = event;
      entries.add({
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
        // A copy: the caller may reuse its buffer.
        body: Uint8Array.from(event.body),
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
        trigger: 'auto',
        attempts: [],
        attemptCount: 0,
      });
      return answer(true);
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
    replace(seq, { type, created, entity, verified, body }, { state, deadReason, isFresh }) {
      const entry = entries.at(seq);
      const about = { type, created, verified, body: Uint8Array.from(body), hash: null };
      entries.change(seq, { ...about, state, deadReason, isFresh, isParked: false, failures: 0, crashes: 0 });
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
      const afresh = { state: 'pending', deadReason: null, failures: 0, crashes: 0, trigger: 'manual' } as const;
      entries.change(entry.seq, { ...afresh, type, created, dueAt: now });
      entries.setEntity(entry, entity);
      return DONE;
    },
    prunable(endpoints, before, limit) {
      const scope: Scope = { endpoints, types: '*' };
      const old = entries.all.filter((entry) => isPrunable(entry, 'processed', before) && isInScope(scope, entry));
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
        const error = attempt.error && { name: attempt.error.name, message: '', stack: null };
        attempts[index] = { ...attempt, error };
      }
      return DONE;
    },
    forgetConflict(seq) {
      entries.change(seq, { conflicts: null, otherBody: null });
      return DONE;
    },
  };
}
