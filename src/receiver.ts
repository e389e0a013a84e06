import { LATE, startDeadline, withinDeadline } from './deadline.ts';
import type { Delivery } from './delivery.ts';
import { ConfigurationError, InboxUnavailableError, messageOf } from './errors.ts';
import { entityOf, type EntityOf } from './events/entity.ts';
import { assertHandlers, type Handlers } from './handlers.ts';
import type { Inbox, IncomingEvent } from './inbox/inbox.ts';
import { accepted, type Outcome, type Reason } from './outcome.ts';
import { createVerifier, isRefusal, type VerifiedDelivery, type VerifierOptions } from './verifier.ts';

export interface ReceiverOptions extends VerifierOptions {
  /** Where events are stored before they are answered: `sqliteInbox(…)`, or `memoryInbox()` in tests. */
  readonly inbox: Inbox;
  /** The name of this webhook registration, for a merchant with several; `default` unless set. */
  readonly endpoint?: string;
  /** What to run for each type of event. */
  readonly handlers?: Handlers;
  /** Names what an event is about, where the built-in rule does not fit. */
  readonly entity?: EntityOf;
}

/** Takes deliveries in. Mount it with an adapter, or call `receive` from any server. */
export interface Receiver extends AsyncDisposable {
  /**
   * Verifies, parses and stores one delivery, and says how to answer it (interface 6.3 and 6.4). Resolves within
   * `deadlineMs`, after the event is durable; never rejects.
   */
  receive(delivery: Delivery): Promise<Outcome>;
  /** Answers new deliveries 503 and resolves when those under way are answered. Idempotent; the inbox stays open. */
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
export function createReceiver(options: ReceiverOptions): Receiver {
  const { inbox, endpoint = 'default', entity = entityOf, handlers = {} } = options;
  if (endpoint === '') throw new ConfigurationError('INVALID_OPTION', 'endpoint must not be empty.');
  assertHandlers(handlers);
  const verifier = createVerifier(options);
  const { logger } = verifier;

  let underWay = 0;
  let closing = false;
  let drained: () => void = () => {};

  /** One delivery's way: bytes → verify → parse → accept → answer. */
  async function takeIn(delivery: Delivery): Promise<Outcome> {
    if (closing) return verifier.refuse('closing');
    const deadline = startDeadline(verifier.deadlineMs);
    try {
      const verified = await verifier.verify(delivery, deadline);
      if (isRefusal(verified)) return verified;
      // An inbox gives up by itself at the deadline; the wait here is bounded for one that hangs.
      const acceptance = await withinDeadline(inbox.accept(incoming(verified), deadline.at), deadline);
      return acceptance === LATE ? verifier.refuse('deadline') : accepted(acceptance.result, verified.id);
    } catch (failure) {
      return verifier.refuse(reasonOf(failure), { cause: failure });
    } finally {
      deadline.met();
    }
  }

  function incoming({ id, body, verified, event, facts }: VerifiedDelivery): IncomingEvent {
    const about = event.type === null ? null : namedEntity(event);
    return {
      endpoint,
      id,
      body,
      verified,
      valid: event.type !== null,
      ...facts,
      entity: about,
      receivedAt: Date.now(),
    };
  }

  /** The merchant's own rule may throw; an event without an entity is better than an event that is lost. */
  function namedEntity(event: Parameters<EntityOf>[0]): string | null {
    try {
      return entity(event);
    } catch (failure) {
      logger.error({ id: event.id, cause: messageOf(failure) }, 'the entity option threw; the event stands alone');
      return null;
    }
  }

  const allAnswered = new Promise<void>((resolve) => {
    drained = resolve;
  });
  const close = (): Promise<void> => {
    closing = true;
    if (underWay === 0) drained();
    return allAnswered;
  };

  return {
    async receive(delivery) {
      underWay += 1;
      const outcome = await takeIn(delivery);
      underWay -= 1;
      if (closing && underWay === 0) drained();
      return outcome;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const REASONS = {
  OVERLOADED: 'overloaded',
  CLOSED: 'closing',
  DEADLINE: 'deadline',
  FAILED: 'inbox-failing',
} as const satisfies Record<InboxUnavailableError['code'], Reason>;

function reasonOf(failure: unknown): Reason {
  return failure instanceof InboxUnavailableError ? REASONS[failure.code] : 'internal';
}
