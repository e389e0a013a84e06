import type { Instant } from '../../events/instant.ts';
import type { SyncStore } from '../queue-operations.ts';
import { MANY_FRESH } from '../rules/accept.ts';
import { arrivedBy, latestTime, movedBack, setBackBy } from '../rules/claim.ts';
import { othersOf, supersededBy } from '../rules/latest.ts';
import { isBefore, PASSED_BATCH, YIELDING_BATCH } from '../rules/entity-order.ts';
import { planBreaker, type BreakerReport } from '../rules/breakers.ts';
import { isPaused, planHandlersPause, type StoredPause } from '../rules/pauses.ts';
import { ratesIn, type StoredRate } from '../rules/rates.ts';
import { isAmong, isInScope } from '../rules/processors.ts';
import {
  NOTHING_NEXT,
  type Change,
  type ClaimState,
  type DueEvent,
  type Front,
  type HeldEvent,
  type NextInQueue,
  type Queue,
  type SizedEvent,
  type Store,
} from '../rules/store.ts';
import type { BreakerNews, Lease, Scope } from '../work.ts';
import type { Entries, Entry, MemoryHandling } from './memory-events.ts';

type Part = Store<'sync'> & Pick<SyncStore, 'ahead' | 'indexArrivals'>;

export function memoryClaims(entries: Entries, handling: MemoryHandling): Part {
  const { pauses } = handling;
  /** the newest processed event of each entity */
  const highWater = new Map<string, Instant>();
  let rates: readonly StoredRate[] = [];
  /** failures in a row of types with a breaker */
  const inARow = new Map<string, number>();
  const movePause = (from: StoredPause | null, to: StoredPause | null): void => {
    if (from !== null) pauses.splice(pauses.indexOf(from), 1);
    if (to !== null) pauses.push(to);
  };
  let latest = 0;

  const queueName = ({ endpoint, entity }: Queue): string => JSON.stringify([endpoint, entity]);
  const isSuperseded = (event: Queue & { readonly created: Instant | null }): boolean => {
    const mark = event.entity === null ? undefined : highWater.get(queueName(event));
    return mark !== undefined && event.created !== null && compare(mark, event.created) > 0;
  };
  const hasLease = (queue: Queue): boolean => entries.ofEntity(queue).some(({ isLeased }) => isLeased);
  const waiting = (queue: Queue): readonly Entry[] =>
    entries
      .ofEntity(queue)
      .filter((entry) => entry.state === 'pending' && !entry.isFresh)
      .toSorted((a, b) => (a.created && b.created ? compare(a.created, b.created) : 0) || a.seq - b.seq);
  const frontAmong = (queue: Queue, types: Scope['types']): (Front & SizedEvent) | undefined => {
    const entry = waiting(queue).find(({ yields, type }) => !yields && isAmong(types, type));
    return entry && frontOf(entry);
  };

  function nextInQueue(queue: Queue, handledSince: number): NextInQueue {
    const all = waiting(queue);
    const front = frontAmong(queue, handling.typesSeen(queue.endpoint, handledSince));
    const passed = all.filter((entry) => front === undefined || isBefore(frontOf(entry), front));
    return {
      front,
      passed: passed.slice(0, PASSED_BATCH).filter(({ isParked }) => isParked),
      yielding: all.filter(({ isParked, yields }) => isParked && yields).slice(0, YIELDING_BATCH),
    };
  }

  const withNext = (entry: Entry, handledSince: number | null): HeldEvent => {
    // A function in `ctx.transaction` has no database here, so it cannot commit.
    const event = { ...entry, hasEffect: false, isProcessed: entry.state === 'processed' };
    if (handledSince === null) return { ...event, next: NOTHING_NEXT, holdsBack: false };
    const holdsBack = isAmong(handling.typesSeen(entry.endpoint, handledSince), entry.type);
    return { ...event, next: nextInQueue(entry, handledSince), holdsBack };
  };
  const under = ({ seq, fence }: Lease): Entry | undefined => {
    const entry = entries.all[seq - 1];
    return entry?.isLeased === true && entry.fence === fence ? entry : undefined;
  };
  const holdingTypes = (endpoint: string, handles: Scope['types'], handledSince: number): Scope['types'] => {
    const taken = handling.typesSeen(endpoint, handledSince);
    return handles === '*' || taken === '*' ? '*' : [...handles, ...taken];
  };
  const dueOf = ({ seq, endpoint, type, entity, created, crashes, bytes, trigger }: Entry): DueEvent => {
    const event = { seq, endpoint, type, entity, created, crashes, bytes, trigger };
    return { ...event, hasLease: false, front: undefined, isSuperseded: isSuperseded(event) };
  };
  const claimState = (): ClaimState => ({
    pauses: [...pauses],
    isSuspectRunning: entries.all.some(({ isLeased, crashes }) => isLeased && crashes > 0),
  });

  function indexNew(now: number, upTo: number): boolean {
    for (const { seq, isFresh, dueAt } of entries.all.slice(0, upTo)) {
      if (isFresh) entries.change(seq, { isFresh: false, dueAt: arrivedBy(dueAt, now) });
    }
    return false;
  }

  function apply(change: Change, news: Map<BreakerReport, BreakerNews>): void {
    switch (change.kind) {
      case 'attempt ended': {
        const { event, supersedes } = change;
        endAttempt(entries.at(event.seq), change);
        const before = highWater.get(queueName(event));
        const isNewest = event.created !== null && (before === undefined || compare(before, event.created) < 0);
        if (supersedes && isNewest) highWater.set(queueName(event), event.created);
        break;
      }
      case 'lease ended':
        entries.change(change.seq, { isLeased: false });
        break;
      case 'lease renewed':
        entries.change(change.lease.seq, { leaseUntil: change.until });
        break;
      case 'late error': {
        const { fence, body, attempts } = entries.at(change.lease.seq);
        const last = attempts.pop();
        const isSame = fence === change.lease.fence && body !== null;
        const { error, log = last?.log } = change;
        if (last !== undefined) attempts.push(isSame ? { ...last, error, ...(log !== undefined && { log }) } : last);
        break;
      }
      case 'parked':
      case 'unparked':
        for (const seq of change.seqs) entries.change(seq, { isParked: change.kind === 'parked' });
        break;
      case 'superseded':
        for (const seq of change.seqs) supersede(entries.at(seq), change);
        break;
      case 'postponed':
        for (const { seq, dueAt } of change.events) entries.change(seq, { dueAt });
        break;
      case 'type paused': {
        const known = pauses.find((pause) => isPaused([pause], change.requested)) ?? null;
        const plan = planHandlersPause(known, change.requested);
        if (plan !== null) movePause(known, plan.pause);
        break;
      }
      case 'pauses ended':
        handling.movePauses((until) => (until > change.now ? until : null));
        break;
      case 'attempt reported': {
        const { report } = change;
        const key = JSON.stringify([report.endpoint, report.type]);
        const pause = pauses.find((each) => isPaused([each], report)) ?? null;
        const plan = planBreaker({ failures: inARow.get(key) ?? 0, pause }, report);
        if (plan.failures === 0) inARow.delete(key);
        else inARow.set(key, plan.failures);
        movePause(pause, plan.pause);
        if (plan.news !== null) news.set(report, plan.news);
        break;
      }
      case 'probe begun': {
        const { probe } = change;
        const pause = pauses.find((each) => isPaused([each], probe));
        if (pause !== undefined) movePause(pause, { ...pause, until: new Date(probe.until) });
        break;
      }
      case 'attempts begun': {
        const { endpoint, type } = change.rate;
        rates = [...rates.filter((rate) => rate.endpoint !== endpoint || rate.type !== type), change.rate];
        break;
      }
    }
  }

  return {
    ahead(event) {
      return {
        isCrowded: entries.all.filter(({ isFresh }) => isFresh).length >= MANY_FRESH,
        isPaused: isPaused(pauses, event),
        isEntityBusy: entries.ofEntity(event).some(({ isLeased, state }) => isLeased || state === 'pending'),
        isSuperseded: isSuperseded(event),
        latest,
        isMovingBack: false,
      };
    },
    nextInQueues: (queues, handledSince) => queues.map((queue) => nextInQueue(queue, handledSince)),
    noteTime(now) {
      latest = latestTime(latest, now);
    },
    newestSeq: () => entries.all.length,
    indexNew,
    indexArrivals: (now) => indexNew(now, entries.all.length),
    followClock({ now, leaseMs }) {
      const back = setBackBy(latest, now);
      latest = latestTime(0, now);
      handling.setBack(now, back);
      handling.movePauses((until) => movedBack(until, back, now));
      for (const entry of entries.all) {
        if (entry.isLeased) entry.leaseUntil = movedBack(entry.leaseUntil, back, now + leaseMs);
        else if (entry.state === 'pending' && !entry.isFresh) entry.dueAt = movedBack(entry.dueAt, back, now);
      }
      return false;
    },
    startClaim({ now, expiredBy, limit, onlyFor: key, handledSince }) {
      const meant = key && entries.find(key);
      const isMeant = (entry: Entry): boolean =>
        key === undefined || entry === meant || (meant !== undefined && entries.ofEntity(meant).includes(entry));
      const expired = entries.all.filter((entry) => entry.isLeased && entry.leaseUntil <= expiredBy && isMeant(entry));
      return {
        isSetBack: setBackBy(latest, now) > 0,
        ...claimState(),
        lost: [],
        crashed: [],
        expired: expired.slice(0, limit).map((entry) => {
          const { id, crashes, bytes } = entry;
          return { ...withNext(entry, handledSince), id, crashes, bytes };
        }),
      };
    },
    claimState,
    rates({ endpoints, types }) {
      const ready = () => [...new Set(entries.ready().map(({ endpoint }) => endpoint))];
      return ratesIn(endpoints === '*' ? ready() : endpoints, types, rates);
    },
    lockProbes: (types) => types,
    due({ endpoints, types, except, handles, now, includeSuspects, limit, handledSince, closed }) {
      const all = entries
        .ready()
        .filter((entry) => entry.dueAt <= now && (includeSuspects || entry.crashes === 0))
        .filter((entry) => isInScope({ endpoints, types }, entry) && !except.includes(entry.type ?? ''))
        .filter((entry) => !isPaused(closed, entry))
        .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
      return {
        isAll: all.length <= limit,
        events: all.slice(0, limit).map((entry) => ({
          ...dueOf(entry),
          hasLease: hasLease(entry),
          front: frontAmong(entry, holdingTypes(entry.endpoint, handles, handledSince)),
        })),
      };
    },
    bursts: (events, { handles, handledSince }) =>
      events.map(({ seq }) => {
        const { endpoint, entity, type } = entries.at(seq);
        const queue = { endpoint, entity };
        const all = waiting(queue).map((entry) => ({
          ...dueOf(entry),
          id: entry.id,
          trigger: entry.trigger,
          dueAt: entry.dueAt,
          attempts: entry.attempt,
          receivedAt: entry.receivedAt.getTime(),
        }));
        const same = all.filter((event) => event.type === type);
        const newest = same.at(-1);
        if (newest === undefined) return undefined;
        const others = same.filter((event) => event !== newest && event.trigger === 'auto').toReversed();
        const types = holdingTypes(endpoint, handles, handledSince);
        const next = waiting(queue).find(
          (entry) => !others.some(({ seq }) => seq === entry.seq) && !entry.yields && isAmong(types, entry.type),
        );
        const isNext = next === undefined || !isBefore(frontOf(next), newest);
        return { newest, ...othersOf(others, others.at(-1)), isNext };
      }),
    eventToRun(key) {
      const entry = entries.find(key);
      return (
        entry && {
          ...entry,
          hasLease: hasLease(entry),
          isSuperseded: isSuperseded(entry),
          isInvalid: entry.deadReason === 'invalid',
          isPruned: entry.body === null,
        }
      );
    },
    lease: (events, { now, until }) =>
      events.map(({ seq }) => {
        const entry = entries.at(seq);
        const lease = { seq, fence: entry.fence + 1 };
        const attempt = entry.attempt + 1;
        const leased = { isLeased: true, isClosing: false, isFresh: false, isParked: false };
        const claimed = { state: 'processing', deadReason: null, claimedAt: now, leaseUntil: until } as const;
        entries.change(seq, { ...claimed, ...leased, fence: lease.fence, attempt });
        const { endpoint, id, body, verified, receivedAt, failures, trace } = entry;
        const event = { lease, endpoint, id, body: body ?? new Uint8Array(), verified, receivedAt, attempt, failures };
        return { ...event, ...(trace !== null && { trace }) };
      }),
    held: (leases, handledSince) =>
      leases.map((lease) => {
        const entry = under(lease);
        return entry && withNext(entry, handledSince);
      }),
    outcomesUnder: (leases) => leases.map(() => undefined),
    renew(leases, until, isClosing) {
      const kept = leases.filter((lease) => under(lease) !== undefined);
      for (const { seq } of kept) entries.change(seq, { leaseUntil: until, isClosing });
      return kept;
    },
    addStep({ seq, attempt }, step, now) {
      const { steps } = entries.at(seq);
      if (steps.every(({ name }) => name !== step.name)) steps.push({ ...step, attempt, at: new Date(now) });
    },
    apply(changes) {
      const news = new Map<BreakerReport, BreakerNews>();
      for (const change of changes) apply(change, news);
      return news;
    },
  };
}

