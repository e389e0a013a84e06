import type { Scheduler } from 'fast-check';
import type { HandlerContext } from '../../../src/handlers.ts';
import type { EventKey, Inbox } from '../../../src/inbox/inbox.ts';
import { bytesOf, type EventContent } from './event-bytes.ts';
import { compareAttempts, compareFacts, type Sent } from './final-comparison.ts';
import { perform, type Behaviour } from './handler-script.ts';
import { InboxModel } from './inbox-model.ts';
import type { ModelEvent } from './model-event.ts';
import type { Tally } from './moves.ts';
import { Observer, type Life } from './observed-inbox.ts';
import { SimulatedProcess, type Role } from './simulated-process.ts';
import type { Store } from './stores.ts';
import { must, Violation } from './violation.ts';
import { VirtualClock, type TimerOwner } from './virtual-clock.ts';

/** Puts a fault into the inbox of one process. */
export type Mutation = (inbox: Inbox, life: Life) => Inbox;

/** A handler that is running. */
interface ActiveRun {
  readonly id: string;
  readonly life: Life;
  readonly context: HandlerContext;
}

/** One machine with its processes, its clock and its store, and the service that sends events to it. */
export class World {
  readonly clock = new VirtualClock();
  readonly model: InboxModel;
  readonly observer: Observer;
  readonly sent: Sent[] = [];
  processes: SimulatedProcess[] = [];
  commands = 0;
  readonly #store: Store;
  readonly #mutate: Mutation;
  readonly #scripts = new Map<string, Behaviour[]>();
  readonly #toRestart: Role[] = [];
  readonly #wake: (() => void)[] = [];
  readonly #runs = new Set<ActiveRun>();
  #started = 0;
  #healed = false;

  constructor(scheduler: Scheduler, store: Store, tally: Tally, mutate: Mutation = (inbox) => inbox) {
    this.model = new InboxModel((move) => tally.count(move));
    this.observer = new Observer(scheduler, this.model, store, this.clock, (life, call) => {
      tally.crashedAt(call);
      // Found dead in an ambush.
      const process = this.processes.find((one) => one.life === life);
      if (process !== undefined) this.crash(process);
    });
    this.#store = store;
    this.#mutate = mutate;
  }

