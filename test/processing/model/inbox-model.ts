import type { Acceptance, EventKey, IncomingEvent, Started, DeadReason } from '../../../src/inbox/event.ts';
import type { ActResult } from '../../../src/inbox/operator/acts.ts';
import type { Attempt, ClaimedEvent, ClaimRequest, Lease, Settlement, StartRequest } from '../../../src/inbox/work.ts';
import {
  compare,
  content,
  entityOf,
  holds,
  isHandled,
  isOf,
  isPutAway,
  mayHold,
  nameOf,
  supersedes,
  type ModelEvent,
  type Worker,
} from './model-event.ts';
import type { Move } from './moves.ts';
import { must } from './violation.ts';
import { Waiting, type Claim, type Clocks } from './waiting.ts';

const CRASHES_TO_DIE = 3;

type Rows = readonly { readonly seq: number; readonly state: string; readonly leased: boolean | null }[];

/** A model of docs/states.md that shares no code with the source. */
export class InboxModel {
  readonly events: ModelEvent[] = [];
  readonly effects = new Map<string, number>();
  readonly #count: (move: Move) => void;
  readonly #byName = new Map<string, ModelEvent>();
  readonly #bySeq = new Map<number, ModelEvent>();
  #nextSeq = 1;
  readonly waiting: Waiting;
  readonly #newestProcessed = new Map<string, ModelEvent['created']>();

  constructor(count: (move: Move) => void, clock: Clocks) {
    this.#count = count;
    this.waiting = new Waiting(this.events, clock);
  }

  get(key: EventKey): ModelEvent | undefined {
    return this.#byName.get(nameOf(key));
  }

  numbered(seq: number): ModelEvent | undefined {
    return this.#bySeq.get(seq);
  }

  numbersGoOnFrom(seq: number): void {
    this.#nextSeq = seq;
  }

  vanished(event: ModelEvent): void {
    Object.assign(event, {
      state: 'dead',
      deadReason: 'crashed',
      failures: 0,
      crashes: 0,
      yields: false,
      hasVanished: true,
    });
  }

  of({ seq, fence }: Lease): ModelEvent | undefined {
    const event = this.numbered(seq);
    return event?.fence === fence ? event : undefined;
  }

  accepted(event: IncomingEvent, answer: Acceptance): void {
    const known = this.get(event);
    const say = () => `${nameOf(event)} was answered ${JSON.stringify(answer)}`;
    if (known === undefined) {
      must(answer.result === 'stored' && !answer.conflict && !answer.replaced, 'stored once', say);
      const stored: ModelEvent = {
        ...content(event),
        endpoint: event.endpoint,
        id: event.id,
        name: nameOf(event),
        seq: this.#nextSeq,
        dueAt: event.receivedAt,
        failures: 0,
        yields: false,
        crashes: 0,
        fence: 0,
        leaseUntil: 0,
        hold: null,
        closing: false,
        settledAt: 0,
        pruned: false,
        disturbed: false,
        setBackAt: this.waiting.written(event.receivedAt),
        trigger: 'auto',
        historyFrom: 0,
        hasVanished: false,
        attempts: [],
        hasStep: false,
      };
      this.#nextSeq += 1;
      this.#bySeq.set(stored.seq, stored);
      this.events.push(stored);
      this.#byName.set(stored.name, stored);
      this.#count(event.valid ? 'stored → pending' : 'stored → dead(invalid)');
      return;
    }
    const replaces = known.deadReason === 'invalid' && event.valid;
    const conflicts = !replaces && Buffer.compare(known.body, event.body) !== 0;
    must(answer.result === 'duplicate', 'stored once', say);
    must(answer.replaced === replaces && answer.conflict === conflicts, 'stored once', say);
    if (!replaces) return;
    Object.assign(known, content(event), {
      failures: 0,
      yields: false,
      crashes: 0,
      historyFrom: known.attempts.length,
    });
    known.setBackAt ??= this.waiting.written(known.dueAt);
    this.#count('dead(invalid) → pending, replaced by a valid body');
  }

