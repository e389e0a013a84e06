import type { Scheduler } from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { isHanging } from './hangs.ts';
import type { InboxModel } from './inbox-model.ts';
import type { Worker } from './model-event.ts';
import type { Life } from './life.ts';
import type { Runs } from './runs.ts';
import type { Store, StoredRow } from './stores.ts';
import { compareStore } from './store-comparison.ts';
import { Violation } from './violation.ts';
import type { VirtualClock } from './virtual-clock.ts';

type Note<T> = (result: T, rows: readonly StoredRow[]) => void;

interface Scene {
  readonly scheduler: Scheduler;
  readonly model: InboxModel;
  readonly runs: Runs;
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly onCrash: (life: Life, call: string) => void;
}

/** Each call waits for the scheduler before it takes effect, and again before its answer. */
export class Observer {
  readonly #scheduler: Scheduler;
  readonly #model: InboxModel;
  readonly #runs: Runs;
  readonly #store: Store;
  readonly #clock: VirtualClock;
  readonly #onCrash: (life: Life, call: string) => void;
  readonly #stopListening: (() => void)[] = [];
  ambush: { readonly call: string; readonly at: 'before' | 'after' } | null = null;
  isSlow = false;
  isFull = false;
  #violation: Violation | null = null;
  #running = 0;
  #idle = Promise.withResolvers<void>();

  constructor({ scheduler, model, runs, store, clock, onCrash }: Scene) {
    this.#scheduler = scheduler;
    this.#model = model;
    this.#runs = runs;
    this.#store = store;
    this.#clock = clock;
    this.#onCrash = onCrash;
  }

