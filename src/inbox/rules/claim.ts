import type { EventKey } from '../event.ts';
import type { ClaimedEvent, ClaimRequest, CrashedEvent, Lease, Scope, StartRequest, Superseded } from '../work.ts';
import { crashEnding, endAttempt, endingOf, endLease } from './attempt.ts';
import { Budget } from './budget.ts';
import { mustWait } from './entity-order.ts';
import { planBurst, quietOf, waitsForOther, type BurstStep } from './latest.ts';
import { probeBegun, readyToProbe } from './breakers.ts';
import { isPaused, lastingPauses, type EndpointType, type StoredPause } from './pauses.ts';
import { isInScope, seenSince } from './processors.ts';
import { RateLimits, type StoredRate } from './rates.ts';
import type {
  Burst,
  Candidate,
  Change,
  ClaimState,
  DueRequest,
  DueEvent,
  DueEvents,
  Ending,
  EventToRun,
  ExpiredEvent,
  LeasedEvent,
  LeasesToEnd,
  NewLease,
  Queue,
  ClaimStartRequest,
} from './store.ts';

/** After a transaction has parked this many events, it starts no other round. */
const PARK_BATCH = 200;
const UNNUMBERED = 0;
const EXPIRED_BATCH = 100;

/** The response to a claim may be lost, because its thread or connection can die (unconfirmed-claims.ts). */
export interface NumberedClaim extends ClaimRequest {
  readonly number?: number;
  /** earlier claims of the same process whose responses were lost */
  readonly lostClaims?: readonly number[];
}

export interface NumberedStart extends StartRequest {
  readonly number?: number;
}

export function leasesOf(
  { now, expiredBy = now, number = UNNUMBERED, lostClaims = [] }: NumberedClaim,
  onlyFor?: EventKey,
): ClaimStartRequest {
  return {
    now,
    claimNumber: number,
    lostClaims,
    expiredBy: Math.min(now, expiredBy),
    limit: EXPIRED_BATCH,
    onlyFor,
    handledSince: seenSince(now),
  };
}

/**
 * Ends leases before a claim. Report `crashed` once the changes are durable. The handler of an event that a lost claim
 * leased never ran, so that does not count as a crash. An expired lease is a crash, except that:
 *
 * - a processor renews its own expired lease: it runs, but could not renew, for example because the disk was full;
 * - a processed event only loses its lease;
 * - a processor that was killed while it closed does not count against the handler.
 */
export function planLeases(
  { lost, crashed: foundEarlier, expired, pauses = [] }: LeasesToEnd & Partial<Pick<ClaimState, 'pauses'>>,
  { now, leaseMs, holds = [], number = UNNUMBERED }: NumberedClaim,
  onlyFor?: EventKey,
): { readonly changes: readonly Change[]; readonly crashed: readonly CrashedEvent[]; readonly more: boolean } {
  const budget = new Budget();
  const interrupted = endingOf({ outcome: 'interrupted' }, now);
  const changes = lost.flatMap((event) => endAttempt(event, interrupted, now, { budget }).changes);
  const crashed = [...foundEarlier];
  const lostSeqs = new Set(lost.map(({ seq }) => seq));
  let ended = 0;
  for (const event of expired) {
    if (ended > 0 && budget.isSpent) break;
    ended += 1;
    // A lost lease may have expired and ended above.
    if (lostSeqs.has(event.seq)) continue;
    budget.spend(event.bytes);
    if (holds.some(({ seq, fence }: Lease) => seq === event.seq && fence === event.fence)) {
      changes.push({ kind: 'lease renewed', lease: event, until: now + leaseMs });
    } else if (event.isProcessed) {
      changes.push(...endLease(event, budget));
    } else {
      const ending = event.isClosing ? interrupted : crashEnding(event.crashes, now);
      const end = endAttempt(event, ending, now, { budget, foundBy: number });
      changes.push(...end.changes);
      crashed.push(crashedEvent(event, end.ending));
    }
  }
  // A claim of one event then waits for locks that the writer of a pause may hold.
  if (onlyFor === undefined && lastingPauses(pauses, now).length < pauses.length)
    changes.push({ kind: 'pauses ended', now });
  return { changes, crashed, more: ended < expired.length || expired.length === EXPIRED_BATCH };
}

