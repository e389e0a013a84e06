import { answerNotes } from './delivery-statistics.ts';
import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/deadline.ts';
import type { Delivery } from './delivery.ts';
import { ConfigurationError, InboxUnavailableError } from '../errors.ts';
import { entityOf, namedEntity, type EntityOf } from '../events/entity.ts';
import { assertEndpoint, DEFAULT_ENDPOINT } from '../processing/endpoint.ts';
import { assertHandlers, handledTypes, type Handlers } from '../processing/handlers.ts';
import type { DefaultDatabase } from '../inbox/default-database.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Acceptance, IncomingEvent } from '../inbox/event.ts';
import { keepHandy, UPKEEP_EVERY_MS } from '../inbox/operator/background-upkeep.ts';
import { throttle } from '../host/logger.ts';
import { ephemeralHost } from '../host/ephemeral-host.ts';
import { accepted, type Outcome, type Reason } from './outcome.ts';
import { systemClock, type Clock } from '../host/clock.ts';
import { createInlineRunner, type InlineResult } from '../processing/inline.ts';
import type { ProcessingOptions } from '../processing/limits.ts';
import { createProcessor, type RetentionOptions } from '../processing/processor.ts';
import { createVerifier, isRefusal, type VerifiedDelivery, type VerifierOptions } from './verifier.ts';

export interface ReceiverOptions<Database = DefaultDatabase> extends VerifierOptions {
  /** Where events are stored before they are answered: `sqliteInbox(…)`, or `memoryInbox()` in tests. */
  readonly inbox: Inbox<Database>;
  /** The name of this webhook registration, for a merchant with several; `default` unless set. */
  readonly endpoint?: string;
  /** What to run for each type of event, once `start()` was called; in inline mode, while the delivery waits. */
  readonly handlers?: Handlers<Database>;
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
  /** for tests: what handling takes for the time, such as the clock of `testInbox` in `hookbox/testing` */
  readonly clock?: Clock;
}

