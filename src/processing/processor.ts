import { setTimeout as delay } from 'node:timers/promises';
import { endpointsOf } from './endpoint.ts';
import { messageOf } from '../errors.ts';
import { assertHandlers, type Handlers } from './handlers.ts';
import type { DefaultDatabase } from '../inbox/default-database.ts';
import type { Inbox } from '../inbox/contract.ts';
import { TAKER_MS, type ClaimedEvent, type Lease, type Scope, type Settlement } from '../inbox/work.ts';
import { movedBack } from '../inbox/rules/set-back.ts';
import { consoleLogger, throttle, unfailing, type Logger } from '../host/logger.ts';
import { createAnnouncer } from './announcer.ts';
import { systemClock, type Clock } from '../host/clock.ts';
import { Doubt } from './doubt.ts';
import { positive } from '../number-option.ts';
import { CLOSE_GRACE_MS, CLOSE_LIMIT_MS, limitsOf, UPKEEP_EVERY_MS, type ProcessingOptions } from './limits.ts';
import { runAttempt, type AttemptEnd, type RunningAttempt } from './run-attempt.ts';

export interface RetentionOptions {
  /** Processed events become tombstones after this many days; 30 unless set, and never with `Infinity`. */
  readonly processedDays?: number;
}

export interface ProcessorOptions<Database = DefaultDatabase> {
  readonly inbox: Inbox<Database>;
  /**
   * Whose events it handles: the name of a receiver's endpoint, several of them, or `'*'` for those of every one; `default`
   * unless set. Events of other endpoints are left to other processors.
   */
  readonly endpoint?: string | readonly string[];
  /** What to run for each type of event; types without a handler are left to other processors. */
  readonly handlers: Handlers<Database>;
  /** `false` runs the events of one entity in any order and side by side. */
  readonly ordering?: boolean;
  readonly processing?: ProcessingOptions;
  readonly retention?: RetentionOptions;
  readonly logger?: Logger;
  /** for tests */
  readonly clock?: Clock;
}

/** Claims events from an inbox and runs their handlers. */
export interface Processor extends AsyncDisposable {
  /** Begins to process. Idempotent. */
  start(): Promise<void>;
  /**
   * Claims nothing more, gives running handlers ten seconds, then aborts their signals, and gives back what they have not
   * finished by then: it runs again, and the attempt does not count. Idempotent. The inbox stays open.
   */
  close(): Promise<void>;
}

/** An idle processor looks this often whether another process has stored something. */
const POLL_MS = 1_000;
/** Well under the ten minutes after which a processor counts as gone. */
const ANNOUNCE_MS = TAKER_MS / 2;
const PRUNE_BATCH = 100;
const DAY_MS = 24 * 60 * 60_000;
/** After each batch the writer is left alone for so many times as long. */
const REST = 3;

/**
 * Creates a processor: each stored event that has a handler reaches it, is retried until it succeeds, and is taken over
 * when whoever ran it goes away.
 *
 * @throws ConfigurationError for handlers, endpoints or limits that cannot work
 * @example
 * ```ts
 * import { createProcessor } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const worker = createProcessor({
 *   inbox: memoryInbox(),
 *   handlers: { 'order.created': async (event) => console.log(event.data.total) },
 * });
 * await worker.start();
 * await worker.close();
 * ```
 */
