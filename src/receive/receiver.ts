import { performance } from '../host/real-timers.ts';
import { InboxUnavailableError } from '../errors.ts';
import { entityOf, namedEntity, type EntityOf } from '../events/entity.ts';
import { assertEventSchemas, type EventSchemas } from '../events/own-events.ts';
import { systemClock, type Clock } from '../host/clock.ts';
import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/deadline.ts';
import { askToWait } from '../host/host-limits.ts';
import { tracingBy } from '../host/tracing.ts';
import type { OpenTelemetryApi } from '../host/tracing-api.ts';
import { outageLog } from '../host/outage-log.ts';
import { assertInbox } from '../inbox/assert-inbox.ts';
import type { AnyInbox, Inbox } from '../inbox/contract.ts';
import type { DefaultDatabase } from '../inbox/default-database.ts';
import type { IncomingEvent } from '../inbox/event.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { assertEndpoint, DEFAULT_ENDPOINT } from '../processing/endpoint.ts';
import { assertHandlers, handledTypes, type Handlers } from '../processing/handlers.ts';
import { assertProcessing, type ProcessingOptions } from '../processing/limits.ts';
import { processorOf } from '../processing/processor.ts';
import { assertRelease, releaseNote } from '../processing/release.ts';
import type { RetentionOptions } from '../processing/retention.ts';
import { deliveryHooks, type DeliveryHooks } from './delivery-hooks.ts';
import { deliveryLog, startReminder } from './delivery-log.ts';
import { deliveryStatistics } from './delivery-statistics.ts';
import type { Delivery } from './delivery.ts';
import { inlineHandling } from './inline-handling.ts';
import type { Outcome, Reason, ErrorOutcome } from './outcome.ts';
import { bodyOf, isErrorOutcome } from './error-outcomes.ts';
import { inSpan } from './receive-span.ts';
import { UnderWay } from './deliveries-under-way.ts';
import { secretChange } from './secret-change.ts';
import { upkeepTimer } from './upkeep-timer.ts';
import { VERIFIER_OPTIONS, verifierOf, type VerifiedDelivery, type VerifierOptions } from './verifier.ts';

export interface ReceiverOptions<Database = DefaultDatabase> extends VerifierOptions, DeliveryHooks {
  /** Where events are stored before they are answered: `sqliteInbox(…)`, or `memoryInbox()` in tests. */
  readonly inbox: Inbox<Database>;
  /** The name of this webhook registration, for a merchant with several; at most 255 characters, `default` unless set. */
  readonly endpoint?: string;
  /** What to run for each type of event, once `start()` was called; in inline mode, while the delivery waits. */
  readonly handlers?: Handlers<Database>;
  /**
   * The schemas of your own event types and of your own fields of the eleven: a handler is given only what fits, as its
   * schema makes it. They are asked when an event is handled and not when it is received, so no delivery waits for them or is
   * refused; what does not fit is `dead(invalid)`, and a rerun asks again.
   */
  readonly events?: EventSchemas;
  /** `false` runs the events of one entity in any order and side by side. */
  readonly ordering?: boolean;
  readonly retention?: RetentionOptions;
  readonly processing?: ProcessingOptions & {
    /**
     * `inline` runs the handler before the answer; unless set, it is `inline` on hosts that have no background and
     * `background` elsewhere.
     */
    readonly mode?: 'background' | 'inline';
  };
  /** Names what an event is about, where the built-in rule does not fit: a function that returns a text or `null`, at once. */
  readonly entity?: EntityOf;
  /** `false` keeps the messages and stacks of what handlers throw out of the log: they may quote what a customer wrote. */
  readonly logErrors?: boolean;
  /**
   * The namespace of `@opentelemetry/api`: each delivery is a span, whose context is stored with its event; so is each run of a
   * handler, which links to it.
   */
  readonly openTelemetry?: OpenTelemetryApi;
  /**
   * What this release of your code is called, such as a version or the hash of a commit; at most 100 characters. Operators see
   * when it began, and whether handlers fail more often or take longer since.
   */
  readonly release?: string;
  /** for tests: what handling takes for the time, such as the clock of `testInbox` in `hookbox/testing` */
  readonly clock?: Clock;
}