function crashedEvent({ endpoint, id, type, attempt }: ExpiredEvent, ending: Ending): CrashedEvent {
  return {
    endpoint,
    id,
    type,
    attempt,
    deadReason: ending.state === 'dead' ? ending.deadReason : null,
    dueAt: ending.state === 'pending' ? ending.dueAt : null,
    error: ending.error,
    ...(ending.outcome === 'interrupted' && { wasClosing: true }),
  };
}

/**
 * Chooses the events of a claim in rounds: an event that has to wait is parked, and the next round finds others in its
 * place.
 */
export class ClaimPlan {
  readonly #request: NumberedClaim;
  readonly #limit: number;
  readonly #state: ClaimState;
  readonly #room: Room;
  readonly #rates: RateLimits;
  /** paused types of which the claim may take one event */
  #toProbe: readonly EndpointType[];
  readonly #probed: EndpointType[] = [];
  readonly #superseded: Superseded[] = [];
  readonly #budget = new Budget();
  #claimed = 0;
  #parked = 0;
  #takesSuspects: boolean;
  #isDone = false;

  constructor(
    request: NumberedClaim,
    limit: number,
    state: ClaimState,
    {
      rates = [],
      probes = [],
    }: { readonly rates?: readonly StoredRate[]; readonly probes?: readonly EndpointType[] } = {},
  ) {
    this.#request = request;
    this.#limit = limit;
    this.#state = { ...state, pauses: lastingPauses(state.pauses, request.now) };
    this.#room = new Room(request);
    this.#rates = new RateLimits(request, rates);
    this.#toProbe = probes;
    this.#takesSuspects = !state.isSuspectRunning;
  }

