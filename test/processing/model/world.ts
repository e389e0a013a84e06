import type { Scheduler } from 'fast-check';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { EventKey } from '../../../src/inbox/event.ts';
import { compareAttempts, compareFacts, findAll } from './final-comparison.ts';
import { perform } from './handler-script.ts';
import { newHang, type Hang } from './hangs.ts';
import { InboxModel } from './inbox-model.ts';
import { mayHold, nameOf, type ModelEvent, type Worker } from './model-event.ts';
import type { Tally } from './moves.ts';
import { newLife, type Life } from './life.ts';
import { Observer } from './observed-inbox.ts';
import { handledBy, isWorker, type Role } from './roles.ts';
import { Runs, type Run } from './runs.ts';
import { Service } from './service.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { Store } from './stores.ts';
import { must, Violation } from './violation.ts';
import { VirtualClock, type TimerOwner } from './virtual-clock.ts';

/** The part of each step that is simulated second by second. */
const LIVED_MS = 4_500;
const NOTICED_MS = 6_000;
const OFTEN = 4;
const NOBODY: Worker = { endpoints: [], types: [], startedAt: 0, startedNow: 0 };

export type Mutation = (inbox: Inbox, life: Life) => Inbox;

interface Fault {
  readonly mutate: Mutation;
  readonly of: 'processor' | undefined;
}

export class World {
  readonly clock = new VirtualClock();
  readonly model: InboxModel;
  readonly runs = new Runs();
  readonly observer: Observer;
  readonly service = new Service();
  processes: SimulatedProcess[] = [];
  commands = 0;
  readonly #store: Store;
  readonly #fault: Fault | undefined;
  readonly #toRestart: Role[] = [];
  readonly #wake: (() => void)[] = [];
  readonly #hangs: Hang[] = [];
  #started = 0;
  /** in real time: when the disk was full or the clock jumped for the last time */
  #doubtedUntil = -Infinity;
  #healed = false;

  constructor(scheduler: Scheduler, store: Store, tally: Tally, fault?: Fault) {
    const { clock, runs } = this;
    const model = new InboxModel((move) => tally.count(move), clock);
    const onCrash = (life: Life, call: string): void => {
      tally.crashedAt(call);
      const process = this.processes.find((one) => one.life === life);
      if (process !== undefined) this.crash(process);
    };
    this.model = model;
    this.observer = new Observer({ scheduler, model, runs, store, clock, onCrash });
    this.#store = store;
    this.#fault = fault;
  }

  start(role: Role): SimulatedProcess {
    // The processor knows neither that others could not renew, nor that the clock has jumped.
    if (this.clock.passed - this.#doubtedUntil < NOTICED_MS) this.#disturbAll();
    const life = newLife();
    const inbox = this.#inboxOf(life, {
      ...handledBy(role),
      startedAt: this.clock.passed,
      startedNow: this.clock.now(),
    });
    const process = new SimulatedProcess(role, life, inbox, this.clock.of(life), async (event, context) => {
      const name = nameOf({ endpoint: context.delivery.endpoint, id: event.id });
      await this.runs.during(name, life, context, (run) => this.#handle(run, process));
    });
    this.processes.push(process);
    return process;
  }

  crash(process: SimulatedProcess): void {
    process.life.dead = true;
    for (const hang of process.life.hangs) hang.end();
    this.#disturbAll();
    this.processes = this.processes.filter((other) => other !== process);
    if (!process.closing) this.#toRestart.push(process.role);
  }

  close(process: SimulatedProcess): void {
    process.close();
    this.#toRestart.push(process.role);
  }

  async kill(process: SimulatedProcess, graceMs: number): Promise<void> {
    const { life } = process;
    this.close(process);
    await this.advance(graceMs);
    if (life.dead) return;
    for (const run of this.runs.active()) {
      const event = run.life === life ? this.model.events.find(({ name }) => name === run.name) : undefined;
      const isHeld = event !== undefined && mayHold(event) && event.attempts.length < run.context.attempt;
      must(!isHeld || event.closing, 'a stop is no crash', () => `nobody was told that who runs ${run.name} closes`);
    }
    this.crash(process);
  }

  freeze({ life }: SimulatedProcess): void {
    life.frozen = true;
    life.thawed = Promise.withResolvers();
    this.#disturbAll();
  }

  thaw({ life }: SimulatedProcess): void {
    life.frozen = false;
    life.thawed.resolve();
  }

  failNextCall({ life }: SimulatedProcess): void {
    life.failsNext = true;
  }

