import type { Acceptance, IncomingEvent } from '../../../src/inbox/inbox.ts';
import type { DeadReason } from '../../../src/inbox/state.ts';
import type { Attempt, ClaimedEvent, ClaimRequest, Lease, Settlement } from '../../../src/inbox/work.ts';
import { compare, content, isHandled, waitsBefore, type ModelEvent } from './model-event.ts';
import type { Move } from './moves.ts';
import { must } from './violation.ts';

/** A type without a processor that was seen this lately is not waited for, and its events are put away. */
const TAKEN_MS = 600_000;
const CRASHES_TO_DIE = 3;
/** Smaller steps of the clock are not minded. */
const STEP_MS = 5_000;

/**
 * What becomes of events, said as simply as possible (docs/states.md) and sharing no code with the source. It is told of
 * every call that took effect, in that order, and throws a Violation when the answer was not allowed.
 */
export class InboxModel {
  readonly events: ModelEvent[] = [];
  /** how often each event's transaction has committed */
  readonly effects = new Map<string, number>();
  readonly #count: (move: Move) => void;
  readonly #byId = new Map<string, ModelEvent>();
  /** for each type when somebody was last seen who handles it: the last word, and the latest */
  readonly #seen = new Map<string, { last: number; latest: number }>();
  /** the latest time at which anything was written, in whole seconds */
  #latest = 0;
  readonly #newestProcessed = new Map<string, ModelEvent['created']>();

  constructor(count: (move: Move) => void) {
    this.#count = count;
  }

  get(id: string): ModelEvent | undefined {
    return this.#byId.get(id);
  }

  accepted(event: IncomingEvent, answer: Acceptance): void {
    const known = this.#byId.get(event.id);
    const say = () => `${event.id} was answered ${JSON.stringify(answer)}`;
    if (known === undefined) {
      must(answer.result === 'stored' && !answer.conflict && !answer.replaced, 'stored once', say);
      const stored: ModelEvent = {
        ...content(event),
        id: event.id,
        seq: this.events.length + 1,
        dueAt: event.receivedAt,
        failures: 0,
        crashes: 0,
        fence: 0,
        leaseUntil: 0,
        fresh: event.valid,
        settledAt: 0,
        pruned: false,
        disturbed: false,
        trigger: 'auto',
        historyFrom: 0,
        attempts: [],
      };
      this.events.push(stored);
      this.#byId.set(event.id, stored);
      this.#count(event.valid ? 'stored → pending' : 'stored → dead(invalid)');
      return;
    }
    const replaces = known.deadReason === 'invalid' && event.valid;
    const conflicts = !replaces && Buffer.compare(known.body, event.body) !== 0;
    must(answer.result === 'duplicate', 'stored once', say);
    must(answer.replaced === replaces && answer.conflict === conflicts, 'stored once', say);
    if (!replaces) return;
    // Another body, another history.
    Object.assign(known, content(event), { failures: 0, crashes: 0, historyFrom: known.attempts.length });
    known.fresh = event.valid;
    this.#count('dead(invalid) → pending, replaced by a valid body');
  }