const OPTIONS: KnownOptions<ReceiverOptions> = {
  ...VERIFIER_OPTIONS,
  inbox: true,
  endpoint: true,
  handlers: true,
  events: true,
  ordering: 'boolean',
  retention: true,
  processing: true,
  entity: 'function',
  logErrors: 'boolean',
  onFailed: 'function',
  onDead: 'function',
  onConflict: 'function',
  onSilent: 'function',
  silentAfterMs: true,
  openTelemetry: true,
  release: true,
  clock: true,
};

/** Takes deliveries in. Mount it with an adapter, or call `receive` from any server. */
export interface Receiver extends AsyncDisposable {
  /** where it stores; what operators look into */
  readonly inbox: AnyInbox;
  /** how it names what an event is about */
  readonly entity: EntityOf;
  /** aborted when it begins to close */
  readonly closing: AbortSignal;
  /**
   * Verifies, parses and stores one delivery, and says how to answer it (interface 6.3 and 6.4). Resolves within
   * `deadlineMs`, after the event is durable; never rejects.
   */
  receive(delivery: Delivery): Promise<Outcome>;
  /** Begins to run the handlers. Idempotent; nothing to do where they run inline. */
  start(): Promise<void>;
  /** Answers new deliveries 503 and resolves when those under way are answered and no handler runs. Idempotent; the inbox stays open. */
  close(): Promise<void>;
}

/**
 * Creates a receiver: only authentic deliveries come in, and each event is on disk once before it is answered 2xx.
 *
 * @throws ConfigurationError for a secret, a handler or a limit that cannot work, and for options that there are not
 * @example
 * ```ts
 * import { createReceiver, signBody } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const secret = 'a signing secret';
 * const receiver = createReceiver({ secret, inbox: memoryInbox() });
 * const body = new TextEncoder().encode('{"id":"evt_1","type":"order.ready","created":"2026-01-01T00:00:00Z","data":{}}');
 * const outcome = await receiver.receive({ body, signature: signBody(body, secret) });
 * console.log(outcome.kind, outcome.status); // stored 200
 * ```
 */