  start(role: Role): void {
    const life: Life = { dead: false, frozen: false, thawed: Promise.withResolvers(), failsNext: false };
    const clock = this.clock.of(life);
    const process = new SimulatedProcess(role, life, this.#inboxOf(life), clock, async (event, context) => {
      await this.#handle(event.id, context, process);
    });
    this.processes.push(process);
  }

  /** It never does anything again. A supervisor starts another one when time passes. */
  crash(process: SimulatedProcess): void {
    process.life.dead = true;
    this.#disturbAll();
    this.processes = this.processes.filter((other) => other !== process);
    if (!process.closing) this.#toRestart.push(process.role);
  }

  /** As in a deploy: the same starts again when time passes. */
  close(process: SimulatedProcess): void {
    process.close();
    this.#toRestart.push(process.role);
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

  /** Its next call of the inbox fails, perhaps the one that would have settled an attempt. */
  failNextCall({ life }: SimulatedProcess): void {
    life.failsNext = true;
  }

  sendNew(content: EventContent, script: readonly Behaviour[], to: SimulatedProcess): void {
    const id = `evt_${this.sent.length + 1}`;
    this.#scripts.set(id, [...script]);
    this.sent.push({ id, contents: [], acknowledged: false });
    this.send(id, content, to);
  }

  send(id: string, content: EventContent, to: SimulatedProcess): void {
    const sent = this.sent.find((one) => one.id === id);
    sent?.contents.push(content);
    void to.deliver(bytesOf(id, content)).then((outcome) => {
      // The dead answer nobody.
      if (sent !== undefined && outcome.status === 200 && !to.life.dead) sent.acknowledged = true;
    });
  }

  rerun(event: ModelEvent): void {
    const operator: Life = { dead: false, frozen: false, thawed: Promise.withResolvers(), failsNext: false };
    const key: EventKey = { endpoint: 'default', id: event.id };
    // What an invalid body holds for a newer version of hookbox; ours will find it invalid again.
    const invented = { type: 'order.created', created: { ms: 1_767_225_600_001, ns: 0 }, entity: 'order:mer_1:ord_1' };
    const { type, created, entity } = event.created === null ? invented : event;
    void this.#inboxOf(operator).rerun(key, { type, created, entity }, this.clock.now(), Uint8Array.from(event.body));
  }

  /** Time passes while everything is as fast as it should be. */
  async advance(ms: number): Promise<void> {
    await this.observer.drain();
    this.restart();
    await this.clock.advance(ms, this.observer.drain);
    this.observer.assertFine();
    // Two renewals, as the first one may find the inbox failing.
    if (ms >= 2_500) this.#checkSignals();
  }

  /** Time passes while the inbox is slow: of what waits for it, only so much gets on after each timer. */
  async advanceSlowly(ms: number, releases: number): Promise<void> {
    await this.#slowly(() => this.clock.advance(ms, () => this.observer.release(releases)));
  }

  /** The machine sleeps. */
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

  jump(ms: number): void {
    this.#disturbAll();
    this.clock.jump(ms);
  }

  restart(): void {
    this.processes = this.processes.filter(isOpen);
    for (const role of this.#toRestart.splice(0)) this.start(role);
  }

  /** What must be true at any time. */
  async check(): Promise<void> {
    this.observer.assertFine();
    const rows = await this.observer.compare();
    const stored = new Set(rows.map(({ id }) => id));
    const lost = this.sent.find(({ id, acknowledged }) => acknowledged && !stored.has(id));
    must(lost === undefined, 'stored ⊇ acknowledged', () => `${lost?.id} was answered 200 and is not stored`);
    const leased = rows.filter(({ state, entity }) => state === 'processing' && entity !== null);
    const entities = new Set(leased.map(({ entity }) => entity));
    must(entities.size === leased.length, 'one live lease an entity', () => leased.map(({ id }) => id).join());
    const written = this.#store.effects().toSorted().join();
    const expected = [...this.model.effects].flatMap(([id, times]) => Array<string>(times).fill(id));
    const isOnce = [...this.model.effects.values()].every((times) => times === 1);
    must(
      isOnce && written === expected.toSorted().join(),
      'effect exactly once',
      () => `${written}, not ${expected.join()}`,
    );
  }

  /** Every fault ends; everything that was acknowledged must then come to rest, and everything else as well. */
  async heal(): Promise<void> {
    this.#healed = true;
    this.observer.ambush = null;
    this.#disturbAll();
    for (const process of this.processes) {
      process.life.failsNext = false;
      if (process.life.frozen) this.thaw(process);
    }
    for (const wake of this.#wake.splice(0)) wake();
    this.clock.correct();
    this.start('web and all');
    const web = this.processes.at(-1);
    await this.observer.drain();
    for (const { id, contents, acknowledged } of this.sent) {
      const [first] = contents;
      if (!acknowledged && first !== undefined && web !== undefined) this.send(id, first, web);
    }
    const open = (): ModelEvent | undefined =>
      this.model.events.find(({ state }) => state === 'pending' || state === 'processing');
    for (let seconds = 0; seconds < 90 && (seconds < 1 || open() !== undefined); seconds += 1)
      await this.advance(1_000);
    must(
      open() === undefined,
      'nothing stuck',
      () => `${open()?.id} is ${open()?.state} after a minute and a half of calm`,
    );
    const unanswered = this.sent.find(({ acknowledged }) => !acknowledged);
    must(unanswered === undefined, 'nothing stuck', () => `${unanswered?.id} was never acknowledged`);
    await this.check();
    compareFacts(this.model, this.sent);
    await compareAttempts(this.model, this.#store);
  }

  /** Closes what still runs; a process that has closed does nothing more. */
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
    this.observer.finish();
  }

  async #handle(id: string, context: HandlerContext, process: SimulatedProcess): Promise<void> {
    const next = this.#scripts.get(id)?.shift() ?? 'succeed';
    const run: ActiveRun = { id, life: process.life, context };
    this.#runs.add(run);
    try {
      await perform(this.#healed ? 'succeed' : next, id, context, {
        clock: this.clock.of(timersOfHandlers(process.life)),
        onHealed: (wake) => void this.#wake.push(wake),
        writeEffect: (database, of) => this.#store.writeEffect(database, of),
        killProcess: () => this.crash(process),
      });
    } finally {
      this.#runs.delete(run);
    }
  }

  /** A run that outlives its lease may go on, but its signal says so. */
  #checkSignals(): void {
    for (const { id, life, context } of this.#runs) {
      const isOver = (this.model.get(id)?.attempts.length ?? 0) >= context.attempt;
      if (!isOver || life.dead || life.frozen || context.signal.aborted) continue;
      throw new Violation('a run without a lease is told', `attempt ${context.attempt} of ${id} was not`);
    }
  }

  #inboxOf(life: Life): Inbox {
    const { inboxes } = this.#store;
    const base = inboxes[(this.#started += 1) % inboxes.length];
    if (base === undefined) throw new Error('a store has an inbox');
    return this.observer.inboxOf(life, this.#mutate(base, life));
  }

  #disturbAll(): void {
    this.model.disturb(() => true);
  }
}

/** What a handler waits for is its own affair, and no timer of hookbox. */
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