  inboxOf(life: Life, by: Worker, base: Inbox): Inbox {
    const model = this.#model;
    const call = <T>(name: string, perform: () => Promise<T>, note: Note<T>): Promise<T> =>
      this.#call(life, name, perform, note);
    const { operations } = base;
    return {
      ...base,
      upkeep: (how) => this.#read(life, async () => base.upkeep?.(how)),
      ...(operations && {
        operations: {
          ...operations,
          count: (rows) => this.#read(life, () => operations.count(rows)),
          noteRejected: (refused) => this.#read(life, () => operations.noteRejected(refused)),
          act: (act, keys, by, options) =>
            call(
              'act',
              () => operations.act(act, keys, by, options),
              ({ results }) => {
                for (const { key, result } of results) model.discarded(key, result);
              },
            ),
        },
      }),
      accept: (event, deadline, asked) => {
        const received = { ...event, receivedAt: this.#clock.now() };
        // A lease begins when it is written.
        let start = asked;
        return call(
          'accept',
          () => {
            start = asked && { ...asked, now: this.#clock.now() };
            return base.accept(received, deadline, start);
          },
          (answer) => {
            model.accepted(received, answer);
            if (start === undefined || answer.started === undefined) return;
            model.started(by, start, received, answer.started, this.isSlow);
          },
        );
      },
      claim: (asked, limit, _, tellFull) => {
        // The time of the effect, as if the claim had waited for the disk.
        let request = asked;
        return call(
          'claim',
          () => {
            request = { ...asked, now: this.#clock.now(), expiredBy: asked.expiredBy ?? asked.now };
            return base.claim(request, limit, undefined, tellFull);
          },
          (claimed, rows) => model.claimed(by, request, limit, claimed, rows, this.isSlow || request.now !== asked.now),
        );
      },
      renew: (leases, now, leaseMs, closing) =>
        call(
          'renew',
          () => base.renew(leases, now, leaseMs, closing),
          (held) => model.renewed(leases, now, leaseMs, closing === true, held),
        ),
      settle: (lease, settlement, now) => {
        return call(
          'settle',
          () => base.settle(lease, settlement, now),
          (held) => {
            const event = model.of(lease);
            if (event !== undefined && settlement.outcome === 'committed') this.#runs.letGo(event);
            else if (held && event !== undefined) this.#runs.settled(event, settlement, life);
            model.settled(lease, settlement, now, held !== false);
          },
        );
      },
      steps: (key) => this.#read(life, () => base.steps(key)),
      keepStep: (lease, step, now) =>
        call(
          'keepStep',
          () => base.keepStep(lease, step, now),
          (kept) => model.keptStep(lease, kept),
        ),
      transaction: async (lease, work, attempt) => {
        let now = 0;
        let effect: string | null = null;
        let hasBegun = false;
        let isLeft = false;
        const perform = async () => {
          const noted = { ...attempt, now: () => (now = attempt.now()) };
          try {
            const run: typeof work = (database) => {
              hasBegun = true;
              const result = work(database);
              const written = (): void => {
                effect = model.of(lease)?.name ?? null;
              };
              if (!(result instanceof Promise)) written();
              else result.then(written, () => {});
              if (isHanging(result)) {
                isLeft = true;
                this.#ended();
              }
              return result;
            };
            return { value: await base.transaction(lease, run, noted) };
          } catch (failure) {
            return { failure };
          } finally {
            if (isLeft) this.#running += 1;
          }
        };
        const failed = (failure: unknown): never => {
          const event = model.of(lease);
          if (event !== undefined) this.#runs.notCommitted(event, failure, hasBegun);
          throw failure;
        };
        const end = await call('transaction', perform, (end) => {
          const aborted = attempt.signal.aborted && 'failure' in end;
          if (!aborted) model.transacted(lease, now, effect, 'value' in end);
        }).catch(failed);
        return 'failure' in end ? failed(end.failure) : end.value;
      },
      announce: (scope, asked, ignoreBefore, processor) => {
        let now = asked;
        return call(
          'announce',
          () => {
            now = this.#clock.now();
            return base.announce(scope, now, ignoreBefore && ignoreBefore + Math.min(0, now - asked), processor);
          },
          (_, rows) => {
            model.waiting.announced(by, now);
            for (const row of rows) {
              const event = model.get(row);
              if (row.state === 'ignored' && event !== undefined && event.state !== 'ignored') {
                model.ignored(event, by, now);
              }
            }
          },
        );
      },
      rerun: (key, content, now, readFrom) =>
        call(
          'rerun',
          () => base.rerun(key, content, now, readFrom),
          (moved) => model.rerun(key, content, now, moved, readFrom),
        ),
      prune: (endpoints, before, limit) =>
        call(
          'prune',
          () => base.prune(endpoints, before, limit),
          (_, rows) => {
            for (const row of rows) {
              const event = model.get(row);
              if (row.body === null && event?.pruned === false) model.pruned(event, by, before);
            }
          },
        ),
      nextDue: (scope) => this.#read(life, () => base.nextDue(scope)),
      leave: (processor) => this.#read(life, () => base.leave(processor)),
      unhandled: (now, handledSince) => this.#read(life, () => base.unhandled(now, handledSince)),
      ignoredSince: (scope, since, now) => this.#read(life, () => base.ignoredSince(scope, since, now)),
      onPending: (listener) => {
        const stop = base.onPending(() => {
          if (!life.dead && !life.frozen) listener();
        });
        this.#stopListening.push(stop);
        return stop;
      },
    };
  }

  /** In a handler, an error would only be one of its failures. */
  note(violation: Violation): void {
    this.#violation ??= violation;
  }

  assertFine(): void {
    if (this.#violation !== null) throw this.#violation;
  }

  async release(count: number): Promise<void> {
    await this.#quiet();
    for (let left = count; left > 0 && this.#scheduler.count() > 0; left -= 1) {
      await this.#scheduler.waitNext(1);
      await this.#quiet();
    }
    this.assertFine();
  }

  readonly drain = (): Promise<void> => this.release(10_000);

  async compare(): Promise<readonly StoredRow[]> {
    const rows = await this.#store.rows();
    compareStore(this.#model, rows);
    return rows;
  }

  finish(): void {
    for (const stop of this.#stopListening) stop();
  }

  async #call<T>(life: Life, name: string, perform: () => Promise<T>, note: Note<T>): Promise<T> {
    await this.#turnOf(life, name);
    if (this.#isAmbushed(name, 'before')) return this.#crash(life, name);
    if (life.failsNext || this.isFull) {
      // A full disk is full for every process, so a process that could not renew has not lost its leases.
      if (life.failsNext) this.#model.disturb(() => true);
      life.failsNext = false;
      throw new InboxUnavailableError('FAILED', 'the disk is full');
    }
    this.#running += 1;
    let result: T;
    try {
      const startedAt = performance.now();
      result = await perform();
      const waitedMs = Math.ceil(performance.now() - startedAt);
      const rows = await this.#store.rows();
      note(result, rows);
      compareStore(this.#model, rows, waitedMs);
    } catch (failure) {
      if (!(failure instanceof Violation)) throw failure;
      this.#violation ??= failure;
      return never();
    } finally {
      this.#ended();
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
      this.#ended();
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

  #ended(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#idle.resolve();
  }

  async #quiet(): Promise<void> {
    for (;;) {
      await turn();
      if (this.#running === 0) return;
      this.#idle = Promise.withResolvers();
      await this.#idle.promise;
    }
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
