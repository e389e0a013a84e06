import type { Instant } from '../../events/instant.ts';
import { MANY_FRESH } from '../rules/accept-event.ts';
import { YIELDING_BATCH } from '../rules/entity-order.ts';
import type { Claims, EntityQueue, Front, Queue, RunningEvent, Starts } from '../rules/engine.ts';
import { arrivedBy, latestTime, movedBack, setBackBy } from '../rules/set-back.ts';
import { answer, DONE } from '../rules/steps.ts';
import { isInScope } from '../rules/takers.ts';
import { entityOf, type Entries, type Entry } from './memory-entry.ts';

/**
 * Processors take events, hold them, and say how their attempts ended.
 *
 * @param setBack - of whoever was seen, when the clock was set back
 */
export function memoryHandling(
  entries: Entries,
  setBack: (now: number, back: number) => void,
): Omit<Claims, 'counts' | keyof EntityQueue> & Pick<Starts, 'ahead'> {
  /** the newest of each entity that was processed */
  const highWater = new Map<string, Instant>();
  let latest = 0;
  const leased = (): Entry[] => entries.all.filter(isLeased);

  return {
    noteTime(now) {
      latest = latestTime(latest, now);
      return DONE;
    },
    followClock({ now, leaseMs }) {
      const back = setBackBy(latest, now);
      latest = back > 0 ? latestTime(0, now) : latestTime(latest, now);
      if (back === 0) return answer(false);
      setBack(now, back);
      for (const entry of entries.all) {
        if (isLeased(entry)) entry.leaseUntil = movedBack(entry.leaseUntil, back, now + leaseMs);
        else if (entry.state === 'pending' && !entry.isFresh) entry.dueAt = movedBack(entry.dueAt, back, now);
      }
      return answer(false);
    },
    ahead(event) {
      const mark = event.entity === null ? undefined : highWater.get(entityOf(event));
      const isOfIt = (entry: Entry): boolean => event.entity !== null && isOfEntity(entry, event);
      return answer({
        isCrowded: entries.all.filter(({ isFresh }) => isFresh).length >= MANY_FRESH,
        isPaused: false,
        isEntityBusy: entries.all.some((entry) => isOfIt(entry) && (isLeased(entry) || entry.state === 'pending')),
        isSuperseded: mark !== undefined && event.created !== null && compare(mark, event.created) > 0,
        latest,
        isMovingBack: false,
      });
    },
    newestSeq: () => answer(entries.all.length),
    lookAtFresh({ now, upTo }) {
      for (const entry of entries.all) {
        if (!entry.isFresh || entry.seq > upTo) continue;
        entry.isFresh = false;
        entry.dueAt = arrivedBy(entry.dueAt, now);
      }
      return answer(false);
    },
    isSuspectRunning: () => answer(leased().some(({ crashes }) => crashes > 0)),
    candidates(request, suspects, limit) {
      const due = entries
        .ready()
        .filter((entry) => entry.dueAt <= request.now && (suspects || entry.crashes === 0) && isInScope(request, entry))
        .filter(({ type }) => !request.except.includes(type ?? ''))
        .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
      return answer(due.slice(0, limit).map((entry) => ({ ...entry, bytes: bytesOf(entry) })));
    },
    eventToRun(key) {
      const entry = entries.find(key);
      if (entry === undefined) return answer(undefined);
      const isInvalid = entry.deadReason === 'invalid';
      return answer({ ...entry, bytes: bytesOf(entry), isInvalid, isPruned: entry.body === null });
    },
    isSuperseded(event) {
      const newest = highWater.get(entityOf(event));
      return answer(newest !== undefined && event.created !== null && compare(newest, event.created) > 0);
    },
    claim(seqs, now, until) {
      const claimed = seqs.map((seq) => {
        const entry = entries.at(seq);
        const { fence, attemptCount, endpoint, id, body, verified, receivedAt, failures, trace } = entry;
        const lease = { seq, fence: fence + 1 };
        const attempt = attemptCount + 1;
        entries.change(seq, { state: 'processing', deadReason: null, isFresh: false, isParked: false });
        entries.change(seq, {
          fence: lease.fence,
          attemptCount: attempt,
          claimedAt: now,
          leaseUntil: until,
          isLeased: true,
          isClosing: false,
        });
        const told = { lease, endpoint, id, body: body ?? new Uint8Array(), verified, receivedAt, attempt, failures };
        return { ...told, ...(trace !== null && { trace }) };
      });
      return answer(claimed);
    },
    // No answer of its is lost, so nobody asks for what was done and not heard of.
    claimedUnder: () => answer([]),
    foundBy: () => answer([]),
    outcomeUnder: () => answer(undefined),
    renew({ seq, fence }, until, isClosing) {
      const entry = entries.all[seq - 1];
      if (entry?.isLeased !== true || entry.fence !== fence) return answer(false);
      entry.leaseUntil = until;
      entry.isClosing = isClosing;
      return answer(true);
    },
    ranOut(by, limit, key) {
      const before = key && entries.find(key);
      const ranOut = leased().filter(
        (entry) =>
          entry.leaseUntil <= by &&
          (key === undefined || entry === before || (before !== undefined && isOfEntity(entry, before))),
      );
      return answer(
        ranOut.slice(0, limit).map((entry) => ({
          ...runningOf(entry),
          id: entry.id,
          crashes: entry.crashes,
          bytes: bytesOf(entry),
        })),
      );
    },
    held({ seq, fence }) {
      const entry = entries.all[seq - 1];
      return answer(entry?.isLeased === true && entry.fence === fence ? runningOf(entry) : undefined);
    },
    end(seq, ending, now) {
      const entry = entries.at(seq);
      entry.isLeased = false;
      entry.state = ending.state;
      entry.trigger = 'auto';
      entry.failures += ending.failed;
      entry.crashes += ending.crashed;
      if (ending.state === 'pending') {
        entry.dueAt = ending.dueAt;
        entry.yields = ending.yields ?? entry.yields;
      } else {
        entry.settledAt = now;
        entry.yields = false;
      }
      if (ending.state === 'dead') entry.deadReason = ending.deadReason;
      return DONE;
    },
    processedUnderLease(seq, now) {
      entries.change(seq, { state: 'processed', trigger: 'auto', settledAt: now, yields: false });
      return DONE;
    },
    endLease(seq) {
      entries.at(seq).isLeased = false;
      return DONE;
    },
    noteLateError({ seq, fence }, error) {
      const entry = entries.all[seq - 1];
      const last = entry?.body === null ? undefined : entry?.attempts.at(-1);
      if (entry?.fence === fence && last !== undefined) entry.attempts[entry.attempts.length - 1] = { ...last, error };
      return DONE;
    },
    addAttempt({ seq, attempt: number, trigger, claimedAt }, { outcome, error, skipped }, now) {
      const times = { startedAt: new Date(claimedAt), endedAt: new Date(now) };
      const why = skipped === undefined ? {} : { skipped };
      entries.at(seq).attempts.push({ number, trigger, outcome, ...times, error, ...why });
      return DONE;
    },
    raiseHighWater(event) {
      const before = highWater.get(entityOf(event));
      const { created } = event;
      if (created !== null && (!before || compare(before, created) < 0)) highWater.set(entityOf(event), created);
      return DONE;
    },
  };
}

