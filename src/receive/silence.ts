import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import type { Clock } from '../host/clock.ts';
import { unheld } from '../host/unheld-timer.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { EventPage, EventSummary } from '../inbox/operator/search.ts';

/** Watches for a receiver that is sent nothing. */
export interface SilenceWatch {
  /** A delivery was accepted. */
  heard(): void;
  stop(): void;
}

/** A silence that lasted long enough to report. */
export interface Silence {
  /** When an event of the endpoint was last stored; `null` if none ever was. */
  readonly lastReceivedAt: Date | null;
  /** Milliseconds since a delivery was last accepted, counting only the time when this process was awake. */
  readonly silentForMs: number;
}

export interface SilenceOptions {
  readonly inbox: Inbox;
  readonly endpoint: string;
  readonly silentAfterMs: number;
  /** once for each silence */
  readonly tell: (silence: Silence) => void;
  /** of tests */
  readonly clock?: Clock | undefined;
}

/** So many looks in the time after which it is told of: it comes an eighth of that late at most. */
const LOOKS = 8;

/**
 * Counts how often it has looked and nothing had come: no clock that can be set is asked, and a machine that sleeps
 * does not
 * look. Each time it asks the inbox too, since another process may receive for the same endpoint.
 */
export function silenceWatch({ inbox, endpoint, silentAfterMs, tell, clock }: SilenceOptions): SilenceWatch {
  const after = clock === undefined ? unheldAfter : (ms: number, callback: () => void) => clock.after(ms, callback);
  const everyMs = silentAfterMs / LOOKS;
  let looks = 0;
  let told = false;
  /** the event of the endpoint that was stored last when it looked; `undefined` before that is known */
  let newest: EventSummary | null | undefined;
  /** the last event of all endpoints, at the last look and at the one before: what is slow to be committed may come behind */
  let looked = { upTo: 0, before: 0 };
  let hasHeard = false;
  let heardAt: Date | null = null;
  let isOver = false;
  let cancel = after(everyMs, next);

  function begin(): void {
    looks = 0;
    told = false;
  }

  async function look(): Promise<void> {
    // Who has just heard something was silent for less than a look by the next one.
    looks += 1;
    const wasHeard = hasHeard;
    hasHeard = false;
    const upTo = (await inbox.operations?.search({}, { limit: 1 }))?.events[0]?.seq ?? looked.upTo;
    const event = await newestSince(looked.before);
    const isNew = event !== null && event.seq > (newest?.seq ?? 0);
    const isOthers = newest !== undefined && isNew && !wasHeard && !hasHeard;
    if (isNew || newest === undefined) newest = event;
    looked = { upTo, before: looked.upTo };
    if (isOthers) begin();
    if (told || looks <= LOOKS || isOver) return;
    told = true;
    tell({ lastReceivedAt: newest?.receivedAt ?? heardAt, silentForMs: (looks - 1) * everyMs });
  }

  /** The newest event of the endpoint, if it was stored after another one: it may lie beneath pages of busier endpoints. */
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
        // Whether another process has received something cannot be said now.
      })
      .finally(() => {
        if (!isOver) cancel = after(everyMs, next);
      });
  }

  return {
    heard() {
      begin();
      hasHeard = true;
      heardAt = new Date();
    },
    stop() {
      isOver = true;
      cancel();
    },
  };
}

/** It keeps no process alive. */
function unheldAfter(ms: number, callback: () => void): () => void {
  const timer = unheld(setTimeout(callback, ms));
  return () => clearTimeout(timer);
}
