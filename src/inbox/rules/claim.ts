import type { Scope } from '../work.ts';
import { Budget } from './budget.ts';
import { mustWait } from './entity-order.ts';
import type { NumberedClaim, NumberedStart } from './leases.ts';
import { isPaused } from './pauses.ts';
import { Room } from './room.ts';
import type { Candidate, ClaimState, DueAsked, DueEvent, DueEvents, EventToRun, NewLease } from './store.ts';
import { isInScope, seenSince } from './handled-types.ts';

/** Once a transaction has parked so many events, it starts no other round. */
const PARK_BATCH = 200;

export interface Chosen {
  readonly claimed: readonly DueEvent[];
  /** events that have to wait for another one of their entity */
  readonly parked: readonly number[];
}

/**
 * Chooses the events of a claim in one transaction. Rounds are needed because an event that has to wait takes up a place among the due events:
 * it is parked, and the next round finds others in its place.
 */
export class ClaimPlan {
  readonly #request: NumberedClaim;
  readonly #limit: number;
  readonly #state: ClaimState;
  readonly #room: Room;
  readonly #budget = new Budget();
  #claimed = 0;
  #parked = 0;
  #takesSuspects: boolean;
  #isDone = false;

  constructor(request: NumberedClaim, limit: number, state: ClaimState) {
    this.#request = request;
    this.#limit = limit;
    this.#state = state;
    this.#room = new Room(request);
    this.#takesSuspects = !state.isSuspectRunning;
  }

  /** The due events to load for the next round; `null` if the claim is complete, or `isCutShort`. */
  toLoad(): DueAsked | null {
    if (this.#isDone || this.#claimed === this.#limit || this.isCutShort) return null;
    const { endpoints, types: handles, now, ordered, handledSince = seenSince(now) } = this.#request;
    return {
      endpoints,
      ...this.#room.typesWithRoom(),
      handles,
      now,
      ordered,
      includeSuspects: this.#takesSuspects,
      // Twice as many after each round that only parked: a long queue must not take a round for each event.
      limit: Math.max(this.#limit - this.#claimed, this.#parked),
      pauses: this.#state.pauses,
      handledSince,
    };
  }

  /** Whether this transaction has parked as many events as it may, so that the claim goes on in another one. */
  get isCutShort(): boolean {
    return this.#parked >= PARK_BATCH || this.#budget.isSpent;
  }

  /** The chosen events must be saved before the next round is loaded, which then finds their entities leased. */
  choose({ events, isAll }: DueEvents): Chosen {
    const claimed: DueEvent[] = [];
    const parked: number[] = [];
    const entities = new Set<string>();
    let madeProgress = false;
    for (const event of events) {
      if (this.#claimed === this.#limit) break;
      // Suspects run one at a time, so that a crash has one culprit.
      if (isSuspect(event) && !this.#takesSuspects) continue;
      if (!this.#room.isFor(event.type)) continue;
      madeProgress = true;
      if (this.#request.ordered && event.entity !== null && (entities.has(queueOf(event)) || mustWait(event))) {
        parked.push(event.seq);
        this.#parked += 1;
        this.#budget.spend(event.bytes);
        if (this.#budget.isSpent) break;
        continue;
      }
      claimed.push(event);
      this.#claimed += 1;
      this.#room.take(event.type);
      if (event.entity !== null) entities.add(queueOf(event));
      if (isSuspect(event)) this.#takesSuspects = false;
    }
    this.#isDone = isAll || !madeProgress;
    return { claimed, parked };
  }
}

/** The lease that a claim or a start gives. */
export function leaseOf(
  { now, leaseMs, number = 0, ordered }: NumberedStart,
  { exclusive }: Pick<NewLease, 'exclusive'>,
): NewLease {
  return { now, until: now + leaseMs, claimNumber: number, ordered, exclusive };
}

/**
 * Whether the handler of one event may run now, as inline mode asks: backoff, the one suspect at a time and older events
 * of its entity do not matter. `settled` if it must not run now, `busy` if the event or its entity has a lease.
 */
export function planOne(
  event: EventToRun | undefined,
  { ordered, ...scope }: Scope & { readonly ordered: boolean },
  pauses: ClaimState['pauses'],
): 'run' | 'busy' | 'settled' {
  if (event === undefined || event.isPruned || event.isInvalid) return 'settled';
  if (event.state === 'processed' || event.state === 'discarded' || !isInScope(scope, event)) return 'settled';
  if (event.state === 'processing') return 'busy';
  // A paused event is stored, and handled once its type is resumed.
  if (isPaused(pauses, event)) return 'settled';
  return ordered && event.entity !== null && event.hasLease ? 'busy' : 'run';
}

/** Whether an event was running when its process crashed, perhaps along with others. */
export function isSuspect({ crashes }: Pick<Candidate, 'crashes'>): boolean {
  return crashes > 0;
}

/** A name for the queue of an event's entity. */
function queueOf({ endpoint, entity }: Candidate): string {
  return `${endpoint.length}:${endpoint}${entity ?? ''}`;
}
