import type { Scheduler } from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/inbox.ts';
import type { InboxModel } from './inbox-model.ts';
import type { Store, StoredRow } from './stores.ts';
import { must, Violation } from './violation.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Whether a simulated process still runs. */
export interface Life {
  /** it never does anything again: what it has called and not heard of, it never hears of */
  dead: boolean;
  /** it does nothing until it thaws */
  frozen: boolean;
  thawed: PromiseWithResolvers<void>;
  /** its next call finds the inbox failing */
  failsNext: boolean;
}

/**
 * Stands between processes and the inbox: every call waits for the scheduler before it takes effect and again before its
 * caller hears of it, so that a crash may come at either; each effect is held against the model, and the store with it.
 */
export class Observer {
  readonly #scheduler: Scheduler;
  readonly #model: InboxModel;
  readonly #store: Store;
  readonly #clock: VirtualClock;
  readonly #onCrash: (life: Life, call: string) => void;
  readonly #stopListening: (() => void)[] = [];
  /** the next process that makes this call crashes then */
  ambush: { readonly call: string; readonly at: 'before' | 'after' } | null = null;
  /** time passes while calls wait */
  isSlow = false;
  #violation: Violation | null = null;
  /** calls under way that no scheduler holds back */
  #running = 0;

  constructor(
    scheduler: Scheduler,
    model: InboxModel,
    store: Store,
    clock: VirtualClock,
    onCrash: (life: Life, call: string) => void,
  ) {
    this.#scheduler = scheduler;
    this.#model = model;
    this.#store = store;
    this.#clock = clock;
    this.#onCrash = onCrash;
  }

  /** The inbox as one process has it. */
  inboxOf(life: Life, base: Inbox): Inbox {
    const model = this.#model;
    const call = <T>(name: string, perform: () => Promise<T>, note: (result: T) => void): Promise<T> =>
      this.#call(life, name, perform, async (result) => note(result));
    return {
      ...base,
      accept: (event, deadline) => {
        const received = { ...event, receivedAt: this.#clock.now() };
        return call(
          'accept',
          () => base.accept(received, deadline),
          (answer) => model.accepted(received, answer),
        );
      },
      claim: (asked, limit) => {
        // The time is that of the effect, as in a queue for the disk.
        let request = asked;
        return call(
          'claim',
          () => {
            request = { ...asked, now: this.#clock.now(), ranOutBy: asked.ranOutBy ?? asked.now };
            return base.claim(request, limit);
          },
          (claimed) => model.claimed(request, limit, claimed, this.isSlow || request.now !== asked.now),
        );
      },
      renew: (leases, now, leaseMs) =>
        call(
          'renew',
          () => base.renew(leases, now, leaseMs),
          (held) => model.renewed(leases, now, leaseMs, held),
        ),
      settle: (lease, settlement, now) =>
        call(
          'settle',
          () => base.settle(lease, settlement, now),
          (held) => model.settled(lease, settlement, now, held),
        ),
      transaction: async (lease, work, attempt) => {
        let now = 0;
        let effect: string | null = null;
        const perform = async () => {
          const noted = { ...attempt, now: () => (now = attempt.now()) };
          try {
            const run: typeof work = (database) => {
              const result = work(database);
              effect = model.events[lease.seq - 1]?.id ?? null;
              return result;
            };
            return { value: await base.transaction(lease, run, noted) };
          } catch (failure) {
            return { failure };
          }
        };
        const end = await call('transaction', perform, (end) => {
          const aborted = attempt.signal.aborted && 'failure' in end;
          if (!aborted) model.transacted(lease, now, effect, 'value' in end);
        });
        if ('failure' in end) throw end.failure;
        return end.value;
      },
      noteLateError: (lease, error) => call('noteLateError', () => base.noteLateError(lease, error), noted),
      announce: (scope, now, ignoreBefore) =>
        this.#call(
          life,
          'announce',
          () => base.announce(scope, now, ignoreBefore),
          async () => {
            model.announced(scope.types, now);
            for (const { id, state } of await this.#store.rows()) {
              if (state === 'ignored' && model.get(id)?.state !== 'ignored') model.ignored(id, now, ignoreBefore);
            }
          },
        ),
      rerun: (key, content, now, readFrom) =>
        call(
          'rerun',
          () => base.rerun(key, content, now, readFrom),
          (moved) => model.rerun(key.id, content, now, moved, readFrom),
        ),
      prune: (endpoints, before, limit) =>
        this.#call(
          life,
          'prune',
          () => base.prune(endpoints, before, limit),
          async () => {
            for (const { id, body } of await this.#store.rows()) {
              if (body === null && model.get(id)?.pruned === false) model.pruned(id, before);
            }
          },
        ),
      nextDue: (scope) => this.#read(life, () => base.nextDue(scope)),
      onPending: (listener) => {
        const stop = base.onPending(() => {
          if (!life.dead && !life.frozen) listener();
        });
        this.#stopListening.push(stop);
        return stop;
      },
    };
  }

