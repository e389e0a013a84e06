import { ownContext } from '../host/own-context.ts';
import { setImmediate } from '../host/real-timers.ts';
import { assertEventSchemas, type EventSchemas } from '../events/own-events.ts';
import { failureLog, loggerOf, upkeepLog, type Logger, outageLog } from '../host/logger.ts';
import type { Clock } from '../host/clock.ts';
import type { OpenTelemetryApi } from '../host/tracing.ts';
import { assertInbox, type Inbox } from '../inbox/contract.ts';
import type { DefaultDatabase, ClaimedEvent, Scope } from '../inbox/work.ts';
import type { Acceptance, IncomingEvent, Started } from '../inbox/event.ts';
import { quietOf } from '../inbox/rules/latest.ts';
import { isInScope, PRESENT_MS } from '../inbox/rules/processors.ts';
import { isRated } from '../inbox/rules/rates.ts';
import { assertOptions, nested, type RulesFor } from '../option-rules.ts';
import { createAnnouncer } from './announcer.ts';
import type { AttemptHooks } from './attempt-hooks.ts';
import { attemptsOf } from './attempts.ts';
import { endpointsOf } from './endpoint.ts';
import { assertHandlers, type Handlers } from './handlers.ts';
import {
  AGAIN_MS,
  PROCESSING_RULES,
  RETENTION_RULES,
  UPKEEP_EVERY_MS,
  type ProcessingOptions,
  pruning,
  type RetentionOptions,
} from './limits.ts';
import { assertRelease, releaseNote } from './release.ts';
import { Slots } from './slots.ts';

/**
 * The options of {@link createProcessor}, including the hooks `onFailed` and `onDead`.
 *
 * @typeParam Database - the database that `ctx.transaction` passes to its function
 */
export interface ProcessorOptions<Database = DefaultDatabase> extends AttemptHooks {
  /** The inbox whose events the processor claims. */
  readonly inbox: Inbox<Database>;
  /**
   * The endpoints whose events the processor handles: one name, several names, or `'*'` for all endpoints. The
   * processor leaves events of other endpoints to other processors.
   *
   * @defaultValue `'default'`
   */
  readonly endpoint?: string | readonly string[];
  /** A handler for each event type. If a type has no handler, its events are left to other processors. */
  readonly handlers: Handlers<Database>;
  /**
   * Schemas for your own event types, and for your own fields in the eleven types. hookbox checks an event before its
   * handler runs; the time that this check takes counts towards `timeoutMs`. The handler receives the output of the
   * schema. An event that does not fit the schema becomes `dead(invalid)`.
   */
  readonly events?: EventSchemas;
  /**
   * With `false`, the events of one entity are handled in any order and concurrently.
   *
   * @defaultValue `true`
   */
  readonly ordering?: boolean;
  /** The limits and the retry schedule for handlers. */
  readonly processing?: ProcessingOptions;
  /** How long the inbox keeps processed events. */
  readonly retention?: RetentionOptions;
  /**
   * The logger of the processor; `false` for no log.
   *
   * @defaultValue the console, for warnings and errors only
   */
  readonly logger?: Logger | false;
  /**
   * The name of this release of your code, such as a version or a commit hash. At most 100 characters. Operators see
   * when the release began, and whether handlers have failed more often or taken longer since then.
   */
  readonly release?: string;
  /**
   * `false` keeps the messages and stacks of handler errors out of the log, and the lines of `ctx.log` out of the inbox,
   * because they may quote customer data.
   *
   * @defaultValue `true`
   */
  readonly logErrors?: boolean;
  /** The namespace of `@opentelemetry/api`. Each handler run becomes a span that links to the span of its delivery. */
  readonly openTelemetry?: OpenTelemetryApi;
  /** For tests: the clock that processing uses. */
  readonly clock?: Clock;
}

const OPTIONS: RulesFor<ProcessorOptions> = {
  inbox: true,
  endpoint: true,
  handlers: true,
  events: true,
  ordering: 'boolean',
  processing: nested(PROCESSING_RULES),
  retention: nested(RETENTION_RULES),
  logger: true,
  release: true,
  logErrors: 'boolean',
  onFailed: 'function',
  onDead: 'function',
  openTelemetry: true,
  clock: true,
};

/** Claims events from an inbox and runs their handlers. */
export interface Processor extends AsyncDisposable {
  /** Starts processing. Idempotent. */
  start(): Promise<void>;
  /**
   * Stops the processor. It claims no more events, gives running handlers time to finish, and then aborts their
   * signals. Soon after, it releases the events of handlers that are still running: the handler runs again, and the
   * attempt does not count. Closing takes at most `processing.closeMs`. Idempotent. The inbox stays open.
   */
  close(): Promise<void>;
}

/** The inbox counts as available after this many successful checks in a row, one each second. */
const WELL_AGAIN = 3;
/** A locked file must not keep a processor from closing. */
const LEAVE_LIMIT_MS = 1_000;
const ANNOUNCE_MS = PRESENT_MS / 2;

