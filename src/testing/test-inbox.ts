import type { Clock } from '../host/clock.ts';
import { delay, performance, turn } from '../host/real-timers.ts';
import { assertInbox, type Inbox } from '../inbox/contract.ts';
import { type DefaultDatabase, EVERYTHING, type Lease } from '../inbox/work.ts';
import type { StoredEvent } from '../inbox/event.ts';
import { memoryInbox } from '../inbox/memory/memory-inbox.ts';
import { assertOptions, positive, type RulesFor } from '../option-rules.ts';

/** The options of {@link testInbox}. */
export interface TestInboxOptions<Database = DefaultDatabase> {
  /**
   * The start time: a date, or milliseconds since 1970.
   *
   * @defaultValue the current time
   */
  readonly now?: Date | number | string;
  /**
   * The inbox that stores events. For `ctx.transaction`, use `sqliteInbox({ database }, { ephemeral: true })` with a
   * database in memory, or a `postgresInbox`.
   *
   * @defaultValue an inbox in memory
   */
  readonly inbox?: Inbox<Database>;
}

/** An inbox with its own clock. */
export interface TestInbox<Database = DefaultDatabase> {
  readonly inbox: Inbox<Database>;
  readonly clock: TestClock;
  /**
   * Advances the clock until no work is left. Resolves with all events: processed, dead or ignored.
   *
   * @param options - `withinMs`: the maximum time on the clock, two days by default
   * @throws an Error that names the remaining work, if the time is not enough
   */
  readonly handledAll: (options?: { readonly withinMs?: number }) => Promise<readonly StoredEvent[]>;
}

const OPTIONS: RulesFor<TestInboxOptions> = { now: true, inbox: true };

const TWO_DAYS_MS = 48 * 60 * 60_000;
const PATIENCE_MS = 1_000;
const PAGE = 1_000;
const SHOWN = 5;

/**
 * Creates an inbox whose clock your test controls. Hours of retries then take only as long as the handlers run. Pass
 * `inbox` and `clock` to `createReceiver` or `createProcessor`, and start the receiver or processor.
 *
 * @throws TypeError for an invalid `now`
 * @throws ConfigurationError `INVALID_OPTION` for an unknown option
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { buildEvent, deliverTo, testInbox } from 'hookbox/testing';
 *
 * const secret = 'a signing secret';
 * const { inbox, clock, handledAll } = testInbox({ now: '2026-01-01T00:00:00Z' });
 * const openFrom = clock.now() + 60 * 60_000;
 * const receiver = createReceiver({
 *   secret,
 *   inbox,
 *   clock,
 *   handlers: {
 *     'order.created': () => {
 *       if (clock.now() < openFrom) throw new Error('the shop is closed');
 *     },
 *   },
 *   logger: false,
 * });
 * await receiver.start();
 * await deliverTo(receiver, buildEvent('order.created'), { secret });
 *
 * const [event] = await handledAll();
 * if (event?.state !== 'processed') throw new Error('it was given up');
 * console.log('handled after', (clock.now() - event.receivedAt.getTime()) / 60_000, 'minutes');
 * await receiver.close();
 * ```
 */
export function testInbox<Database = DefaultDatabase>(options?: TestInboxOptions<Database>): TestInbox<Database>;
export function testInbox(options: TestInboxOptions = {}): TestInbox {
  assertOptions('testInbox', options, OPTIONS);
  const { now = Date.now(), inbox: kept } = options;
  if (kept !== undefined) assertInbox('testInbox', kept, 'accept');
  const startsAt = new Date(now).getTime();
  if (Number.isNaN(startsAt)) throw new TypeError(`now must be a Date or milliseconds since 1970, not ${String(now)}.`);
  const { inbox, rest, isRunning } = watchedInbox(kept ?? memoryInbox({ ephemeral: true }), PATIENCE_MS);
  const clock = new SteppingClock(startsAt, rest);

  return {
    inbox,
    clock,
    async handledAll(within = {}) {
      assertOptions('handledAll', within, { withinMs: positive(Infinity) });
      const { withinMs = TWO_DAYS_MS } = within;
      const until = clock.now() + withinMs;
      for (;;) {
        await rest();
        const due = await inbox.nextDue(EVERYTHING);
        if (due === null) return allOf(inbox);
        // The processor checks every second. On a disk, these checks would cost more than the handlers.
        if (!isRunning()) clock.skipTo(Math.min(due, until));
        if (!(await clock.step(until))) throw new Error(leftOver(await allOf(inbox), withinMs, clock.isWaitedFor));
      }
    },
  };
}