  /** @param disturbed - asked for long before it took effect, or at a bad time: leases may be lost */
  claimed(request: ClaimRequest, limit: number, claimed: readonly ClaimedEvent[], disturbed: boolean): void {
    this.#followClock(request);
    this.#releaseRanOut(request, disturbed);
    this.#lookAtFresh(request.now);
    for (const one of claimed) this.#claim(request, one, disturbed);
    must(claimed.length <= limit, 'the store agrees with the model', () => `${claimed.length} claimed of ${limit}`);
    if (claimed.length === limit) return;
    const left = this.events.find((event) => this.#isSurelyNext(event, request));
    must(left === undefined, 'nothing stuck', () => `${left?.id} was due and was not claimed`);
  }

  renewed(leases: readonly Lease[], now: number, leaseMs: number, held: readonly Lease[]): void {
    this.#noteTime(now);
    const expected = leases.filter((lease) => this.#held(lease) !== undefined);
    const text = (of: readonly Lease[]): string => of.map(({ seq, fence }) => `${seq}/${fence}`).join(' ');
    must(
      text(expected) === text(held),
      'only the holder of a lease settles',
      () => `of the leases ${text(leases)} still held are ${text(expected)}, but renewed were ${text(held)}`,
    );
    for (const lease of held) {
      const event = this.#held(lease);
      if (event !== undefined) event.leaseUntil = now + leaseMs;
    }
  }

  settled(lease: Lease, settlement: Settlement, now: number, held: boolean): void {
    const event = this.#held(lease);
    must(
      held === (event !== undefined),
      'only the holder of a lease settles',
      () => `${this.#name(lease)} was settled as ${settlement.outcome}: ${held}`,
    );
    if (event === undefined) return;
    this.#noteTime(now);
    switch (settlement.outcome) {
      case 'processed':
        this.#count('processing → processed');
        return this.#processed(event, now);
      case 'retry':
        this.#count('processing → pending, retry');
        event.failures += 1;
        return this.#toPending(event, 'failed', settlement.dueAt);
      case 'dead':
        this.#count(settlement.reason === 'failed' ? 'processing → dead(failed)' : 'processing → dead(invalid)');
        event.failures += 1;
        return this.#dead(event, 'failed', settlement.reason);
      case 'interrupted':
        this.#count('processing → pending, interrupted');
        return this.#toPending(event, 'interrupted', now);
    }
  }

  /** @param effect - what `work` would have done; it did not run to its end when there was none */
  transacted(lease: Lease, now: number, effect: string | null, committed: boolean): void {
    const event = this.#held(lease);
    const say = () => `${this.#name(lease)} with ${effect ?? 'no effect'}, committed: ${committed}`;
    if (!committed) return must(event === undefined || effect === null, 'only the holder of a lease settles', say);
    must(event !== undefined && effect === event.id, 'only the holder of a lease settles', say);
    this.#noteTime(now);
    this.#count('processing → processed, by its transaction');
    this.effects.set(event.id, (this.effects.get(event.id) ?? 0) + 1);
    this.#processed(event, now);
  }

  announced(types: readonly string[] | '*', now: number): void {
    this.#noteTime(now);
    this.#lookAtFresh(now);
    for (const type of types === '*' ? ['*'] : types) {
      const before = this.#seen.get(type)?.latest ?? -Infinity;
      this.#seen.set(type, { last: now, latest: Math.max(before, now) });
    }
  }

  /** An announcement put this event away. */
  ignored(id: string, now: number, ignoreBefore: number | null): void {
    const event = this.#byId.get(id);
    must(
      event?.state === 'pending' && ignoreBefore !== null && event.dueAt <= ignoreBefore,
      'dead only for a reason',
      () => `${id} was ignored while ${event?.state}`,
    );
    must(!this.#isTaken(event, now, 'surely'), 'nothing stuck', () => `${id} was ignored though its type is handled`);
    event.state = 'ignored';
    this.#count('pending → ignored');
  }

  /** Of this event only a tombstone is left. */
  pruned(id: string, before: number): void {
    const event = this.#byId.get(id);
    const may = event?.state === 'processed' && event.settledAt < before;
    must(may, 'stored ⊇ acknowledged', () => `${id} was pruned while ${event?.state} since ${event?.settledAt}`);
    event.pruned = true;
    this.#count('processed → tombstone');
  }

  rerun(
    id: string,
    facts: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    moved: boolean,
    readFrom?: Uint8Array,
  ): void {
    const event = this.#byId.get(id);
    const asRead = readFrom === undefined || (event !== undefined && Buffer.compare(event.body, readFrom) === 0);
    const may = (event?.state === 'dead' || event?.state === 'ignored') && asRead;
    must(moved === may, 'the store agrees with the model', () => `rerun of ${id}, ${event?.state}: ${moved}`);
    if (event === undefined || !may) return;
    this.#noteTime(now);
    this.#count(
      event.state === 'ignored' ? 'ignored → pending, rerun' : `dead(${event.deadReason ?? 'failed'}) → pending, rerun`,
    );
    Object.assign(event, { ...facts, state: 'pending', deadReason: null, dueAt: now, failures: 0, crashes: 0 });
    event.trigger = 'manual';
    event.historyFrom = event.attempts.length;
  }

  /** From here on the holders of these leases may lose them. */
  disturb(which: (event: ModelEvent) => boolean): void {
    for (const event of this.events) if (event.state === 'processing' && which(event)) event.disturbed = true;
  }

  #claim(request: ClaimRequest, { lease, id, attempt, failures, superseded }: ClaimedEvent, disturbed: boolean): void {
    const { now, types, leaseMs } = request;
    const event = this.#byId.get(id);
    const say = (why: string) => () => `${id} was claimed though ${why}`;
    must(event !== undefined && event.seq === lease.seq, 'stored once', say('it is not the one that was stored'));
    must(event.state !== 'processing', 'one live lease an entity', say('its own lease is alive'));
    must(event.state === 'pending' && event.dueAt <= now, 'the store agrees with the model', say('it is not due'));
    must(isHandled(event, types), 'the store agrees with the model', say('nobody there handles it'));
    const leased = this.#ofEntity(event).find(({ state }) => state === 'processing');
    must(leased === undefined, 'one live lease an entity', say(`${leased?.id} of its entity has a live lease`));
    const older = this.#ofEntity(event).find((other) => waitsBefore(other, event) && this.#holdsBack(other, request));
    must(older === undefined, 'order within an entity', say(`${older?.id} is older and waits`));
    const suspect = event.crashes > 0 ? this.#runningSuspect() : undefined;
    must(suspect === undefined, 'suspects run one at a time', say(`${suspect?.id} runs as a suspect`));

    const newest = event.entity === null ? null : this.#newestProcessed.get(event.entity);
    const isLate = newest !== undefined && newest !== null && compare(newest, event.created) > 0;
    must(superseded === isLate, 'superseded tells the truth', () => `${id} was told ${superseded}`);
    const expected = [event.fence + 1, event.attempts.length + 1, event.failures].join();
    const actual = [lease.fence, attempt, failures].join();
    must(actual === expected, 'the store agrees with the model', () => `${id}: fence, attempt, failures are ${actual}`);

    Object.assign(event, { state: 'processing', fence: lease.fence, leaseUntil: now + leaseMs, disturbed });
    event.fresh = false;
    this.#count('pending → processing');
  }

  #noteTime(now: number): void {
    this.#latest = Math.max(this.#latest, Math.floor(now / 1_000) * 1_000);
  }