export function createProcessor<Database>(options: ProcessorOptions<Database>): Processor;
export function createProcessor(options: ProcessorOptions): Processor {
  const { inbox, handlers, ordering = true, retention = {}, clock = systemClock } = options;
  assertHandlers(handlers);
  const endpoints = endpointsOf(options.endpoint);
  const logger = unfailing(options.logger ?? consoleLogger);
  const { concurrency, leaseMs, timeoutMs, retry, types } = limitsOf(options);
  const processedMs = positive('processedDays', retention.processedDays ?? 30, Infinity) * DAY_MS;
  const seldom = throttle();
  const scope: Scope = { endpoints, types };

  let doubt = new Doubt({ leaseMs, lookMs: POLL_MS, now: clock.now() });
  const running = new Map<Lease, RunningAttempt>();
  const cancels = new Set<() => void>();
  let state: 'new' | 'started' | 'closing' | 'closed' = 'new';
  let claiming: Promise<void> | null = null;
  let again = false;
  let stopListening = (): void => {};
  /** handlers that run; `running` also holds those whose end is being written */
  let busy = 0;
  let settledOne = (): void => {};
  let closed: Promise<void> | undefined;

  const isStarted = (): boolean => state === 'started';
  const announcer = createAnnouncer({ inbox, scope, clock, logger, isOpen: isStarted });

  /** Claims as long as there are free slots and events for them. One claim at a time; a wish meanwhile is remembered. */
  function pump(): void {
    if (!isStarted() || busy >= concurrency) return;
    if (claiming !== null) {
      again = true;
      return;
    }
    again = false;
    claiming = claimAndRun()
      .catch((failure: unknown) => failed('cannot claim events', failure))
      .finally(() => {
        claiming = null;
        if (again) pump();
      });
  }

  async function claimAndRun(): Promise<void> {
    await Promise.resolve(); // handlers that ended together free their slots together
    const free = concurrency - busy;
    if (free <= 0) return;
    const now = clock.now();
    const claimed = await inbox.claim(
      {
        ...scope,
        now,
        leaseMs,
        ordered: ordering,
        holds: [...running.keys()],
        ranOutBy: doubt.ranOutBy(now),
        takenSince: announcer.takenSince(now),
      },
      free,
    );
    doubt.claimed(now, clock.now());
    if (!isStarted()) return giveBack(claimed);
    for (const event of claimed) run(event);
    if (claimed.length === free) again = true;
  }

  /** Closed while the claim was under way: nobody would renew these leases, so their handlers do not even start. */
  async function giveBack(claimed: readonly ClaimedEvent[]): Promise<void> {
    for (const { lease } of claimed) await inbox.settle(lease, { outcome: 'interrupted' }, clock.now());
  }

  function run(claimed: ClaimedEvent): void {
    const attempt = runAttempt(claimed, { inbox, handlers, logger, clock, timeoutMs, retry });
    running.set(claimed.lease, attempt);
    busy += 1;
    void attempt.ended
      .then((end) => {
        busy -= 1;
        const written = settle(claimed, end);
        pump(); // the next claim shares the commit of this settlement
        return written;
      })
      .catch((failure: unknown) => failed('cannot write how an attempt ended', failure))
      .finally(() => {
        running.delete(claimed.lease);
        settledOne();
        pump();
      });
  }

  async function settle(claimed: ClaimedEvent, end: AttemptEnd): Promise<void> {
    if (end.outcome === 'committed') return;
    const held = end.outcome !== 'lost' && (await write(claimed.lease, end));
    const facts = { endpoint: claimed.endpoint, id: claimed.id, attempt: claimed.attempt };
    if (!held) logger.warn(facts, 'the lease was lost before the handler ended; the event runs again');
    else if (end.outcome === 'dead') {
      logger.error({ ...facts, reason: end.reason, error: end.error.name }, 'event is dead; inbox.attempts says why');
    } else if (end.outcome === 'retry') {
      const again = { ...facts, error: end.error.name, dueAt: new Date(end.dueAt).toISOString() };
      logger.warn(again, 'handler failed and is run again; inbox.attempts says why');
    }
  }

  /** Tried until it is written: a handler that has succeeded must not count as crashed because the disk was full. */
  async function write(lease: Lease, settlement: Settlement): Promise<boolean> {
    const endedAt = clock.now();
    for (;;) {
      const now = clock.now();
      try {
        const held = await inbox.settle(lease, asOf(now, endedAt, settlement), now);
        doubt.wrote(now, clock.now());
        return held;
      } catch (failure) {
        failed('cannot write how an attempt ended', failure);
        if (!running.has(lease) || state === 'closed') throw failure;
        await new Promise<void>((resolve) => later(POLL_MS, resolve));
      }
    }
  }

  /** Renewed at least twice before it runs out; whoever cannot renew it has lost it to another. */
  async function renewAll(): Promise<void> {
    const leases = [...running.keys()];
    if (leases.length === 0) return;
    const now = clock.now();
    const held = new Set(await inbox.renew(leases, now, leaseMs));
    doubt.wrote(now, clock.now());
    for (const lease of leases) if (!held.has(lease)) running.get(lease)?.abort('lost');
  }

  async function poll(): Promise<void> {
    // A claim moves back what was written before the clock was set back; until then nothing seems due.
    if (doubt.look(clock.now())) return pump();
    if (busy >= concurrency) return;
    const due = await inbox.nextDue(scope);
    if (due === null) return;
    const wait = due - clock.now();
    if (wait <= 0) pump();
    else if (wait < POLL_MS) later(wait, pump);
  }

  async function prune(): Promise<void> {
    if (processedMs === Infinity) return;
    for (let pruned = Infinity; pruned > 0 && isStarted();) {
      const startedAt = performance.now();
      pruned = await inbox.prune(endpoints, clock.now() - processedMs, PRUNE_BATCH);
      if (pruned > 0) await delay(REST * (performance.now() - startedAt), undefined, { ref: false });
    }
  }

  async function upkeep(): Promise<void> {
    await inbox.upkeep?.({ now: () => clock.now(), isOpen: isStarted });
  }

  function later(ms: number, callback: () => void): void {
    if (state === 'closed') return;
    const cancel = clock.after(ms, () => {
      cancels.delete(cancel);
      callback();
    });
    cancels.add(cancel);
  }

  function renewIn(ms: number): void {
    later(ms, () => {
      renewAll().then(
        () => renewIn(leaseMs / 3),
        (failure: unknown) => {
          failed('cannot renew leases', failure);
          renewIn(Math.min(POLL_MS, leaseMs / 3));
        },
      );
    });
  }

  /** The next turn begins when this one has ended, so that a slow disk is not asked twice at once. */
  function every(ms: number, what: string, task: () => Promise<void>): void {
    later(ms, () => {
      task()
        .catch((failure: unknown) => report(what, failure))
        .finally(() => every(ms, what, task));
    });
  }

  /** Others may not have been able to renew their leases either. */
  function failed(what: string, failure: unknown): void {
    doubt.failed(clock.now());
    report(what, failure);
  }

  function report(what: string, failure: unknown): void {
    if (state === 'closed') return;
    seldom(what, (suppressed) => logger.error({ cause: messageOf(failure), suppressed }, what));
  }

  async function start(): Promise<void> {
    if (state !== 'new') return;
    state = 'started';
    doubt = new Doubt({ leaseMs, lookMs: POLL_MS, now: clock.now() });
    let sweepOn: () => Promise<void>;
    try {
      sweepOn = await announcer.announce();
    } catch (failure) {
      if (isStarted()) state = 'new'; // so that it can be started again
      throw failure;
    }
    if (!isStarted()) return; // closed meanwhile
    stopListening = inbox.onPending(pump);
    every(POLL_MS, 'cannot look for events', poll);
    renewIn(leaseMs / 3);
    every(ANNOUNCE_MS, 'cannot announce the handlers', async () => (await announcer.announce())());
    every(UPKEEP_EVERY_MS, 'cannot prune', prune);
    every(UPKEEP_EVERY_MS, 'cannot keep what operators look into', upkeep);
    sweepOn()
      .then(() => announcer.tellWhatWasPutAway())
      .catch((failure: unknown) => report('cannot look through what waits', failure));
    pump();
  }

  async function stop(): Promise<void> {
    state = 'closing';
    stopListening();
    await atMost(CLOSE_LIMIT_MS, claiming);
    await ended(CLOSE_LIMIT_MS);
    for (const attempt of running.values()) attempt.abort('closing');
    await ended(CLOSE_GRACE_MS);
    for (const [lease, attempt] of running) {
      // It does not listen, or its end could not be written. The fence keeps what it does later from counting.
      const end = attempt.abandon();
      if (end.outcome === 'committed' || end.outcome === 'lost') continue;
      const givenBack = inbox.settle(lease, end, clock.now()).catch((failure: unknown) => {
        failed('cannot give back an event', failure);
      });
      await atMost(CLOSE_GRACE_MS, givenBack);
    }
    state = 'closed';
    running.clear();
    for (const cancel of cancels) cancel();
    cancels.clear();
  }

  /** A database that is locked must not keep the process from ending; what was not given back runs again later. */
  function atMost(limitMs: number, work: Promise<unknown> | null): Promise<unknown> {
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(limitMs, resolve);
    return Promise.race([Promise.resolve(work).finally(cancel), limit]);
  }

  /** Waits until nothing runs, but not longer than a limit. */
  function ended(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (running.size === 0) return resolve();
      const cancel = clock.after(limitMs, resolve);
      settledOne = () => {
        if (running.size > 0) return;
        cancel();
        resolve();
      };
    });
  }

  const close = (): Promise<void> => (closed ??= stop());
  return { start, close, [Symbol.asyncDispose]: close };
}

/** How an attempt ended, when the clock was set back before that could be written: its backoff lasts as long as it would have. */
function asOf(now: number, endedAt: number, settlement: Settlement): Settlement {
  if (settlement.outcome !== 'retry' || now >= endedAt) return settlement;
  return { ...settlement, dueAt: movedBack(settlement.dueAt, endedAt - now, now) };
}