async function allOf(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await inbox.list({ after: events.at(-1)?.seq ?? 0, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

function leftOver(events: readonly StoredEvent[], withinMs: number, isWaitedFor: boolean): string {
  const left = events.filter(({ state }) => state === 'pending' || state === 'processing');
  const names = left.slice(0, SHOWN).map(({ id, type, state }) => `${id} (${type}, ${state})`);
  const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
  const what = `Not handled: ${names.join(', ')}${more}.`;
  if (isWaitedFor) return `${what} ${withinMs} ms passed on the test clock. Raise withinMs, or look at inbox.attempts.`;
  return (
    `${what} Nothing uses the test clock: pass clock and inbox of testInbox to createReceiver or createProcessor, ` +
    'and await start(). In inline mode, deliver the event again to run its handler again.'
  );
}

interface WatchedInbox<Database> {
  readonly inbox: Inbox<Database>;
  /** Resolves when no call is under way, and each handler has ended or had its time. */
  readonly rest: () => Promise<void>;
  readonly isRunning: () => boolean;
}

const BUSY_TURNS = 20;

function watchedInbox<Database>(inner: Inbox<Database>, patienceMs: number): WatchedInbox<Database> {
  const running = new Map<string, number>();
  let underWay = 0;

  const begin = (lease: Lease): void => void running.set(keyOf(lease), performance.now() + patienceMs);
  const end = (lease: Lease): void => void running.delete(keyOf(lease));

  async function watch<T>(call: Promise<T>, done: (result: T) => void = () => {}): Promise<T> {
    underWay += 1;
    try {
      const result = await call;
      done(result);
      return result;
    } finally {
      underWay -= 1;
    }
  }

  const isBusy = (): boolean => {
    const now = performance.now();
    return underWay > 0 || [...running.values()].some((until) => until > now);
  };

  const inbox: Inbox<Database> = {
    ...(inner.operations !== undefined && { operations: inner.operations }),
    accept: (event, deadline, start) =>
      watch(inner.accept(event, deadline, start), ({ started }) => {
        if (started !== undefined) begin(started);
      }),
    get: (key) => inner.get(key),
    list: (page) => inner.list(page),
    claim: (...requested) =>
      watch(inner.claim(...requested), (claimed) => {
        for (const { lease } of claimed) begin(lease);
      }),
    claimOne: (key, request, crashed) =>
      watch(inner.claimOne(key, request, crashed), (claimed) => {
        if (typeof claimed === 'object') begin(claimed.lease);
      }),
    renew: (leases, ...more) =>
      watch(inner.renew(leases, ...more), (held) => {
        const kept = new Set(held.map(keyOf));
        for (const lease of leases) if (!kept.has(keyOf(lease))) end(lease);
      }),
    settle: (lease, settlement, now) => watch(inner.settle(lease, settlement, now), () => end(lease)),
    transaction: (lease, work, attempt) => watch(inner.transaction(lease, work, attempt)),
    nextDue: (scope) => watch(inner.nextDue(scope)),
    announce: (scope, now, ignoreBefore, processor) => watch(inner.announce(scope, now, ignoreBefore, processor)),
    leave: (processor) => watch(inner.leave(processor)),
    processors: (now) => watch(inner.processors(now)),
    unhandled: (now, handledSince) => watch(inner.unhandled(now, handledSince)),
    ignoredSince: (scope, since, now) => watch(inner.ignoredSince(scope, since, now)),
    onPending: (listener) => inner.onPending(listener),
    attempts: (key) => inner.attempts(key),
    steps: (key) => watch(inner.steps(key)),
    keepStep: (lease, step, now) => watch(inner.keepStep(lease, step, now)),
    rerun: (key, content, now, readFrom) => watch(inner.rerun(key, content, now, readFrom)),
    prune: (endpoints, processedBefore, limit) => watch(inner.prune(endpoints, processedBefore, limit)),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };

  return {
    inbox,
    isRunning: () => running.size > 0,
    async rest() {
      await turn();
      for (let turns = 1; isBusy(); turns += 1) await (turns < BUSY_TURNS ? turn() : delay(1));
    },
  };
}

function keyOf({ seq, fence }: Lease): string {
  return `${seq}:${fence}`;
}

/** A clock that only your test advances. */
export interface TestClock extends Clock {
  /**
   * Advances the clock by `ms` milliseconds, and runs the work that becomes due, one item after another. A retry can run up
   * to a second late. A handler that takes longer than a second of real time is still running when `advance` returns.
   */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

class SteppingClock implements TestClock {
  readonly #timers = new Set<Timer>();
  readonly #rest: () => Promise<void>;
  #now: number;

  constructor(now: number, rest: () => Promise<void>) {
    this.#now = now;
    this.#rest = rest;
  }

  now(): number {
    return Math.floor(this.#now);
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    while (await this.step(until));
    this.#now = Math.max(this.#now, until);
    await this.#rest();
  }

  get isWaitedFor(): boolean {
    return this.#timers.size > 0;
  }

  skipTo(time: number): void {
    this.#now = Math.max(this.#now, time);
  }

  async step(until: number): Promise<boolean> {
    await this.#rest();
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
    if (next === undefined || next.at > until) return false;
    this.#timers.delete(next);
    this.#now = Math.max(this.#now, next.at);
    next.callback();
    return true;
  }
}