  /** When the clock was set back, what was written before has as much time as it had left. */
  #followClock({ now, leaseMs }: ClaimRequest): void {
    const back = this.#latest - now;
    if (back <= STEP_MS) return this.#noteTime(now);
    this.#latest = Math.floor(now / 1_000) * 1_000;
    for (const event of this.events) {
      if (event.state === 'processing' && event.leaseUntil > now + leaseMs) {
        event.leaseUntil = Math.max(now + leaseMs, event.leaseUntil - back);
      }
      if (event.state === 'pending' && !event.fresh && event.dueAt > now) {
        event.dueAt = Math.max(now, event.dueAt - back);
      }
    }
  }

  #lookAtFresh(now: number): void {
    for (const event of this.events) {
      if (event.fresh && event.dueAt > now + STEP_MS) event.dueAt = now;
      event.fresh = false;
    }
  }

  #releaseRanOut({ now, leaseMs, holds = [], ranOutBy = now }: ClaimRequest, disturbed: boolean): void {
    for (const event of this.events) {
      if (event.state !== 'processing' || event.leaseUntil > Math.min(now, ranOutBy)) continue;
      if (holds.some(({ seq, fence }) => seq === event.seq && fence === event.fence)) {
        event.leaseUntil = now + leaseMs;
        continue;
      }
      must(
        event.disturbed || disturbed,
        'a lease that is renewed holds',
        () => `that of ${event.id} ran out under a healthy process`,
      );
      event.crashes += 1;
      if (event.crashes >= CRASHES_TO_DIE) {
        this.#count('processing → dead(crashed)');
        this.#dead(event, 'crashed', 'crashed');
      } else {
        this.#count('processing → pending, crashed');
        this.#toPending(event, 'crashed', now);
      }
    }
  }

  #processed(event: ModelEvent, now: number): void {
    this.#leave(event, 'processed');
    event.settledAt = now;
    event.state = 'processed';
    if (event.entity === null) return;
    const before = this.#newestProcessed.get(event.entity) ?? null;
    if (before === null || compare(before, event.created) < 0) this.#newestProcessed.set(event.entity, event.created);
  }

  #toPending(event: ModelEvent, outcome: Attempt['outcome'], dueAt: number): void {
    this.#leave(event, outcome);
    event.state = 'pending';
    event.dueAt = dueAt;
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

  #held({ seq, fence }: Lease): ModelEvent | undefined {
    const event = this.events[seq - 1];
    return event?.state === 'processing' && event.fence === fence ? event : undefined;
  }

  #ofEntity(event: ModelEvent): ModelEvent[] {
    if (event.entity === null) return [];
    return this.events.filter((other) => other !== event && other.entity === event.entity);
  }

  #runningSuspect(): ModelEvent | undefined {
    return this.events.find(({ state, crashes }) => state === 'processing' && crashes > 0);
  }

  #holdsBack(older: ModelEvent, { types, now }: ClaimRequest): boolean {
    return isHandled(older, types) || this.#isTaken(older, now, 'surely');
  }

  /** Between what the last and the latest announcement say after a clock went backwards, an inbox may choose. */
  #isTaken({ type }: ModelEvent, now: number, how: 'surely' | 'possibly'): boolean {
    return [type ?? '', '*'].some((taker) => {
      const { last, latest } = this.#seen.get(taker) ?? { last: -Infinity, latest: -Infinity };
      return (how === 'surely' ? Math.min(last, latest) : latest) > now - TAKEN_MS;
    });
  }

  /** Due, handled, and behind nobody: whoever claims has to take it. */
  #isSurelyNext(event: ModelEvent, { now, types }: ClaimRequest): boolean {
    if (event.state !== 'pending' || event.dueAt > now || !isHandled(event, types)) return false;
    if (event.crashes > 0 && this.#runningSuspect() !== undefined) return false;
    return !this.#ofEntity(event).some((other) => other.state === 'processing' || waitsBefore(other, event));
  }

  #name({ seq, fence }: Lease): string {
    return `${this.events[seq - 1]?.id ?? `no. ${seq}`} under fence ${fence}`;
  }
}