  /** Throws what has been found wrong, if anything was. */
  assertFine(): void {
    if (this.#violation !== null) throw this.#violation;
  }

  /** Lets up to so many of the waiting calls go on, as the scheduler chooses. */
  async release(count: number): Promise<void> {
    await this.#quiet();
    for (let left = count; left > 0 && this.#scheduler.count() > 0; left -= 1) {
      await this.#scheduler.waitNext(1);
      await this.#quiet();
    }
    this.assertFine();
  }

  /** Lets everything happen that can happen without time. */
  readonly drain = (): Promise<void> => this.release(10_000);

  /** Holds the whole store against the model. */
  async compare(): Promise<readonly StoredRow[]> {
    const rows = await this.#store.rows();
    const { events } = this.#model;
    const counts = () => `${rows.length} stored, ${events.length} accepted`;
    must(rows.length >= events.length, 'stored ⊇ acknowledged', counts);
    must(rows.length === events.length, 'stored once', counts);
    for (const { seq, id, state, deadReason, entity, createdMs, body, work } of rows) {
      const event = events[seq - 1];
      must(event?.id === id, 'stored once', () => `${id} is not the one that was accepted as no. ${seq}`);
      const stored = [state, deadReason, entity, createdMs].join();
      const expected = [event.state, event.deadReason, event.entity, event.created?.ms].join();
      const isLost = event.state === 'processing' && state !== 'processing';
      must(!isLost, 'a lease that is renewed holds', () => `${id} is ${state} though its lease has not run out`);
      must(stored === expected, 'the store agrees with the model', () => `${id}: ${stored}, expected ${expected}`);
      const isSame = body === null ? event.pruned : !event.pruned && Buffer.compare(body, event.body) === 0;
      must(isSame, 'the store agrees with the model', () => `${id} has another body`);
      if (work === null) continue;
      const isWorked = work.dueAt === event.dueAt && work.failures === event.failures && work.crashes === event.crashes;
      must(isWorked, 'the store agrees with the model', () => `${id}: ${JSON.stringify(work)}`);
      if (state !== 'processing') continue;
      const isLeased = work.fence === event.fence && work.leaseUntil === event.leaseUntil;
      must(isLeased, 'a lease that is renewed holds', () => `${id}: ${JSON.stringify(work)}, not ${event.leaseUntil}`);
    }
    return rows;
  }

  finish(): void {
    for (const stop of this.#stopListening) stop();
  }

  async #call<T>(life: Life, name: string, perform: () => Promise<T>, note: (result: T) => Promise<void>): Promise<T> {
    await this.#turnOf(life, name);
    if (this.#isAmbushed(name, 'before')) return this.#crash(life, name);
    if (life.failsNext) {
      life.failsNext = false;
      this.#model.disturb(() => true);
      throw new InboxUnavailableError('FAILED', 'the disk has a bad moment');
    }
    this.#running += 1;
    let result: T;
    try {
      result = await perform();
      await note(result);
      await this.compare();
    } catch (failure) {
      if (!(failure instanceof Violation)) throw failure;
      this.#violation ??= failure;
      return never();
    } finally {
      this.#running -= 1;
    }
    if (this.#isAmbushed(name, 'after')) return this.#crash(life, `${name} returns`);
    await this.#turnOf(life, `${name} returns`);
    return result;
  }

  #isAmbushed(call: string, at: 'before' | 'after'): boolean {
    if (this.ambush?.call !== call || this.ambush.at !== at) return false;
    this.ambush = null;
    return true;
  }

  #crash<T>(life: Life, call: string): Promise<T> {
    life.dead = true;
    this.#onCrash(life, call);
    return never();
  }

  async #read<T>(life: Life, perform: () => Promise<T>): Promise<T> {
    if (life.dead) return never();
    this.#running += 1;
    return perform().finally(() => {
      this.#running -= 1;
    });
  }

  /** Resolves when the scheduler says so, and never for the dead. */
  async #turnOf(life: Life, name: string): Promise<void> {
    do {
      if (life.frozen) await life.thawed.promise;
      if (life.dead) return never();
      await this.#scheduler.schedule(Promise.resolve(), name);
      if (life.dead) {
        this.#onCrash(life, name);
        return never();
      }
    } while (life.frozen);
  }

  /** Everything that waits for nobody has run. */
  async #quiet(): Promise<void> {
    do await turn();
    while (this.#running > 0);
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

function noted(): void {}
