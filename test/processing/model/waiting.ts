import {
  holds,
  isHandled,
  isOf,
  mayHold,
  sameEntity,
  waitsBefore,
  type ModelEvent,
  type Worker,
} from './model-event.ts';
import { HandledTypes } from './handled-types.ts';
import { TypeBreakers } from './type-breakers.ts';
import { TypePauses } from './type-pauses.ts';
import { TypeRates } from './type-rates.ts';
import { must } from './violation.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A processor that was seen this lately is waited for by newer events of an entity. */
const TAKEN_MS = 600_000;
const HANDLED_MS = 7 * 24 * 60 * 60_000;
const UNTAKEN_MS = 600_000;
/** Even with a slow handler and a long queue, an event does not wait longer while a processor runs. */
const OVERDUE_MS = 600_000;

export interface Claim extends Worker {
  readonly now: number;
}

export type Clocks = Pick<VirtualClock, 'now' | 'passed'>;

export class Waiting {
  readonly #events: readonly ModelEvent[];
  readonly #clock: Clocks;
  readonly #handledTypes = new HandledTypes();
  readonly pauses = new TypePauses();
  readonly breakers = new TypeBreakers();
  readonly rates = new TypeRates();
  /** the clock was set back since somebody claimed */
  #isSetBack = false;

  constructor(events: readonly ModelEvent[], clock: Clocks) {
    this.#events = events;
    this.#clock = clock;
  }

  announced(by: Worker, now: number): void {
    this.written(now);
    const waited = Math.max(0, this.#clock.now() - now);
    this.#handledTypes.announced(by, now, this.#clock.passed - waited);
  }

  setBack(now: number): void {
    this.#isSetBack = true;
    for (const event of this.#events) event.setBackAt = this.#clock.passed;
    this.#handledTypes.setBack(now);
    this.pauses.setBack(this.#clock.passed);
    this.rates.setBack();
  }

  written(time: number): number | null {
    if (time <= this.#clock.now()) return null;
    this.#isSetBack = true;
    return this.#clock.passed;
  }

  claims(): void {
    if (this.#isSetBack) {
      for (const event of this.#events) event.setBackAt ??= this.#clock.passed;
      this.pauses.setBack(this.#clock.passed);
    }
    this.#isSetBack = false;
  }

  mayRun(event: ModelEvent, claim: Claim): void {
    const say = (why: string) => () => `${event.name} was claimed though ${why}`;
    must(event.state !== 'processing', 'one live lease an entity', say('its own lease is alive'));
    const isDue = event.state === 'pending' && this.#isDue(event, claim.now);
    must(isDue, 'the store agrees with the model', say('it is not due'));
    must(!this.pauses.mustWait(event, claim.now), 'a paused type waits', say('its type is paused'));
    must(!this.breakers.mustWait(event, claim.now), 'a paused type waits', say('its breaker is open'));
    must(isOf(event, claim), 'only its own endpoint', say('it belongs to another endpoint'));
    must(isHandled(event, claim), 'the store agrees with the model', say('nobody there handles it'));
    const leased = this.#ofEntity(event).find(holds);
    must(leased === undefined, 'one live lease an entity', say(`${leased?.name} of its entity has a live lease`));
    const older = this.#ofEntity(event).find((other) => waitsBefore(other, event) && this.#holdsBack(other, claim));
    must(older === undefined, 'order within an entity', say(`${older?.name} is older and waits`));
    const suspect = event.crashes > 0 ? this.#runningSuspect(holds) : undefined;
    must(suspect === undefined, 'suspects run one at a time', say(`${suspect?.name} runs as a suspect`));
    this.breakers.claimed(event, claim.now);
    this.rates.begun(event, claim, claim.now);
  }

  mayBeIgnored(event: ModelEvent, by: Worker, now: number): void {
    const say = (why: string) => () => `${event.name} was ignored though ${why}`;
    must(event.state === 'pending', 'dead only for a reason', say(`it was ${event.state}`));
    // A call from before the clock was set back uses the earlier time.
    const isLate = now > this.#clock.now();
    must(isLate || this.#isDue(event, now, UNTAKEN_MS), 'dead only for a reason', say('it has just become due'));
    must(isOf(event, by), 'only its own endpoint', say('it belongs to another endpoint'));
    must(by.types.length > 0, 'dead only for a reason', say('who did it handles nothing'));
    const judge = { now, passed: this.#clock.passed, startedAt: by.startedAt, startedNow: by.startedNow };
    const isNew = judge.passed - by.startedAt < TAKEN_MS;
    must(!isNew, 'dead only for a reason', say('who did it has just begun to look'));
    const isTaken =
      this.#handledTypes.present(event, TAKEN_MS, judge) || this.#handledTypes.remembered(event, HANDLED_MS, judge);
    must(!isTaken, 'dead only for a reason', say('its type was handled within seven days'));
  }

  next(claim: Claim): ModelEvent | undefined {
    return this.#events.find((event) => {
      if (event.state !== 'pending' || event.dueAt > claim.now || !isHandled(event, claim)) return false;
      if (this.pauses.mayWait(event, claim.now) || this.breakers.mayWait(event, claim.now)) return false;
      if (this.rates.mayWait(event, claim, { now: claim.now, passed: this.#clock.passed })) return false;
      if (event.crashes > 0 && this.#runningSuspect(mayHold) !== undefined) return false;
      return !this.#ofEntity(event).some((other) => mayHold(other) || waitsBefore(other, event));
    });
  }

  overdue(workers: readonly Worker[]): ModelEvent | undefined {
    const judge = { now: this.#clock.now(), passed: this.#clock.passed, startedAt: 0, startedNow: 0 };
    return this.#events.find((event) => {
      if (event.state !== 'pending' || event.crashes > 0 || !this.#isDue(event, judge.now, OVERDUE_MS)) return false;
      if (!this.pauses.hasEnded(event, judge.now - OVERDUE_MS, judge.passed - OVERDUE_MS)) return false;
      if (!workers.some((worker) => isHandled(event, worker))) return false;
      return !this.#ofEntity(event).some(
        (other) =>
          mayHold(other) || (waitsBefore(other, event) && this.#handledTypes.suspected(other, 2 * TAKEN_MS, judge)),
      );
    });
  }

  #isDue({ dueAt, setBackAt }: ModelEvent, now: number, forMs = 0): boolean {
    return dueAt <= now - forMs || (setBackAt !== null && setBackAt <= this.#clock.passed - forMs);
  }

  #holdsBack(older: ModelEvent, claim: Claim): boolean {
    return (
      isHandled(older, claim) || this.#handledTypes.present(older, TAKEN_MS, { ...claim, passed: this.#clock.passed })
    );
  }

  #ofEntity(event: ModelEvent): ModelEvent[] {
    return this.#events.filter((other) => sameEntity(other, event));
  }

  #runningSuspect(runs: (event: ModelEvent) => boolean): ModelEvent | undefined {
    return this.#events.find((event) => event.crashes > 0 && runs(event));
  }
}