  /**
   * @param rows - the store after it
   * @param disturbed - the call waited long or met a fault, so leases may be lost
   */
  claimed(
    by: Worker,
    asked: ClaimRequest,
    limit: number,
    claimed: readonly ClaimedEvent[],
    rows: Rows,
    disturbed: boolean,
  ): void {
    const claim = { ...by, now: asked.now };
    this.waiting.claims();
    const expiredBy = Math.min(asked.now, asked.expiredBy ?? asked.now);
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    for (const event of this.events) {
      if (event.hold !== null) {
        const isOwn = asked.holds?.some((lease) => this.of(lease) === event) === true;
        this.#lookAtHold(event, asked, { expiredBy, isOwn, leased: bySeq.get(event.seq)?.leased ?? null, disturbed });
      }
      if (event.state !== 'processing') continue;
      const isFreed =
        bySeq.get(event.seq)?.state !== 'processing' || claimed.some(({ lease }) => lease.seq === event.seq);
      if (isFreed) this.#ranOut(event, asked.now, expiredBy, disturbed);
      else if (event.leaseUntil <= expiredBy && asked.holds?.some((lease) => this.of(lease) === event)) {
        Object.assign(event, { leaseUntil: asked.now + asked.leaseMs, closing: false });
      }
    }
    const burst = this.events.filter(({ state }) => state === 'pending');
    for (const event of burst)
      if (bySeq.get(event.seq)?.state === 'processed') this.#superseded(event, burst, claim, asked);
    for (const one of claimed) this.#claim(claim, asked.leaseMs, one, disturbed);
    for (const { lease } of claimed) {
      const event = asked.latest === undefined ? undefined : this.of(lease);
      const newer = this.events.find((other) => event && other.state === 'pending' && supersedes(other, event));
      const may = event === undefined || newer === undefined || event.trigger === 'manual';
      must(may, 'only the newest of a burst runs', () => `${event?.name} was claimed though ${newer?.name} waits`);
    }
    must(claimed.length <= limit, 'the store agrees with the model', () => `${claimed.length} claimed of ${limit}`);
    if (claimed.length === limit) return;
    const left = this.waiting.next(claim);
    must(left === undefined, 'nothing stuck', () => `${left?.name} was due and was not claimed`);
  }

  started(
    by: Worker,
    { now, leaseMs }: StartRequest,
    event: IncomingEvent,
    { seq, fence, superseded }: Started,
    disturbed: boolean,
  ): void {
    must(by.rate === undefined, 'a type keeps its rate', () => `${nameOf(event)} was stored as running`);
    const told = { ...event, receivedAt: new Date(event.receivedAt), attempt: 1, failures: 0, superseded };
    this.#claim({ ...by, now }, leaseMs, { ...told, lease: { seq, fence } }, disturbed, 'stored → processing');
  }

  renewed(leases: readonly Lease[], now: number, leaseMs: number, closing: boolean, held: readonly Lease[]): void {
    const setBackAt = this.waiting.written(now);
    for (const lease of leases) {
      const event = this.of(lease);
      if (event?.hold === 'unsure') event.hold = held.includes(lease) ? 'held' : null;
    }
    const expected = leases.filter((lease) => this.#leased(lease) !== undefined);
    const text = (of: readonly Lease[]): string => of.map(({ seq, fence }) => `${seq}/${fence}`).join(' ');
    must(
      text(expected) === text(held),
      'only the holder of a lease settles',
      () => `of the leases ${text(leases)} still held are ${text(expected)}, but renewed were ${text(held)}`,
    );
    for (const lease of held) {
      const event = this.#leased(lease);
      if (event !== undefined) Object.assign(event, { leaseUntil: now + leaseMs, setBackAt, closing });
    }
  }

  keptStep(lease: Lease, kept: boolean): void {
    const event = this.#held(lease);
    const say = (): string => `a step of ${this.#name(lease)} was kept: ${kept}`;
    must(kept === (event !== undefined), 'only the holder of a lease settles', say);
    if (event !== undefined) event.hasStep = true;
  }

  settled(lease: Lease, settlement: Settlement, now: number, held: boolean): void {
    if (settlement.outcome === 'committed') return this.#letGo(lease, held);
    const event = this.#held(lease);
    must(
      held === (event !== undefined),
      'only the holder of a lease settles',
      () => `${this.#name(lease)} was settled as ${settlement.outcome}: ${held}`,
    );
    if (event === undefined) return;
    this.waiting.written(now);
    this.waiting.breakers.ended(event, settlement, now);
    switch (settlement.outcome) {
      case 'processed':
        this.#count('processing → processed');
        return this.#processed(event, now);
      case 'retry':
        this.#count('processing → pending, retry');
        event.failures += settlement.isUncounted === true ? 0 : 1;
        event.yields = settlement.yields ?? false;
        if (settlement.pauseUntil !== undefined) {
          this.#count('processing → pending, and its type is paused');
          this.waiting.pauses.asked(event, settlement.pauseUntil, now, this.waiting.written(now));
        }
        return this.#toPending(event, 'failed', settlement.dueAt, now);
      case 'dead':
        this.#count(settlement.reason === 'failed' ? 'processing → dead(failed)' : 'processing → dead(invalid)');
        event.failures += 1;
        return this.#dead(event, 'failed', settlement.reason);
      case 'interrupted':
        this.#count('processing → pending, interrupted');
        return this.#toPending(event, 'interrupted', settlement.dueAt ?? now, now);
    }
  }

  #letGo(lease: Lease, held: boolean): void {
    const event = this.of(lease);
    const hold = event?.hold ?? null;
    must(
      hold === 'unsure' || held === (hold === 'held'),
      'only the holder of a lease settles',
      () => `${this.#name(lease)} was let go: ${held}`,
    );
    if (event === undefined || hold === null) return;
    event.hold = null;
    this.#count('processed, and its handler ends');
  }