  rerun(event: ModelEvent): void {
    const { endpoint, id } = event;
    const key: EventKey = { endpoint, id };
    const invented = { type: 'order.created', created: { ms: 1_767_225_600_001, ns: 0 }, entity: 'order:mer_1:ord_1' };
    const { type, created, entity } = event.created === null ? invented : event;
    const body = Uint8Array.from(event.body);
    const operator = this.#inboxOf(newLife(), NOBODY);
    operator.rerun(key, { type, created, entity }, this.clock.now(), body).catch(() => {});
  }

  get hasOperators(): boolean {
    return this.#store.inboxes[0]?.operations !== undefined;
  }

  discard({ endpoint, id }: ModelEvent): void {
    const { operations } = this.#inboxOf(newLife(), NOBODY);
    operations?.act('discard', [{ endpoint, id }], { actor: 'ada', now: this.clock.now() }, {}).catch(() => {});
  }

  async takeAway(event: ModelEvent): Promise<void> {
    if (this.#store.takeAway === undefined) return;
    await this.observer.drain();
    await this.#store.takeAway(event.seq);
    this.model.vanished(event);
    await this.check();
  }

  async numbersGoOnFrom(seq: number): Promise<void> {
    if (this.#store.numbersGoOnFrom === undefined) return;
    await this.observer.drain();
    await this.#store.numbersGoOnFrom(seq);
    this.model.numbersGoOnFrom(seq);
  }

  async findAll(): Promise<void> {
    await this.observer.drain();
    await findAll(this.model, this.#store);
  }

  async advance(ms: number): Promise<void> {
    await this.observer.drain();
    this.restart();
    await this.clock.advance(ms, this.observer.drain);
    this.observer.assertFine();
    if (ms >= 2_500) this.#checkSignals();
  }

  /** Time passes while the inbox is slow: after each timer, only so many waiting calls continue. */
  async advanceSlowly(ms: number, releases: number): Promise<void> {
    await this.#slowly(() => this.clock.advance(ms, () => this.observer.release(releases)));
  }

  async suspend(ms: number, releases: number): Promise<void> {
    await this.#slowly(() => this.clock.suspend(ms, () => this.observer.release(releases)));
  }

  async #slowly(pass: () => Promise<void>): Promise<void> {
    this.#disturbAll();
    this.restart();
    this.observer.isSlow = true;
    await pass();
    this.observer.isSlow = false;
  }

  async fillDisk(ms: number): Promise<void> {
    // A processor that has not tried to write meanwhile cannot know that others could not.
    if (ms < NOTICED_MS) this.#disturbAll();
    this.observer.isFull = true;
    await this.observer.drain();
    await this.clock.advance(ms, this.observer.drain);
    this.observer.isFull = false;
    this.#doubtedUntil = this.clock.passed;
    this.observer.assertFine();
  }

  async pass(ms: number, stepMs: number): Promise<void> {
    const there = this.processes.filter(({ life }) => !life.frozen && !life.closing);
    for (let left = ms; left > 0; left -= stepMs) {
      await this.observer.drain();
      this.#disturbAll();
      await this.clock.suspend(stepMs - LIVED_MS, this.observer.drain);
      await this.clock.advance(LIVED_MS, this.observer.drain);
      this.observer.assertFine();
    }
    if (ms < OFTEN * stepMs) return;
    const workers = there.filter(isOpen).map(({ role }) => ({ ...handledBy(role), startedAt: 0, startedNow: 0 }));
    const overdue = this.model.waiting.overdue(workers);
    must(overdue === undefined, 'nothing stuck', () => `${overdue?.name} waits though somebody handles it`);
  }

  async away(ms: number, stepMs: number, leave: 'close' | 'crash'): Promise<void> {
    const gone = this.processes.filter(({ role }) => isWorker(role));
    for (const process of gone) if (!process.closing) this[leave](process);
    await this.pass(ms, stepMs);
    this.restart();
  }

  jump(ms: number): void {
    if (ms > 0) this.#doubtedUntil = this.clock.passed;
    else this.#disturbAll();
    this.clock.jump(ms);
    if (ms < 0) this.model.waiting.setBack(this.clock.now());
  }

  restart(): void {
    this.processes = this.processes.filter(isOpen);
    for (const role of this.#toRestart.splice(0)) this.start(role);
  }

  async check(): Promise<void> {
    this.observer.assertFine();
    const rows = await this.observer.compare();
    const stored = new Set(rows.map(nameOf));
    const lost = this.service.sent.find((one) => one.acknowledged && !stored.has(nameOf(one)));
    must(lost === undefined, 'stored ⊇ acknowledged', () => `${lost?.id} was answered 200 and is not stored`);
    const leased = rows.filter(({ state, leased, entity }) => (leased ?? state === 'processing') && entity !== null);
    const entities = new Set(leased.map(({ endpoint, entity }) => `${endpoint}/${entity}`));
    must(entities.size === leased.length, 'one live lease an entity', () => leased.map(nameOf).join());
    const written = (await this.#store.effects()).toSorted().join();
    const expected = [...this.model.effects].flatMap(([id, times]) => Array<string>(times).fill(id));
    const isOnce = [...this.model.effects.values()].every((times) => times === 1);
    must(
      isOnce && written === expected.toSorted().join(),
      'effect exactly once',
      () => `${written}, not ${expected.join()}`,
    );
  }

  async heal(): Promise<void> {
    this.#healed = true;
    this.observer.ambush = null;
    this.#disturbAll();
    for (const process of this.processes) {
      process.life.failsNext = false;
      if (process.life.frozen) this.thaw(process);
    }
    for (const wake of this.#wake.splice(0)) wake();
    const webs = [this.start('web and all'), this.start('web of b and all')];
    await this.observer.drain();
    this.service.sendAgain(webs);
    const open = (): ModelEvent | undefined =>
      this.model.events.find(({ state }) => state === 'pending' || state === 'processing');
    for (let seconds = 0; seconds < 90 && (seconds < 1 || open() !== undefined); seconds += 1)
      await this.advance(1_000);
    must(
      open() === undefined,
      'nothing stuck',
      () => `${open()?.name} is ${open()?.state} after a minute and a half of calm`,
    );
    const unanswered = this.service.sent.find(({ acknowledged }) => !acknowledged);
    must(unanswered === undefined, 'nothing stuck', () => `${unanswered?.id} was never acknowledged`);
    await this.check();
    compareFacts(this.model, this.service.sent);
    await compareAttempts(this.model, this.#store);
  }

  async end(): Promise<void> {
    for (const process of this.processes) if (!process.closing) process.close();
    await this.observer.drain();
    for (let seconds = 0; seconds < 45 && this.processes.some(isOpen); seconds += 1) await this.advance(1_000);
    const open = this.processes.find(isOpen);
    must(open === undefined, 'a closed process rests', () => `a process for ${open?.role} does not close`);
    await this.advance(1_000);
    const restless = this.processes.find(({ life }) => !life.dead && this.clock.timersOf(life) > 0);
    must(restless === undefined, 'a closed process rests', () => `one for ${restless?.role} still has timers`);
  }

  finish(): void {
    for (const { life } of this.processes) life.dead = true;
    for (const hang of this.#hangs) hang.end();
    this.observer.finish();
  }

  async #handle(run: Run, process: SimulatedProcess): Promise<void> {
    const { name, context } = run;
    const next = this.service.behaviourOf(name);
    await perform(this.#healed ? 'succeed' : next, name, context, {
      clock: this.clock.of(timersOfHandlers(process.life)),
      onHealed: (wake) => void this.#wake.push(wake),
      writeEffect: (database, of) => this.#store.writeEffect(database, of),
      loseConnection: (database) => this.#store.loseConnection(database),
      hang: () => {
        const hang = newHang();
        process.life.hangs.push(hang);
        this.#hangs.push(hang);
        return hang.promise;
      },
      killProcess: () => this.crash(process),
      act: () => {
        const event = this.model.events.find((one) => one.name === name);
        const isHeld = event !== undefined && mayHold(event) && event.attempts.length < context.attempt;
        if (isHeld && event.hasStep) this.observer.note(new Violation('a kept step is not run again', name));
      },
      doesWithout: () => {
        run.doesWithout = true;
      },
    });
  }

  /** A run may outlive its lease, but its signal must be aborted. */
  #checkSignals(): void {
    for (const { name, context } of this.runs.active()) {
      const event = this.model.events.find((one) => one.name === name);
      const hasCommitted = event !== undefined && event.hold !== null && event.attempts.length === context.attempt;
      const isOver = !hasCommitted && (event?.attempts.length ?? 0) >= context.attempt;
      if (!isOver || context.signal.aborted) continue;
      throw new Violation('a run without a lease is told', `attempt ${context.attempt} of ${name} was not`);
    }
  }

  #inboxOf(life: Life, by: Worker): Inbox {
    const { inboxes } = this.#store;
    const base = inboxes[(this.#started += 1) % inboxes.length];
    if (base === undefined) throw new Error('a store has an inbox');
    const { mutate = same, of } = this.#fault ?? {};
    if (of === 'processor') return mutate(this.observer.inboxOf(life, by, base), life);
    return this.observer.inboxOf(life, by, mutate(base, life));
  }

  #disturbAll(): void {
    this.model.disturb(() => true);
  }
}

const same: Mutation = (inbox) => inbox;

function timersOfHandlers(life: Life): TimerOwner {
  return {
    get dead() {
      return life.dead;
    },
    get frozen() {
      return life.frozen;
    },
  };
}

function isOpen({ closed, life }: SimulatedProcess): boolean {
  return !closed && !life.dead;
}