export function createReceiver<Database>(options: ReceiverOptions<Database>): Receiver;
export function createReceiver(options: ReceiverOptions): Receiver {
  assertOptions('createReceiver', options, OPTIONS);
  assertInbox('createReceiver', options.inbox, 'accept');
  assertProcessing(options.processing, { mode: true });
  const { inbox, endpoint = DEFAULT_ENDPOINT, entity = entityOf, handlers = {}, ordering = true } = options;
  const { events = {}, clock = systemClock } = options;
  assertEndpoint(endpoint);
  assertEventSchemas(events);
  assertHandlers(handlers, events);
  assertRelease(options.release);
  const release = releaseNote(inbox, { release: options.release, endpoints: [endpoint], now: () => clock.now() });
  const secret = secretChange(inbox.operations, endpoint, () => clock.now());
  const verifier = verifierOf(options, (key) => secret.matched(key));
  const { logger } = verifier;
  const forProcessing = { ...options, endpoint, handlers, events, ordering, logger };
  const inline = inlineHandling(forProcessing, endpoint, options.processing?.mode);
  const processor = processorOf(forProcessing);
  const tracing = tracingBy(options.openTelemetry);
  const hooks = deliveryHooks({ ...options, endpoint, logger });

  const log = deliveryLog(logger, endpoint);
  const outage = outageLog(logger, 'the inbox stores deliveries again', { facts: { endpoint } });
  const told = (): void => outage.failed(true);
  const reminder = startReminder(logger, endpoint);
  if (handledTypes(handlers).length === 0) reminder.forget();
  const statistics = deliveryStatistics(inbox.operations, endpoint);
  const upkeep = upkeepTimer(inbox, {
    now: () => clock.now(),
    isNeeded: () => !started && !isClosing,
    logger,
  });
  const underWay = new UnderWay();
  let started = false;
  let isClosing = false;
  /** Created on first use: on Workers, another request may not read the signal that one request has created. */
  let closing: AbortController | undefined;
  let closed: Promise<void> | undefined;

  /** One delivery's way: bytes → verify → parse → accept → run its handler, if it waits for that → answer. */
  async function takeIn(delivery: Delivery, isTooLate: boolean, trace: string | null = null): Promise<Outcome> {
    let deadline: Deadline | undefined;
    try {
      deadline = verifier.startDeadline(delivery);
      const verified = await verifier.verify(delivery, deadline);
      if (isErrorOutcome(verified)) return verified;
      // Only after the body was read: an answer with bytes still unread would be lost when the connection ends.
      if (isTooLate) return verifier.refuse('closing');

      // An inbox gives up by itself at the deadline; the wait here is bounded for one that hangs.
      const acceptance = await withinDeadline(inbox.accept(incoming(verified, trace), deadline.at), deadline);
      if (acceptance === LATE) return verifier.refuse('deadline', { told });
      log.oddities(verified, acceptance, clock.now());
      hooks.accepted(verified, acceptance);

      const { id } = verified;
      const isDuplicate = acceptance.result === 'duplicate';
      if (!inline.isFor(delivery, started)) {
        reminder.remind();
        return accepted(acceptance.result, id, isDuplicate);
      }
      const ran = await inline.run(id, delivery, deadline);
      if (ran === 'nothing to run') return accepted(acceptance.result, id, isDuplicate);
      return ran === 'processed' ? accepted('processed', id, isDuplicate) : verifier.refuse(ran);
    } catch (failure) {
      const reason = reasonOf(failure);
      return verifier.refuse(reason, { cause: failure, ...(OUTAGES.has(reason) && { told }) });
    } finally {
      deadline?.met();
    }
  }

  function incoming({ id, body, verified, event, facts }: VerifiedDelivery, trace: string | null): IncomingEvent {
    const about = event.type === null ? null : namedEntity(entity, event, (why) => log.uselessEntity(id, why));
    const valid = event.type !== null;
    const traced = trace === null ? {} : { trace };
    return { endpoint, id, body, verified, valid, ...facts, entity: about, receivedAt: clock.now(), ...traced };
  }

  function traced(delivery: Delivery): Promise<Outcome> {
    return tracing === null
      ? takeIn(delivery, false)
      : inSpan(tracing, endpoint, delivery, (trace) => takeIn(delivery, false, trace));
  }

  async function receive(delivery: Delivery): Promise<Outcome> {
    if (isClosing) return takeIn(delivery, true);
    const arrivedAt = performance.now();
    underWay.begin();
    // A processor of this process notes it too: it is the same release.
    release.begin();
    try {
      const outcome = await traced(delivery);
      if (!isErrorOutcome(outcome)) outage.answered();
      statistics.note(delivery, outcome, performance.now() - arrivedAt, bodyOf(outcome));
      upkeep.begin();
      const told = hooks.pending();
      if (told !== null) askToWait(delivery.host?.waitUntil, told);
      return outcome;
    } finally {
      underWay.end();
    }
  }

  async function start(): Promise<void> {
    reminder.forget();
    if (!inline.hasBackground) return;
    started = true;
    await processor.start();
  }

  async function stop(): Promise<void> {
    isClosing = true;
    closing?.abort();
    upkeep.stop();
    // By then all are answered, but for those whose host has stopped their code because the client had gone.
    const limit = verifier.startDeadline({});
    const answered = withinDeadline(underWay.none(), limit).finally(() => limit.met());
    await Promise.all([answered, processor.close(), inline.close()]);
    await hooks.close();
    const lastChance = startDeadline(LAST_STATISTICS_MS);
    await withinDeadline(Promise.all([statistics.flush(), release.end()]), lastChance).finally(() => lastChance.met());
  }

  const close = (): Promise<void> => (closed ??= stop());
  return {
    inbox,
    entity,
    get closing() {
      closing ??= new AbortController();
      if (isClosing) closing.abort();
      return closing.signal;
    },
    receive,
    start,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The answer to a delivery whose event is in the inbox; all others stand in the table of outcome.ts. */
export function accepted(kind: Exclude<Outcome, ErrorOutcome>['kind'], id: string, duplicate: boolean): Outcome {
  return { kind, id, status: 200, headers: {}, body: { received: true, duplicate, id } };
}

/** A locked database must not keep a receiver from closing: the statistics of the last second are lost then. */
const LAST_STATISTICS_MS = 1_000;

const REASONS = {
  OVERLOADED: 'overloaded',
  CLOSED: 'closing',
  DEADLINE: 'deadline',
  FAILED: 'inbox-failing',
} as const satisfies Record<InboxUnavailableError['code'], Reason>;

/** Of these somebody waits to hear that they are over. */
const OUTAGES: ReadonlySet<Reason> = new Set(['deadline', 'inbox-failing']);

function reasonOf(failure: unknown): Reason {
  return failure instanceof InboxUnavailableError ? REASONS[failure.code] : 'internal';
}