  /** @param effect - what `work` wrote; `undefined` if it did not run to its end */
  transacted(lease: Lease, now: number, effect: string | null, committed: boolean): void {
    const event = this.#held(lease);
    const say = () => `${this.#name(lease)} with ${effect ?? 'no effect'}, committed: ${committed}`;
    if (!committed) return must(event === undefined || effect === null, 'only the holder of a lease settles', say);
    must(event !== undefined && effect === event.name, 'only the holder of a lease settles', say);
    this.#count('processing → processed, by its transaction');
    this.effects.set(event.name, (this.effects.get(event.name) ?? 0) + 1);
    this.#processed(event, now);
    event.hold = 'held';
  }

  ignored(event: ModelEvent, by: Worker, now: number): void {
    this.waiting.mayBeIgnored(event, by, now);
    event.state = 'ignored';
    this.#count('pending → ignored');
  }

  pruned(event: ModelEvent, by: Worker, before: number): void {
    const may = event.state === 'processed' && event.settledAt < before;
    const say = () => `${event.name} was pruned while ${event.state} since ${event.settledAt}`;
    must(may, 'stored ⊇ acknowledged', say);
    must(isOf(event, by), 'only its own endpoint', say);
    event.pruned = true;
    this.#count('processed → tombstone');
  }

