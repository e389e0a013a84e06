import type { SyncStore } from '../queue-operations.ts';
import { MANY_FRESH } from '../rules/accept.ts';
import { arrivedBy, latestTime, movedBack, setBackBy } from '../rules/claim.ts';
import { isAmong, isInScope } from '../rules/processors.ts';
import type { Scope } from '../work.ts';
import type { Instant } from '../../events/instant.ts';
import { isBefore, PASSED_BATCH, YIELDING_BATCH } from '../rules/entity-order.ts';
import {
  NOTHING_NEXT,
  type Change,
  type ClaimState,
  type Front,
  type HeldEvent,
  type NextInQueue,
  type Queue,
  type RunningEvent,
  type Store,
} from '../rules/store.ts';
import { entityOf, type Entries, type Entry, type MemoryHandling } from './memory-events.ts';

/** Claims and settlements, by looking through all events. */
export function memoryClaims(
  entries: Entries,
  handling: MemoryHandling,
): Store<'sync'> & Pick<SyncStore, 'ahead' | 'nextInQueues'> {
  /** the newest processed event of each entity */
  const highWater = new Map<string, Instant>();
  let latest = 0;

  const isSuperseded = ({ endpoint, entity, created }: Queue & { readonly created: Instant | null }): boolean => {
    const mark = entity === null ? undefined : highWater.get(entityOf({ endpoint, entity }));
    return mark !== undefined && created !== null && compare(mark, created) > 0;
  };
  const hasLease = (queue: Queue): boolean => entries.ofEntity(queue).some(({ isLeased }) => isLeased);
  /** what waits of one entity, in order */
  const waiting = (queue: Queue): Entry[] =>
    entries
      .ofEntity(queue)
      .filter((entry) => entry.state === 'pending' && !entry.isFresh)
      .toSorted(inOrder);
  const frontAmong = (queue: Queue, types: Scope['types']) =>
    frontOf(waiting(queue).find(({ yields, type }) => !yields && isAmong(types, type)));

  function nextInQueue(queue: Queue, handledSince: number): NextInQueue {
    const all = waiting(queue);
    const front = frontAmong(queue, handling.typesSeen(queue.endpoint, handledSince));
    const passed = all.filter((entry) => front === undefined || isBefore(entryFront(entry), front));
    const parked = ({ isParked }: Entry): boolean => isParked;
    return {
      front,
      passed: passed.slice(0, PASSED_BATCH).filter(parked).map(sized),
      yielding: all
        .filter((entry) => entry.isParked && entry.yields)
        .slice(0, YIELDING_BATCH)
        .map(sized),
    };
  }

  const noteTime = (now: number): void => {
    latest = latestTime(latest, now);
  };
  const unpark = (seqs: readonly number[]): void => {
    for (const seq of seqs) entries.at(seq).isParked = false;
  };
  function indexNew(now: number, upTo: number): false {
    for (const entry of entries.all) {
      if (!entry.isFresh || entry.seq > upTo) continue;
      entry.isFresh = false;
      entry.dueAt = arrivedBy(entry.dueAt, now);
    }
    return false;
  }
  function raiseHighWater({ created, ...queue }: Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>): void {
    const before = highWater.get(entityOf(queue));
    if (created !== null && (!before || compare(before, created) < 0)) highWater.set(entityOf(queue), created);
  }
  const withNext = (entry: Entry, handledSince: number | null): HeldEvent => {
    const event = runningOf(entry);
    if (handledSince === null) return { ...event, next: NOTHING_NEXT, holdsBack: false };
    const holdsBack = isAmong(handling.typesSeen(event.endpoint, handledSince), event.type);
    return { ...event, next: nextInQueue(event, handledSince), holdsBack };
  };
  const under = ({ seq, fence }: { seq: number; fence: number }): Entry | undefined => {
    const entry = entries.all[seq - 1];
    return entry?.isLeased === true && entry.fence === fence ? entry : undefined;
  };

  const claimState = (): ClaimState => ({
    pauses: [],
    isSuspectRunning: entries.all.some(({ isLeased, crashes }) => isLeased && crashes > 0),
  });

  const store: ReturnType<typeof memoryClaims> = {
    ahead(event) {
      const isBusy = ({ isLeased, state }: Entry): boolean => isLeased || state === 'pending';
      return {
        isCrowded: entries.all.filter(({ isFresh }) => isFresh).length >= MANY_FRESH,
        isPaused: false,
        isEntityBusy: entries.ofEntity(event).some(isBusy),
        isSuperseded: isSuperseded(event),
        latest,
        isMovingBack: false,
      };
    },
    nextInQueues: (queues, handledSince) => queues.map((queue) => nextInQueue(queue, handledSince)),
    noteTime,
    newestSeq: () => entries.all.length,
    indexNew,
    followClock({ now, leaseMs }) {
      const back = setBackBy(latest, now);
      latest = latestTime(0, now);
      handling.setBack(now, back);
      for (const entry of entries.all) {
        if (entry.isLeased) entry.leaseUntil = movedBack(entry.leaseUntil, back, now + leaseMs);
        else if (entry.state === 'pending' && !entry.isFresh) entry.dueAt = movedBack(entry.dueAt, back, now);
      }
      return false;
    },
    startClaim({ now, expiredBy, limit, onlyFor: key, handledSince }) {
      const before = key && entries.find(key);
      const isMeant = (entry: Entry): boolean =>
        key === undefined || entry === before || (before !== undefined && isOfEntity(entry, before));
      const expired = entries.all.filter((entry) => entry.isLeased && entry.leaseUntil <= expiredBy && isMeant(entry));
      return {
        isSetBack: setBackBy(latest, now) > 0,
        ...claimState(),
        // Here no answer is ever lost.
        lost: [],
        crashed: [],
        expired: expired.slice(0, limit).map((entry) => {
          const { id, crashes } = entry;
          return { ...withNext(entry, handledSince), id, crashes, bytes: bytesOf(entry) };
        }),
      };
    },
    claimState,
    due({ endpoints, types, except, handles, now, includeSuspects, limit, handledSince }) {
      const holding = (endpoint: string): Scope['types'] => {
        const taken = handling.typesSeen(endpoint, handledSince);
        return handles === '*' || taken === '*' ? '*' : [...handles, ...taken];
      };
      const all = entries
        .ready()
        .filter((entry) => entry.dueAt <= now && (includeSuspects || entry.crashes === 0))
        .filter((entry) => isInScope({ endpoints, types }, entry) && !except.includes(entry.type ?? ''))
        .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
      return {
        isAll: all.length <= limit,
        events: all.slice(0, limit).map((entry) => ({
          ...entry,
          bytes: bytesOf(entry),
          hasLease: hasLease(entry),
          front: frontAmong(entry, holding(entry.endpoint)),
          isSuperseded: isSuperseded(entry),
        })),
      };
    },
    eventToRun(key) {
      const entry = entries.find(key);
      if (entry === undefined) return undefined;
      return {
        ...entry,
        bytes: bytesOf(entry),
        hasLease: hasLease(entry),
        isSuperseded: isSuperseded(entry),
        isInvalid: entry.deadReason === 'invalid',
        isPruned: entry.body === null,
      };
    },
    lease: (events, { now, until }) =>
      events.map(({ seq }) => {
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
        const event = { lease, endpoint, id, body: body ?? new Uint8Array(), verified, receivedAt, attempt, failures };
        return { ...event, ...(trace !== null && { trace }) };
      }),
    held: (leases, handledSince) =>
      leases.map((lease) => {
        const entry = under(lease);
        return entry && withNext(entry, handledSince);
      }),
    outcomesUnder: (leases) => leases.map(() => undefined),
    renew: (leases, until, isClosing) =>
      leases.filter((lease) => {
        const entry = under(lease);
        if (entry !== undefined) Object.assign(entry, { leaseUntil: until, isClosing });
        return entry !== undefined;
      }),
    apply(changes) {
      for (const change of changes) applyOne(entries, change);
      for (const change of changes) {
        if (change.kind === 'unparked') unpark(change.seqs);
        if (change.kind === 'attempt ended' && change.supersedes) raiseHighWater(change.event);
      }
    },
  };
  return store;
}

