import { ConfigurationError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../host/logger.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { unrefTimer } from '../host/unref-timer.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Acceptance } from '../inbox/event.ts';
import type { EventPage, EventSummary } from '../inbox/operator/search.ts';

import { oneLine } from '../printable.ts';
import { type AttemptHooks, type DeadFacts, HookCalls, type Hook } from '../processing/attempt-hooks.ts';
import type { VerifiedDelivery } from './verifier.ts';

/**
 * The facts for `onConflict`: a different body arrived with the id of a stored event. The inbox keeps the stored body and
 * the most recent other one.
 */
export interface ConflictFacts {
  readonly endpoint: string;
  readonly id: string;
  /** The type in the new body; `null` if that body fits no schema. */
  readonly type: string | null;
}

/** The facts for `onSilent`. */
export interface SilentFacts extends Silence {
  readonly endpoint: string;
  /** The option `silentAfterMs`, in milliseconds. */
  readonly silentAfterMs: number;
}

/** Hooks for deliveries, in addition to those for attempts. */
export interface DeliveryHooks extends AttemptHooks {
  /** A delivery had the id of a stored event but a different body. */
  readonly onConflict?: Hook<ConflictFacts>;
  /**
   * No process that shares the inbox has accepted a delivery for `silentAfterMs`. The service may not reach your server, or
   * the registration was removed. Called once for each silence, and never on hosts that run no code between requests.
   */
  readonly onSilent?: Hook<SilentFacts>;
  /** The milliseconds without a delivery after which `onSilent` is called. Required with `onSilent`. */
  readonly silentAfterMs?: number;
}

interface DeliveryHookCalls {
  accepted(verified: VerifiedDelivery, acceptance: Acceptance): void;
  /** The work that a host without code between requests must wait for. */
  pending(): Promise<unknown> | null;
  close(): Promise<void>;
}

interface DeliveryHookOptions extends DeliveryHooks {
  readonly inbox: Inbox;
  readonly endpoint: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export function deliveryHooks(options: DeliveryHookOptions): DeliveryHookCalls {
  const { onConflict, onSilent, onDead, silentAfterMs, inbox, endpoint, logger, clock } = options;
  if (onSilent !== undefined && silentAfterMs === undefined) {
    const why =
      'onSilent needs silentAfterMs, the number of milliseconds without a delivery after which onSilent is called.';
    throw new ConfigurationError('INVALID_OPTION', why);
  }
  const calls = new HookCalls(logger);
  const report = (silence: Silence): void => {
    if (silentAfterMs !== undefined) calls.call('onSilent', onSilent, { endpoint, silentAfterMs, ...silence });
  };
  const silence =
    onSilent === undefined || silentAfterMs === undefined
      ? null
      : silenceWatch({ inbox, endpoint, silentAfterMs, report, clock });

  return {
    accepted({ id, event, facts }, { result, conflict, replaced }) {
      silence?.delivered();
      const type = facts.type === null ? null : oneLine(facts.type);
      if (conflict) calls.call('onConflict', onConflict, { endpoint, id, type });
      if (event.type !== null || (result !== 'stored' && !replaced)) return;
      // The event fits no schema, so no handler ran.
      const dead: DeadFacts = { endpoint, id, type, attempt: 0, error: null, durationMs: null, reason: 'invalid' };
      calls.call('onDead', onDead, dead);
    },
    pending: () => calls.pending(),
    async close() {
      silence?.stop();
      await calls.close();
    },
  };
}

interface SilenceWatch {
  delivered(): void;
  stop(): void;
}

/** A silence that lasted long enough to report. */
interface Silence {
  /** When an event of the endpoint was last stored; `null` if none ever was. */
  readonly lastReceivedAt: Date | null;
  /** Milliseconds since a delivery was last accepted, counting only the time when this process was awake. */
  readonly silentForMs: number;
}

interface SilenceOptions {
  readonly inbox: Inbox;
  readonly endpoint: string;
  readonly silentAfterMs: number;
  /** once for each silence */
  readonly report: (silence: Silence) => void;
  readonly clock?: Clock | undefined;
}

/** `onSilent` is called at most an eighth of the time late. */
const LOOKS = 8;

/** Counts checks, because a clock may be set and a machine may sleep. Also asks the inbox, because another process may receive for the endpoint. */
function silenceWatch({ inbox, endpoint, silentAfterMs, report, clock }: SilenceOptions): SilenceWatch {
  const after = clock === undefined ? unrefAfter : (ms: number, callback: () => void) => clock.after(ms, callback);
  const everyMs = silentAfterMs / LOOKS;
  let looks = 0;
  let isReported = false;
  /** The endpoint's newest event at the last check; `undefined` before the first. */
  let newest: EventSummary | null | undefined;
  /** The newest event of all endpoints, at the last two checks: a slow commit may appear behind a newer one. */
  let looked = { upTo: 0, before: 0 };
  let hasDelivery = false;
  let deliveredAt: Date | null = null;
  let isOver = false;
  let cancel = after(everyMs, next);

  function begin(): void {
    looks = 0;
    isReported = false;
  }

  async function look(): Promise<void> {
    // A delivery just before this check ends the silence by the next one.
    looks += 1;
    const hadDelivery = hasDelivery;
    hasDelivery = false;
    const upTo = (await inbox.operations?.search({}, { limit: 1 }))?.events[0]?.seq ?? looked.upTo;
    const event = await newestSince(looked.before);
    const isNew = event !== null && event.seq > (newest?.seq ?? 0);
    const isOthers = newest !== undefined && isNew && !hadDelivery && !hasDelivery;
    if (isNew || newest === undefined) newest = event;
    looked = { upTo, before: looked.upTo };
    if (isOthers) begin();
    if (isReported || looks <= LOOKS || isOver) return;
    isReported = true;
    report({ lastReceivedAt: newest?.receivedAt ?? deliveredAt, silentForMs: (looks - 1) * everyMs });
  }

  /** The event may be several pages down, below events of busier endpoints. */
  async function newestSince(seq: number): Promise<EventSummary | null> {
    let before: number | null = null;
    do {
      const page: EventPage | undefined = await inbox.operations?.search({ endpoint }, { limit: 1, before });
      const event = page?.events[0];
      if (event !== undefined || isOver) return event ?? null;
      before = page?.next ?? null;
    } while (before !== null && before > seq);
    return null;
  }

  function next(): void {
    look()
      .catch(() => {
        // The inbox cannot answer now.
      })
      .finally(() => {
        if (!isOver) cancel = after(everyMs, next);
      });
  }

  return {
    delivered() {
      begin();
      hasDelivery = true;
      deliveredAt = new Date();
    },
    stop() {
      isOver = true;
      cancel();
    },
  };
}

function unrefAfter(ms: number, callback: () => void): () => void {
  const timer = unrefTimer(setTimeout(callback, ms));
  return () => clearTimeout(timer);
}