  rerun(
    key: EventKey,
    facts: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    moved: boolean,
    readFrom?: Uint8Array,
  ): void {
    const event = this.get(key);
    const asRead = readFrom === undefined || (event !== undefined && Buffer.compare(event.body, readFrom) === 0);
    const may = event !== undefined && isPutAway(event) && asRead;
    must(moved === may, 'the store agrees with the model', () => `rerun of ${nameOf(key)}, ${event?.state}: ${moved}`);
    if (!may) return;
    const { state, deadReason } = event;
    this.#count(
      state === 'ignored' || state === 'discarded'
        ? `${state} → pending, rerun`
        : `dead(${deadReason ?? 'failed'}) → pending, rerun`,
    );
    Object.assign(event, { ...facts, deadReason: null, hasVanished: false, failures: 0, yields: false, crashes: 0 });
    this.#due(event, now, now);
    event.trigger = 'manual';
    event.historyFrom = event.attempts.length;
  }

  discarded(key: EventKey, result: ActResult): void {
    const event = this.get(key);
    // The model does not know today's schemas.
    if (event?.deadReason === 'invalid' && result === 'still invalid') return;
    const may = event?.state === 'pending' || event?.state === 'dead';
    const say = () => `discard of ${nameOf(key)}, ${event?.state}: ${result}`;
    must(result === (may ? 'done' : 'not needed'), 'the store agrees with the model', say);
    if (!may) return;
    this.#count(event.state === 'dead' ? 'dead → discarded' : 'pending → discarded');
    Object.assign(event, { state: 'discarded', deadReason: null, yields: false, crashes: 0, trigger: 'auto' });
  }

  disturb(which: (event: ModelEvent) => boolean): void {
    for (const event of this.events) if (mayHold(event) && which(event)) event.disturbed = true;
  }

  #claim(
    claim: Claim,
    leaseMs: number,
    claimed: ClaimedEvent,
    disturbed: boolean,
    move: Move = 'pending → processing',
  ): void {
    const { lease, attempt, failures, superseded } = claimed;
    const event = this.get(claimed);
    const isStored = event !== undefined && event.seq === lease.seq;
    must(isStored, 'stored once', () => `${nameOf(claimed)} is not the one that was stored`);
    this.waiting.mayRun(event, claim);
    const newest = event.entity === null ? null : this.#newestProcessed.get(entityOf(event));
    const isLate = newest !== undefined && newest !== null && compare(newest, event.created) > 0;
    must(superseded === isLate, 'superseded tells the truth', () => `${event.name} was told ${superseded}`);
    const expected = [true, event.attempts.length + 1, event.failures].join();
    const actual = [lease.fence > event.fence, attempt, failures].join();
    must(
      actual === expected,
      'the store agrees with the model',
      () => `${event.name}: a higher fence, attempt, failures are ${actual}`,
    );

    Object.assign(event, {
      state: 'processing',
      fence: lease.fence,
      leaseUntil: claim.now + leaseMs,
      setBackAt: null,
      closing: false,
      disturbed,
    });
    this.#count(move);
  }

  #superseded(event: ModelEvent, burst: readonly ModelEvent[], claim: Claim, { latest, now }: ClaimRequest): void {
    const say = (why: string) => () => `${event.name} was superseded though ${why}`;
    must(latest !== undefined, 'superseded only by a newer one', say('nobody asked for the latest'));
    must(event.trigger === 'auto', 'superseded only by a newer one', say('it was rerun'));
    must(isHandled(event, claim), 'only its own endpoint', say('nobody there handles it'));
    const newer = burst.find((other) => supersedes(other, event));
    must(newer !== undefined, 'superseded only by a newer one', say('it is the newest'));
    Object.assign(event, { state: 'processed', settledAt: now, yields: false });
    event.attempts.push({ trigger: 'auto', outcome: 'superseded' });
    this.#count('pending → processed, superseded');
  }

  /** A claim ends an expired lease of a processed event. */
  #lookAtHold(
    event: ModelEvent,
    { now, leaseMs }: ClaimRequest,
    {
      expiredBy,
      isOwn,
      leased,
      disturbed,
    }: { expiredBy: number; isOwn: boolean; leased: boolean | null; disturbed: boolean },
  ): void {
    const hasRunOut = event.leaseUntil <= expiredBy;
    if (leased === false || (leased === null && hasRunOut && !isOwn)) {
      if (event.hold === 'held') this.#mayBeLost(event, expiredBy, disturbed);
      event.hold = null;
      this.#count('processed, and its lease runs out');
    } else if (hasRunOut && isOwn) {
      event.leaseUntil = now + leaseMs;
    } else if (leased === null && event.setBackAt !== null && !isOwn) {
      event.hold = 'unsure';
    }
  }

  #mayBeLost(event: ModelEvent, expiredBy: number, disturbed: boolean): void {
    const say = (why: string) => () => `that of ${event.name} was lost ${why}`;
    must(
      event.leaseUntil <= expiredBy || event.setBackAt !== null,
      'a lease that is renewed holds',
      say('before it ran out'),
    );
    must(event.disturbed || disturbed, 'a lease that is renewed holds', say('under a healthy process'));
  }

  #ranOut(event: ModelEvent, now: number, expiredBy: number, disturbed: boolean): void {
    this.#mayBeLost(event, expiredBy, disturbed);
    if (event.closing) {
      this.#count('processing → pending, killed while closing');
      return this.#toPending(event, 'interrupted', now, now);
    }
    event.crashes += 1;
    if (event.crashes >= CRASHES_TO_DIE) {
      this.#count('processing → dead(crashed)');
      this.#dead(event, 'crashed', 'crashed');
    } else {
      this.#count('processing → pending, crashed');
      this.#toPending(event, 'crashed', now, now);
    }
  }

  #processed(event: ModelEvent, now: number): void {
    this.#leave(event, 'processed');
    event.settledAt = now;
    event.state = 'processed';
    if (event.entity === null) return;
    const before = this.#newestProcessed.get(entityOf(event)) ?? null;
    if (before === null || compare(before, event.created) < 0)
      this.#newestProcessed.set(entityOf(event), event.created);
  }

  #toPending(event: ModelEvent, outcome: Attempt['outcome'], dueAt: number, now: number): void {
    this.#leave(event, outcome);
    this.#due(event, dueAt, now);
  }

  #due(event: ModelEvent, dueAt: number, now: number): void {
    Object.assign(event, { state: 'pending', dueAt, setBackAt: this.waiting.written(now) });
  }

  #dead(event: ModelEvent, outcome: Attempt['outcome'], reason: DeadReason): void {
    this.#leave(event, outcome);
    event.state = 'dead';
    event.deadReason = reason;
  }

  #leave(event: ModelEvent, outcome: Attempt['outcome']): void {
    event.attempts.push({ trigger: event.trigger, outcome });
    event.trigger = 'auto';
  }

  #held(lease: Lease): ModelEvent | undefined {
    const event = this.of(lease);
    return event?.state === 'processing' ? event : undefined;
  }

  /** As `#held`, or its transaction has committed and its handler runs on. */
  #leased(lease: Lease): ModelEvent | undefined {
    const event = this.of(lease);
    return event !== undefined && holds(event) ? event : undefined;
  }

  #name({ seq, fence }: Lease): string {
    return `${this.numbered(seq)?.name ?? `no. ${seq}`} under fence ${fence}`;
  }
}