/**
 * Creates a processor. A processor runs the handler for each stored event, and retries until the handler succeeds or no
 * attempts are left. If a processor dies, another processor takes over the events that the first one was handling.
 *
 * @throws ConfigurationError `UNKNOWN_EVENT_TYPE` (for a key of `handlers`), or `INVALID_OPTION` (for an invalid or
 * unknown option)
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
  assertOptions('createProcessor', options, OPTIONS);
  assertInbox('createProcessor', options.inbox, 'claim');
  return processorOf(options);
}

export interface ReceivingProcessor extends Processor {
  /** Stores an event as running, without a claim, if no other event must run first. */
  accept: Inbox['accept'];
}

export function processorOf(options: ProcessorOptions): ReceivingProcessor {
  const { inbox, handlers, events = {}, ordering = true, retention = {} } = options;
  assertEventSchemas(events);
  assertHandlers(handlers, events);
  assertRelease(options.release);
  const endpoints = endpointsOf(options.endpoint);
  const logger = loggerOf(options.logger);
  const { clock, limits, timers, grace, leases, ending, ...attempts } = attemptsOf(
    { ...options, logger },
    false,
    unanswered,
  );
  const { concurrency, leaseMs, byType, latest, types, named } = limits;
  const { rates, probes } = byType;
  const scope: Scope = { endpoints, types, ...(types === '*' && { named }) };
  const now = (): number => clock.now();
  const isOpen = (): boolean => state === 'started';

  const announcer = createAnnouncer({ name: attempts.processor, inbox, scope, clock, logger, isOpen });
  const prune = pruning(retention, { inbox, endpoints, now, isOpen });
  const release = releaseNote(inbox, { release: options.release, endpoints, now });
  const logFailure = failureLog(logger);
  const outage = outageLog(logger, 'the inbox is available again', { times: WELL_AGAIN });

  let state: 'new' | 'started' | 'closing' | 'closed' = 'new';
  /** The code that stores events wakes the processor in its own context. */
  let inOwnContext = ownContext();
  const slots = new Slots(concurrency, byType.bounds);
  let claiming: Promise<void> | null = null;
  /** More events are waiting than slots are free; they come before new ones. */
  let isBehind = true;
  /** stored as running, but not started */
  let toBegin: { readonly event: ClaimedEvent; readonly leave: () => void }[] = [];
  let again = false;
  /** the events of a failed claim do not look due */
  let hasFailed = false;
  let stopListening = (): void => {};
  let cancelWake = (): void => {};
  let closed: Promise<void> | undefined;

  /** One claim at a time. A request during a claim is remembered. */
  function pump(): void {
    if (!isOpen() || slots.free === 0) return;
    if (claiming !== null) {
      again = true;
      return;
    }
    again = false;
    claiming = claimAndRun()
      .catch((failure: unknown) => {
        hasFailed = true;
        attempts.failed('cannot claim events', failure);
      })
      .finally(() => {
        claiming = null;
        if (again) pump();
      });
  }

  async function claimAndRun(): Promise<void> {
    await Promise.resolve(); // handlers that ended together free their slots together
    const { free } = slots;
    if (free === 0) return;
    const claimed = await claim(free);
    // Closed by now: no timer would renew these leases.
    if (!isOpen()) return ending.giveBackUnrun(Promise.resolve(claimed));
    for (const event of claimed) run(event);
    if (claimed.length === free) again = true;
    else isBehind = false;
  }

  async function claim(limit: number): Promise<readonly ClaimedEvent[]> {
    const requestedAt = now();
    const expiredBy = grace.expiredBy(requestedAt);
    const handledSince = announcer.handledSince(requestedAt);
    const numbered = {
      ...scope,
      now: requestedAt,
      leaseMs,
      ordered: ordering,
      holds: leases.held(),
      expiredBy,
      handledSince,
      ...(rates !== undefined && { rates }),
      ...(latest !== undefined && { latest }),
      ...(probes !== undefined && { probes }),
    };
    cancelWake();
    const tellFull = (freeAt: number): void => {
      cancelWake = timers.later(Math.max(1, freeAt - now()), pump);
    };
    const request = { ...numbered, ...slots.room() };
    const claimed = await inbox.claim(request, limit, attempts.crashed, tellFull, attempts.superseded);
    hasFailed = false;
    grace.claimed(requestedAt, now());
    return claimed;
  }

  function claimFirst(): void {
    isBehind = true;
    pump();
  }

  async function accept(event: IncomingEvent, deadline: number): Promise<Acceptance> {
    if (!isOpen() || hasFailed || !isInScope(scope, event)) return inbox.accept(event, deadline);
    // Only a claim can decide about these.
    if (isRated({ ...scope, rates }, event.type) || quietOf(latest, event.type) !== null)
      return inbox.accept(event, deadline);
    if (!slots.hasRoomFor(event.type)) isBehind = true;
    if (isBehind) return inbox.accept(event, deadline);
    const leave = slots.enter(event.type);
    let started: Started | undefined;
    try {
      const requestedAt = now();
      const acceptance = await inbox.accept(event, deadline, { now: requestedAt, leaseMs, ordered: ordering });
      ({ started } = acceptance);
      if (started === undefined) return acceptance;
      grace.wrote(requestedAt, now());
      await begin(firstClaimOf(event, started), leave);
      return acceptance;
    } finally {
      if (started === undefined) leave();
      inOwnContext(pump); // a claim may have been made while this slot was taken
    }
  }

  /** The handler starts after the response, because the sender waits for that. */
  async function begin(event: ClaimedEvent, leave: () => void): Promise<void> {
    if (!isOpen()) {
      leave();
      return ending.giveBackUnrun(Promise.resolve([event]));
    }
    toBegin.push({ event, leave });
    if (toBegin.length === 1) setImmediate(() => inOwnContext(beginAll));
  }

  function beginAll(): void {
    const begun = toBegin;
    toBegin = [];
    for (const { event, leave } of begun) {
      leave();
      run(event);
    }
  }

  function run(claimed: ClaimedEvent): void {
    const attempt = attempts.run(claimed);
    const leave = slots.enter(attempt.type);
    const settled = attempt.ended
      .then((end) => {
        leave();
        const written = ending.write(claimed.lease, attempt, end);
        pump(); // the next claim shares the commit of this settlement
        return written;
      })
      .finally(pump);
    ending.hold(claimed.lease, attempt, settled);
  }

  /** Other processes may have stored events, and events may have become due. */
  async function poll(): Promise<void> {
    // After the clock was set back, no event seems due until a claim moves the times.
    if (grace.look(now()) || hasFailed) return pump();
    const due = await inbox.nextDue(scope);
    outage.answered();
    if (due === null) return;
    const wait = due - now();
    if (wait <= 0) claimFirst();
    else if (wait < AGAIN_MS) timers.later(wait, claimFirst);
  }

  async function upkeep(): Promise<void> {
    await inbox.upkeep?.({ now, isOpen, report: upkeepLog(logger) });
  }

  /** For work that is retried until it is done. */
  function unanswered(what: string, failure: unknown): void {
    outage.failed(report(what, failure));
  }

  function report(what: string, failure: unknown): boolean {
    return state !== 'closed' && logFailure(what, failure);
  }

  function every(ms: number, what: string, task: () => Promise<void>, onFailure: typeof unanswered = report): void {
    timers.every(ms, task, (failure) => onFailure(what, failure));
  }

  async function start(): Promise<void> {
    if (state !== 'new') return;
    state = 'started';
    inOwnContext = ownContext();
    grace.startAt(now());
    let sweepOn: () => Promise<void>;
    try {
      sweepOn = await announcer.announce();
    } catch (failure) {
      if (isOpen()) state = 'new'; // so that it can be started again
      throw failure;
    }
    if (!isOpen()) return; // closed by now
    release.begin();
    stopListening = inbox.onPending(() => inOwnContext(pump));
    every(AGAIN_MS, 'cannot find new events', poll, unanswered);
    every(AGAIN_MS, 'cannot register this processor in the inbox', () => announcer.showAgain(), unanswered);
    every(ANNOUNCE_MS, 'cannot register this processor in the inbox', async () => (await announcer.announce())());
    every(UPKEEP_EVERY_MS, 'cannot prune events', prune);
    every(UPKEEP_EVERY_MS, 'cannot store statistics for operators', upkeep);
    sweepOn()
      .then(() => announcer.tellWhatWasPutAway())
      .catch((failure: unknown) => void report('cannot check waiting events', failure));
    pump();
  }

  async function stop(): Promise<void> {
    state = 'closing';
    stopListening();
    const unbegun = toBegin.map(({ event }) => event);
    toBegin = [];
    void ending.giveBackUnrun(Promise.resolve(unbegun));
    await ending.close(claiming);
    await timers.atMost(LEAVE_LIMIT_MS, announcer.leave());
    await Promise.all([attempts.hookCalls.close(), release.end()]);
    state = 'closed';
    timers.stop();
  }

  const close = (): Promise<void> => (closed ??= inOwnContext(stop));
  return { start, close, accept, [Symbol.asyncDispose]: close };
}

function firstClaimOf(
  { endpoint, id, body, verified, receivedAt, trace }: IncomingEvent,
  { seq, fence, superseded }: Started,
): ClaimedEvent {
  const about = {
    endpoint,
    id,
    body,
    verified,
    receivedAt: new Date(receivedAt),
    ...(trace !== undefined && { trace }),
  };
  return { ...about, lease: { seq, fence }, attempt: 1, failures: 0, superseded };
}
