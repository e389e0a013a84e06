import { InboxUnavailableError } from '../errors.ts';
import { entityOf, namedEntity, type EntityOf } from '../events/entity.ts';
import { assertEventSchemas, type EventSchemas } from '../events/own-events.ts';
import { systemClock, type Clock } from '../host/clock.ts';
import { LATE, startDeadline, withinDeadline, type Deadline, askToWait } from '../host/host-limits.ts';
import { outageLog } from '../host/logger.ts';
import { performance } from '../host/real-timers.ts';
import { type OpenTelemetryApi, tracingBy } from '../host/tracing.ts';
import { assertInbox, type AnyInbox, type Inbox } from '../inbox/contract.ts';
import type { DefaultDatabase } from '../inbox/work.ts';
import type { IncomingEvent } from '../inbox/event.ts';
import type { Marks } from '../inbox/operator/marks.ts';
import type { SecretChanged } from '../inbox/rules/marks.ts';
import { assertOptions, positive, oneOf, nested, MAX_TIMER_MS, type RulesFor } from '../option-rules.ts';
import { assertEndpoint, DEFAULT_ENDPOINT } from '../processing/endpoint.ts';
import { assertHandlers, handledTypes, type Handlers } from '../processing/handlers.ts';
import { inlineHandling } from './inline-handling.ts';
import {
  PROCESSING_RULES,
  type ProcessingOptions,
  RETENTION_RULES,
  type RetentionOptions,
} from '../processing/limits.ts';
import { processorOf } from '../processing/processor.ts';
import { assertRelease, releaseNote } from '../processing/release.ts';
import type { SigningKey } from '../signing/signature.ts';
import { deliveryHooks, type DeliveryHooks } from './delivery-hooks.ts';
import { deliveryLog, startReminder, inSpan } from './delivery-log.ts';
import { deliveryStatistics } from './delivery-statistics.ts';
import type { Delivery } from './delivery.ts';
import { type Outcome, type Reason, type ErrorOutcome, bodyOf, isErrorOutcome } from './outcome.ts';
import { upkeepTimer } from './upkeep-timer.ts';
import { VERIFIER_OPTIONS, verifierOf, type VerifiedDelivery, type VerifierOptions } from './verifier.ts';

/**
 * The options of {@link createReceiver}, including those of a verifier and the hooks.
 *
 * @typeParam Database - the database that `ctx.transaction` passes to its function
 */
export interface ReceiverOptions<Database = DefaultDatabase> extends VerifierOptions, DeliveryHooks {
  /**
   * The inbox that stores each event before the delivery is answered: `sqliteInbox(…)`, `postgresInbox(…)`, or
   * `memoryInbox()` in tests.
   */
  readonly inbox: Inbox<Database>;
  /**
   * The name of this webhook registration. Set this option if you have several registrations. At most 255 characters.
   *
   * @defaultValue `'default'`
   */
  readonly endpoint?: string;
  /** A handler for each event type. Handlers run once you have called `start()`; in inline mode, before the response. */
  readonly handlers?: Handlers<Database>;
  /**
   * Schemas for your own event types, and for your own fields in the eleven types. hookbox checks an event when it is
   * handled, so a schema never delays or rejects a delivery. An event that does not fit becomes `dead(invalid)`; a rerun
   * checks it again.
   */
  readonly events?: EventSchemas;
  /**
   * With `false`, the events of one entity are handled in any order and concurrently.
   *
   * @defaultValue `true`
   */
  readonly ordering?: boolean;
  /** How long the inbox keeps processed events. */
  readonly retention?: RetentionOptions;
  /** The limits and the retry schedule for handlers. */
  readonly processing?: ProcessingOptions & {
    /**
     * When handlers run: `background` means after the response is sent, and `inline` means before.
     *
     * @defaultValue `inline` on hosts that run code only while they answer a request, otherwise `background`
     */
    readonly mode?: 'background' | 'inline';
  };
  /**
   * Names the entity of an event, in place of the built-in {@link entityOf}. The function must be synchronous.
   *
   * @defaultValue `entityOf`
   */
  readonly entity?: EntityOf;
  /**
   * `false` keeps the messages and stacks of handler errors out of the log, and the lines of `ctx.log` out of the inbox,
   * because they may quote customer data.
   *
   * @defaultValue `true`
   */
  readonly logErrors?: boolean;
  /** The namespace of `@opentelemetry/api`. Each delivery becomes a span, and each handler run a span that links to it. */
  readonly openTelemetry?: OpenTelemetryApi;
  /**
   * The name of this release of your code, such as a commit hash. At most 100 characters. Operators see whether handlers
   * have failed more often or taken longer since it began.
   */
  readonly release?: string;
  /** For tests: the clock that processing uses, such as the clock of `testInbox`. */
  readonly clock?: Clock;
}

const OPTIONS: RulesFor<ReceiverOptions> = {
  ...VERIFIER_OPTIONS,
  inbox: true,
  endpoint: true,
  handlers: true,
  events: true,
  ordering: 'boolean',
  retention: nested(RETENTION_RULES),
  processing: nested({ ...PROCESSING_RULES, mode: oneOf('background', 'inline') }),
  entity: 'function',
  logErrors: 'boolean',
  onFailed: 'function',
  onDead: 'function',
  onConflict: 'function',
  onSilent: 'function',
  silentAfterMs: positive(MAX_TIMER_MS),
  openTelemetry: true,
  release: true,
  clock: true,
};