/** What waits of one entity. */
export function memoryEntityQueue(entries: Entries): Omit<EntityQueue, 'timeSlice' | 'takenTypes' | 'pauses'> {
  const waiting = (queue: Queue): Entry[] =>
    entries
      .ofEntity(queue)
      .filter((entry) => entry.state === 'pending' && !entry.isFresh)
      .toSorted((a, b) => order(a, b));

  return {
    hasLease: (queue) => answer(entries.ofEntity(queue).some(isLeased)),
    front: (queue) => answer(frontOf(waiting(queue).find(({ yields }) => !yields))),
    frontOfTypes: (queue, types) =>
      answer(frontOf(waiting(queue).find(({ type, yields }) => !yields && types.includes(type ?? '')))),
    park(seq) {
      entries.at(seq).isParked = true;
      return DONE;
    },
    unpark(seq) {
      const entry = entries.at(seq);
      if (!entry.isParked) return answer(undefined);
      entry.isParked = false;
      return answer(bytesOf(entry));
    },
    parkedUpTo(queue, last, limit) {
      const first = waiting(queue).filter((entry) => last === undefined || order(entry, last) <= 0);
      return answer(first.slice(0, limit).flatMap(({ seq, isParked }) => (isParked ? seq : [])));
    },
    nextOf(queue) {
      const all = waiting(queue);
      const yielding = all.filter((entry) => entry.isParked && entry.yields).map(({ seq }) => seq);
      return answer({ front: frontOf(all.find(({ yields }) => !yields)), yielding: yielding.slice(0, YIELDING_BATCH) });
    },
  };
}

function runningOf(entry: Entry): RunningEvent {
  const {
    seq,
    fence,
    endpoint,
    type,
    entity,
    created,
    attemptCount: attempt,
    trigger,
    claimedAt,
    state,
    isClosing,
  } = entry;
  const isProcessed = state === 'processed';
  return { seq, fence, endpoint, type, entity, created, attempt, trigger, claimedAt, isProcessed, isClosing };
}

function isLeased(entry: Entry): boolean {
  return entry.isLeased;
}

function frontOf(entry: Entry | undefined): Front | undefined {
  // What is pending has a type and a time.
  if (entry === undefined || entry.created === null) return undefined;
  return { seq: entry.seq, type: entry.type ?? '', created: entry.created };
}

function bytesOf({ body }: Entry): number {
  return body?.byteLength ?? 0;
}

function isOfEntity(entry: Entry, { endpoint, entity }: Queue): boolean {
  return entity !== null && entry.entity === entity && entry.endpoint === endpoint;
}

type Placed = Pick<Entry, 'seq' | 'created'>;

function order(a: Placed, b: Placed): number {
  return (a.created && b.created ? compare(a.created, b.created) : 0) || a.seq - b.seq;
}

function compare(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.ns - b.ns;
}