/** Takes deliveries in. Mount it with an adapter, or call `receive` from any server. */
export interface Receiver extends AsyncDisposable {
  /** where it stores; what operators look into */
  readonly inbox: Inbox;
  /** how it names what an event is about */
  readonly entity: EntityOf;
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
 * @throws ConfigurationError for a secret, a handler or a limit that cannot work
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
  const {
    inbox,
    endpoint = DEFAULT_ENDPOINT,
    entity = entityOf,
    handlers = {},
    ordering = true,
    processing = {},
  } = options;
  const { clock = systemClock } = options;
  assertEndpoint(endpoint);
  assertHandlers(handlers);
  const { mode } = processing;
  if (mode !== undefined && mode !== 'background' && mode !== 'inline') {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `processing.mode must be 'background' or 'inline', not ${String(mode)}.`,
    );
  }
  const verifier = createVerifier(options);
  const { logger } = verifier;
  const seldom = throttle();
  const notes = answerNotes(inbox.operations, endpoint, keepHandySometimes);

  const forProcessing = { ...options, endpoint, handlers, ordering, logger };
  const inline = createInlineRunner(forProcessing);
  const processor = createProcessor(forProcessing);
  const frozenHere = ephemeralHost()?.frozenBetweenRequests ?? false;
  const hasHandlers = handledTypes(handlers).length > 0;
  let mayBeForgotten = hasHandlers;

  let underWay = 0;
  let closing = false;
  let started = false;
  let handySince = performance.now();
  let drained: () => void = () => {};

  /** One delivery's way: bytes → verify → parse → accept → answer. */
  async function takeIn(delivery: Delivery, tooLate: boolean): Promise<Outcome> {
    let deadline: Deadline | undefined;
    try {
      deadline = verifier.startDeadline(delivery);
      const verified = await verifier.verify(delivery, deadline);
      if (isRefusal(verified)) return verified;
      // Only after the body was read: an answer with bytes still unread would be lost when the connection ends.
      if (tooLate) return verifier.refuse('closing');
      // An inbox gives up by itself at the deadline; the wait here is bounded for one that hangs.
      const acceptance = await withinDeadline(inbox.accept(incoming(verified), deadline.at), deadline);
      if (acceptance === LATE) return verifier.refuse('deadline');
      tellOddities(verified, acceptance);
      const duplicate = acceptance.result === 'duplicate';
      if (!runsInline(delivery)) {
        remindOfStart();
        return accepted(acceptance.result, verified.id, duplicate);
      }
      const afterwards = {
        waitUntil: delivery.host?.waitUntil,
        frozen: delivery.host?.frozenBetweenRequests ?? frozenHere,
      };
      const ran = await inline.run({ endpoint, id: verified.id }, deadline, afterwards);
      if (ran === 'nothing to run') return accepted(acceptance.result, verified.id, duplicate);
      return ran === 'processed' ? accepted('processed', verified.id, duplicate) : verifier.refuse(RAN[ran]);
    } catch (failure) {
      return verifier.refuse(reasonOf(failure), { cause: failure });
    } finally {
      deadline?.met();
    }
  }

  /** The merchant's word, else what the host allows. */
  function runsInline({ host }: Delivery): boolean {
    if (!hasHandlers) return false;
    if (mode !== undefined) return mode === 'inline';
    return !started && (host?.frozenBetweenRequests ?? frozenHere);
  }

  function incoming({ id, body, verified, event, facts }: VerifiedDelivery): IncomingEvent {
    const about = event.type === null ? null : namedEntity(entity, event, (error) => tellUseless(id, error));
    return {
      endpoint,
      id,
      body,
      verified,
      valid: event.type !== null,
      ...facts,
      entity: about,
      receivedAt: clock.now(),
    };
  }

  function tellUseless(id: string, error: string): void {
    seldom('entity', (suppressed) => {
      const message = 'the rule for the entity has named nothing that can be used; the event stands alone';
      logger.error({ endpoint, id, error, suppressed }, message);
    });
  }

  /** Stored and answered 200 all the same, but somebody should know. */
  function tellOddities({ id, event }: VerifiedDelivery, { result, conflict }: Acceptance): void {
    if (event.type === null && result === 'stored') {
      const issues = event.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
      seldom('invalid', (suppressed) => logger.warn({ endpoint, id, issues, suppressed }, 'stored as dead(invalid)'));
    }
    if (conflict) {
      seldom('conflict', (suppressed) => {
        logger.warn({ endpoint, id, suppressed }, 'the same id came with another body; the first one stands');
      });
    }
  }

  function remindOfStart(): void {
    if (!mayBeForgotten) return;
    mayBeForgotten = false;
    logger.warn(
      { endpoint },
      'events are stored but not handled: call receiver.start(), or run createProcessor({ endpoint, … }) for it elsewhere',
    );
  }

  /** Where no processor runs that does it: this receiver has none, or its handlers run inline. */
  function keepHandySometimes(): void {
    const now = performance.now();
    if (started || closing || now - handySince < UPKEEP_EVERY_MS) return;
    handySince = now;
    // An inbox that cannot do this now has told of worse already.
    keepHandy(inbox.operations, { now: () => clock.now(), isOpen: () => !closing }).catch(() => {});
  }

  async function stop(): Promise<void> {
    closing = true;
    // By then all are answered, but for those whose host has stopped their code because the client had gone.
    const limit = verifier.startDeadline({});
    const allAnswered = new Promise<void>((resolve) => {
      drained = resolve;
      if (underWay === 0) resolve();
    });
    await Promise.all([withinDeadline(allAnswered, limit).finally(() => limit.met()), processor.close()]);
    await inline.close();
    const lastChance = startDeadline(LAST_NOTES_MS);
    await withinDeadline(notes.flush(), lastChance).finally(() => lastChance.met());
  }
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= stop());

  return {
    inbox,
    entity,
    async receive(delivery) {
      if (closing) return takeIn(delivery, true);
      underWay += 1;
      const arrivedAt = performance.now();
      try {
        const outcome = await takeIn(delivery, false);
        const body = isRefusal(outcome) ? verifier.bodyOf(outcome) : null;
        notes.note(delivery, outcome, performance.now() - arrivedAt, body);
        return outcome;
      } finally {
        underWay -= 1;
        if (closing && underWay === 0) drained();
      }
    },
    async start() {
      mayBeForgotten = false;
      if (mode === 'inline' || (mode === undefined && frozenHere)) return;
      started = true;
      await processor.start();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A locked database keeps nobody from closing: what was noted of the last second is lost then. */
const LAST_NOTES_MS = 1_000;

const RAN = {
  busy: 'handler-busy',
  failed: 'handler-failed',
  timeout: 'handler-timeout',
  late: 'handler-late',
  lost: 'handler-lost',
} as const satisfies Record<Exclude<InlineResult, 'processed' | 'nothing to run'>, Reason>;

const REASONS = {
  OVERLOADED: 'overloaded',
  CLOSED: 'closing',
  DEADLINE: 'deadline',
  FAILED: 'inbox-failing',
} as const satisfies Record<InboxUnavailableError['code'], Reason>;

function reasonOf(failure: unknown): Reason {
  return failure instanceof InboxUnavailableError ? REASONS[failure.code] : 'internal';
}