  /** The due events to load for the next round; `null` if the claim is complete, or `isCutShort`. */
  toLoad(): DueRequest | null {
    if (this.#isDone || this.#claimed === this.#limit || this.isCutShort) return null;
    const { endpoints, types: handles, now, ordered, handledSince = seenSince(now) } = this.#request;
    return {
      endpoints,
      ...this.#room.typesWithRoom(),
      handles,
      now,
      ordered,
      includeSuspects: this.#takesSuspects,
      // Twice as many after each round that only parked, so that a long queue does not take a round for each event.
      limit: Math.max(this.#limit - this.#claimed, this.#parked),
      closed: [...this.#state.pauses.filter((pause) => !isPaused(this.#toProbe, pause)), ...this.#rates.full],
      handledSince,
    };
  }

  get isCutShort(): boolean {
    return this.#parked >= PARK_BATCH || this.#budget.isSpent;
  }

  get superseded(): readonly Superseded[] {
    return this.#superseded;
  }

  get freeAt(): number | null {
    return this.#rates.freeAt;
  }

  begun(): readonly Change[] {
    const probes = this.#probed.map(
      (lane) => ({ kind: 'probe begun', probe: probeBegun(lane, this.#request) }) as const,
    );
    return [...this.#rates.begun(), ...probes];
  }

  /** The events whose bursts `choose` needs, one of each burst. */
  inBursts({ events }: DueEvents): readonly DueEvent[] {
    const { latest, ordered } = this.#request;
    if (latest === undefined) return [];
    const found = new Map<string, DueEvent>();
    for (const event of events) {
      if (event.entity === null || quietOf(latest, event.type) === null || !this.#isFor(event)) continue;
      if (!(ordered && waitsForOther(event))) found.set(burstOf(event), event);
    }
    return [...found.values()];
  }

  /**
   * Save all of it before you load the next round, which then finds their entities leased.
   *
   * @param bursts - of the events of `inBursts`
   */
  choose({ events, isAll }: DueEvents, bursts: readonly (Burst | undefined)[] = []): Choice {
    const { now, ordered } = this.#request;
    const byName = new Map(bursts.flatMap((burst) => (burst === undefined ? [] : [[burstOf(burst.newest), burst]])));
    const claimed: DueEvent[] = [];
    const parked: number[] = [];
    const postponed: { readonly seq: number; readonly dueAt: number }[] = [];
    const changes: Change[] = [];
    const left: Queue[] = [];
    const gone = new Set<number>();
    const entities = new Set<string>();
    let madeProgress = false;
    const take = (event: DueEvent): void => {
      const isProbe = isPaused(this.#state.pauses, event);
      claimed.push(isProbe ? { ...event, isProbe } : event);
      if (isProbe) this.#takeProbe(event);
      this.#claimed += 1;
      this.#room.take(event.type);
      this.#rates.take(event);
      if (event.entity !== null) entities.add(queueOf(event));
      if (isSuspect(event)) this.#takesSuspects = false;
    };
    for (const event of events) {
      if (this.#claimed === this.#limit || this.#budget.isSpent) break;
      // Suspects run one at a time, so that a crash identifies its event.
      if (isSuspect(event) && !this.#takesSuspects) continue;
      if (!this.#isFor(event) || gone.has(event.seq)) continue;
      madeProgress = true;
      const isEntityTaken = ordered && event.entity !== null && entities.has(queueOf(event));
      const burst = isEntityTaken || (ordered && waitsForOther(event)) ? undefined : byName.get(burstOf(event));
      const step = burst === undefined ? ALONE : this.#planBurst(event, burst);
      if (burst !== undefined && step.kind === 'supersede') {
        const seqs = step.older.map(({ seq }) => seq);
        changes.push({ kind: 'superseded', seqs, by: burst.newest, now });
        this.#superseded.push({ endpoint: event.endpoint, type: event.type, count: seqs.length });
        this.#parked += seqs.length;
        for (const seq of seqs) gone.add(seq);
        if (step.more) break;
        byName.delete(burstOf(event));
        if (step.runsNewest) {
          gone.add(burst.newest.seq);
          take(burst.newest);
        } else {
          left.push({ endpoint: event.endpoint, entity: event.entity });
        }
        continue;
      }
      const mustPark = isEntityTaken || (ordered && mustWait(event));
      if (mustPark || step.kind === 'wait') {
        if (mustPark) parked.push(event.seq);
        else if (step.kind === 'wait') postponed.push({ seq: event.seq, dueAt: step.until });
        this.#parked += 1;
        this.#budget.spend(event.bytes);
      } else {
        take(event);
      }
    }
    this.#isDone = left.length === 0 && (isAll || !madeProgress);
    if (parked.length > 0) changes.push({ kind: 'parked', seqs: parked });
    if (postponed.length > 0) changes.push({ kind: 'postponed', events: postponed });
    return { claimed, changes, left };
  }

  #isFor(event: DueEvent): boolean {
    const isOpen = !isPaused(this.#state.pauses, event) || isPaused(this.#toProbe, event);
    return isOpen && this.#room.isFor(event.type) && this.#rates.isFor(event);
  }

  #planBurst(event: DueEvent, burst: Burst): BurstStep {
    const { latest, now, ordered } = this.#request;
    const quiet = quietOf(latest, event.type);
    if (quiet === null) return ALONE;
    const step = planBurst(event, burst, quiet, { now, ordered }, this.#budget);
    if (step.kind !== 'supersede' || !isSuspect(burst.newest) || this.#takesSuspects) return step;
    return { ...step, runsNewest: false };
  }

  #takeProbe(event: DueEvent): void {
    const isOther = (lane: EndpointType): boolean => !isPaused([lane], event);
    this.#probed.push(...this.#toProbe.filter((lane) => !isOther(lane)));
    this.#toProbe = this.#toProbe.filter(isOther);
  }
}

interface Choice {
  readonly claimed: readonly DueEvent[];
  readonly changes: readonly Change[];
  /** the next of these queues may run once `changes` are saved */
  readonly left: readonly Queue[];
}

const ALONE: BurstStep = { kind: 'alone' };

function queueOf({ endpoint, entity }: Queue): string {
  return JSON.stringify([endpoint, entity]);
}

function burstOf({ endpoint, entity, type }: DueEvent): string {
  return JSON.stringify([endpoint, entity, type]);
}

/** The types of which a claim may take one event, before another claim does. */
export function probesFor(
  { pauses }: ClaimState,
  { now, ...scope }: Scope & Pick<ClaimRequest, 'now'>,
): readonly StoredPause[] {
  return readyToProbe(pauses, now).filter((pause) => isInScope(scope, pause));
}

export class Room {
  readonly #types: Scope['types'];
  readonly #left: Map<string, number>;

  constructor({ types, room = {} }: Pick<ClaimRequest, 'types' | 'room'>) {
    this.#types = types;
    this.#left = new Map(Object.entries(room));
  }

  isFor(type: string | null): boolean {
    return (this.#left.get(this.#nameOf(type)) ?? Infinity) > 0;
  }

  take(type: string | null): void {
    const name = this.#nameOf(type);
    const left = this.#left.get(name);
    if (left !== undefined) this.#left.set(name, left - 1);
  }

  typesWithRoom(): { readonly types: Scope['types']; readonly except: readonly string[] } {
    const isOpen = (type: string): boolean => this.isFor(type);
    if (this.#types !== '*') return { types: this.#types.filter(isOpen), except: [] };
    const named = [...this.#left.keys()].filter((type) => type !== '*');
    if ((this.#left.get('*') ?? Infinity) <= 0) return { types: named.filter(isOpen), except: [] };
    return { types: '*', except: named.filter((type) => !isOpen(type)) };
  }

  #nameOf(type: string | null): string {
    return type !== null && this.#left.has(type) ? type : '*';
  }
}

export function leaseOf(
  { now, leaseMs, number = UNNUMBERED, ordered }: NumberedStart,
  { exclusive }: Pick<NewLease, 'exclusive'>,
): NewLease {
  return { now, until: now + leaseMs, claimNumber: number, ordered, exclusive };
}

export function markedAs(
  event: LeasedEvent,
  { isSuperseded, isProbe }: Partial<Pick<DueEvent, 'isSuperseded' | 'isProbe'>> = {},
): ClaimedEvent {
  return { ...event, superseded: isSuperseded === true, ...(isProbe && { isProbe }) };
}

/** As inline mode asks: backoff, the one suspect at a time and older events of its entity do not matter. */
export function planOne(
  event: EventToRun | undefined,
  { ordered, now, ...scope }: Scope & Pick<ClaimRequest, 'ordered' | 'now'>,
  pauses: ClaimState['pauses'],
): 'run' | 'probe' | 'busy' | 'settled' {
  if (event === undefined || event.isPruned || event.isInvalid) return 'settled';
  if (event.state === 'processed' || event.state === 'discarded' || !isInScope(scope, event)) return 'settled';
  if (event.state === 'processing') return 'busy';
  // A handler's pause ends by itself, so the service must send the event again.
  const pause = lastingPauses(pauses, now).find((each) => isPaused([each], event));
  if (pause?.until === undefined && pause !== undefined) return 'settled';
  if (ordered && event.entity !== null && event.hasLease) return 'busy';
  if (pause === undefined) return 'run';
  return readyToProbe([pause], now).length > 0 ? 'probe' : 'busy';
}

export function isSuspect({ crashes }: Pick<Candidate, 'crashes'>): boolean {
  return crashes > 0;
}

/**
 * When a clock is set back, leases and due times that were written before lie in the future. So the inbox remembers the
 * latest time that it wrote. A claim at an earlier time moves leases, due times and the times of processors back by the
 * difference.
 */

/** A smaller step back is ignored. */
export const TOLERATED_MS = 5_000;
const GRAIN_MS = 1_000;

export function latestTime(before: number, now: number): number {
  return Math.max(before, now - (now % GRAIN_MS));
}

export function setBackBy(latest: number, now: number): number {
  const back = latest - now;
  return back > TOLERATED_MS ? back : 0;
}

/** @param earliest - for due times, now; for a lease, now and the time that its holder needs to renew it */
export function movedBack(time: number, back: number, earliest: number): number {
  return time > earliest ? Math.max(earliest, time - back) : time;
}

export function arrivedBy(dueAt: number, now: number): number {
  return dueAt > now + TOLERATED_MS ? now : dueAt;
}