function applyOne(entries: Entries, change: Change): void {
  switch (change.kind) {
    case 'attempt ended':
      endAttempt(entries.at(change.event.seq), change);
      break;
    case 'lease ended':
      entries.at(change.seq).isLeased = false;
      break;
    case 'lease renewed':
      entries.at(change.lease.seq).leaseUntil = change.until;
      break;
    case 'late error': {
      const { lease, error } = change;
      const entry = entries.all[lease.seq - 1];
      const last = entry?.body === null ? undefined : entry?.attempts.at(-1);
      if (entry?.fence === lease.fence && last !== undefined) {
        entry.attempts[entry.attempts.length - 1] = { ...last, error };
      }
      break;
    }
    case 'parked':
      for (const seq of change.seqs) entries.at(seq).isParked = true;
      break;
    case 'unparked':
      break;
  }
}

function endAttempt(
  entry: Entry,
  { event, ending, now, keepsLease }: Extract<Change, { kind: 'attempt ended' }>,
): void {
  entry.isLeased = keepsLease;
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
  const { outcome, error, skipped } = ending;
  const times = { startedAt: new Date(event.claimedAt), endedAt: new Date(now) };
  const why = skipped === undefined ? {} : { skipped };
  entry.attempts.push({ number: event.attempt, trigger: event.trigger, outcome, ...times, error, ...why });
}

function runningOf(entry: Entry): RunningEvent {
  const { seq, fence, endpoint, type, entity, created, attemptCount: attempt, trigger, claimedAt } = entry;
  const { state, isClosing, yields } = entry;
  const about = { seq, fence, endpoint, type, entity, created, attempt, trigger, claimedAt, yields, isClosing };
  // A function in `ctx.transaction` has no database here, so it cannot commit.
  return { ...about, hasEffect: false, isProcessed: state === 'processed' };
}

function frontOf(entry: Entry | undefined): (Front & { readonly bytes: number }) | undefined {
  return entry && { ...entryFront(entry), bytes: bytesOf(entry) };
}

/** A pending event has a type and a time. */
function entryFront({ seq, type, created }: Entry): Front {
  return { seq, type: type ?? '', created: created ?? { ms: 0, ns: 0 } };
}

function sized(entry: Entry) {
  return { seq: entry.seq, bytes: bytesOf(entry) };
}

function bytesOf({ body }: Entry): number {
  return body?.byteLength ?? 0;
}

function isOfEntity(entry: Entry, { endpoint, entity }: Queue): boolean {
  return entity !== null && entry.entity === entity && entry.endpoint === endpoint;
}

function inOrder(a: Entry, b: Entry): number {
  return (a.created && b.created ? compare(a.created, b.created) : 0) || a.seq - b.seq;
}

function compare(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.ns - b.ns;
}