/** Verifies, stores and answers deliveries. Mount the receiver with an adapter, or call `receive` from any server. */
export interface Receiver extends AsyncDisposable {
  /** The inbox that this receiver stores events in. */
  readonly inbox: AnyInbox;
  /** The function that names the entity of an event. */
  readonly entity: EntityOf;
  /** Aborted when the receiver begins to close. */
  readonly closing: AbortSignal;
  /**
   * Verifies, parses and stores one delivery, and returns the response to it (sections 6.3 and 6.4 of the service's
   * interface). An accepted event is durable. Resolves within `deadlineMs`, and never rejects.
   */
  receive(delivery: Delivery): Promise<Outcome>;
  /** Starts running handlers. Idempotent. Does nothing in inline mode. */
  start(): Promise<void>;
  /**
   * Stops the receiver. New deliveries get a 503. Resolves when earlier ones have been answered and no handler is running.
   * Idempotent. The inbox stays open.
   */
  close(): Promise<void>;
}

/**
 * Creates a receiver. A receiver accepts only authentic deliveries and stores each event on disk before it answers 2xx.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET`, `UNKNOWN_EVENT_TYPE` (for a key of `handlers`), or `INVALID_OPTION`
 * (for an invalid or unknown option)
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
  const onReported = (): void => outage.failed(true);
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
  /** Created on first use: on Workers, a request may not read the signal that another request created. */
  let closing: AbortController | undefined;
  let closed: Promise<void> | undefined;

  async function takeIn(delivery: Delivery, isTooLate: boolean, trace: string | null = null): Promise<Outcome> {
    let deadline: Deadline | undefined;
    try {
      deadline = verifier.startDeadline(delivery);
      const verified = await verifier.verify(delivery, deadline);
      if (isErrorOutcome(verified)) return verified;
      // After the body was read, because a connection that ends with unread bytes would lose the response.
      if (isTooLate) return verifier.reject('closing');

      // An inbox ends at the deadline itself; this limit is for one that hangs.
      const event = incoming(verified, trace);
      const storing = started ? processor.accept(event, deadline.at) : inbox.accept(event, deadline.at);
      const acceptance = await withinDeadline(storing, deadline);
      if (acceptance === LATE) return verifier.reject('deadline', { onReported });
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
      return ran === 'processed' ? accepted('processed', id, isDuplicate) : verifier.reject(ran);
    } catch (failure) {
      const reason = reasonOf(failure);
      return verifier.reject(reason, { cause: failure, ...(OUTAGES.has(reason) && { onReported }) });
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
    // A processor in this process records the same release.
    release.begin();
    try {
      const outcome = await traced(delivery);
      if (!isErrorOutcome(outcome)) outage.answered();
      statistics.note(delivery, outcome, performance.now() - arrivedAt, bodyOf(outcome));
      upkeep.begin();
      const pending = hooks.pending();
      if (pending !== null) askToWait(delivery.host?.waitUntil, pending);
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
    // The limit is for deliveries whose host stopped their code after the client left.
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

function accepted(kind: Exclude<Outcome, ErrorOutcome>['kind'], id: string, duplicate: boolean): Outcome {
  return { kind, id, status: 200, headers: {}, body: { received: true, duplicate, id } };
}

/** A locked database must not prevent closing. */
const LAST_STATISTICS_MS = 1_000;

const REASONS = {
  OVERLOADED: 'overloaded',
  CLOSED: 'closing',
  DEADLINE: 'deadline',
  FAILED: 'inbox-failing',
} as const satisfies Record<InboxUnavailableError['code'], Reason>;

const OUTAGES: ReadonlySet<Reason> = new Set(['deadline', 'inbox-failing']);

function reasonOf(failure: unknown): Reason {
  return failure instanceof InboxUnavailableError ? REASONS[failure.code] : 'internal';
}

class UnderWay {
  #count = 0;
  #onNone = (): void => {};

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone();
  }

  none(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}

const MOST_KEYS = 10;
const AGAIN_MS = 30_000;

/** Records in memory when deliveries begin to be signed with another secret. A file would let an attacker test guesses. */
function secretChange(
  marks: Pick<Marks, 'noteSecret'> | undefined,
  endpoint: string,
  now: () => number,
): { matched(key: SigningKey): void } {
  let current: SigningKey | null = null;
  let known: SigningKey[] = [];
  let matchedAt = 0;
  let unwritten: SecretChanged | null = null;
  let requestedAt = -Infinity;

  function write(at: number): void {
    if (unwritten === null || marks === undefined || Math.abs(at - requestedAt) < AGAIN_MS) return;
    const writing = unwritten;
    requestedAt = at;
    marks.noteSecret(writing).then(
      () => {
        if (unwritten === writing) unwritten = null;
      },
      () => {}, // retried with the next delivery
    );
  }

  return {
    matched(key) {
      const at = now();
      if (current === null) known = [key];
      else if (!isSame(key, current)) {
        // A delivery that was signed before the change may arrive after it.
        if (known.some((one) => isSame(one, key))) return;
        known = [...known, key].slice(-MOST_KEYS);
        unwritten = { endpoint, after: matchedAt, at };
        requestedAt = -Infinity;
      }
      current = key;
      matchedAt = at;
      write(at);
    },
  };
}

function isSame(one: SigningKey, other: SigningKey): boolean {
  return one === other || Buffer.compare(one.bytes, other.bytes) === 0;
}