function supersede(entry: Entry, { by, now }: Extract<Change, { kind: 'superseded' }>): void {
  const number = (entry.attempt += 1);
  Object.assign(entry, { state: 'processed', settledAt: now, isParked: false, yields: false });
  const times = { startedAt: new Date(now), endedAt: new Date(now), error: null };
  entry.attempts.push({ number, trigger: 'auto', outcome: 'superseded', ...times, skipped: supersededBy(by.id) });
}

function endAttempt(entry: Entry, change: Extract<Change, { kind: 'attempt ended' }>): void {
  const { event, ending, now } = change;
  entry.isLeased = change.keepsLease;
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
  const { outcome, error, skipped, log, limit, processor } = ending;
  const times = { startedAt: new Date(event.claimedAt), endedAt: new Date(now) };
  const why = {
    ...(skipped !== undefined && { skipped }),
    ...(log !== undefined && { log }),
    ...(limit !== undefined && { limit }),
    ...(processor !== undefined && { processor }),
  };
  entry.attempts.push({ number: event.attempt, trigger: event.trigger, outcome, ...times, error, ...why });
}

function frontOf({ seq, type, created, bytes }: Entry): Front & SizedEvent {
  return { seq, type: type ?? '', created: created ?? { ms: 0, ns: 0 }, bytes };
}

function compare(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.ns - b.ns;
}
