import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { performance } from '../host/real-timers.ts';
import { positiveWhole } from '../known-options.ts';
import { signBody, signingKeys, type Secret } from '../signing/signature.ts';
import { labelOf, type EventLabel } from './event-json.ts';
import { copiesIn, delayedBy, noFaults, type Fault, type FaultPlan, retryAfter, type SignedBody } from './faults.ts';
import { requestWith, type Seen } from './deliver.ts';
import { realClock, type SenderClock } from './sender-clock.ts';

export interface ServiceOptions {
  readonly url: string | URL;
  readonly secret: Secret;
  /** added to the headers of the service, or in place of one of them */
  readonly headers?: Readonly<Record<string, string>>;
  /** by default, the real one */
  readonly clock?: SenderClock;
  /** the time for an answer; by default, 10 s (interface 6.4) */
  readonly timeoutMs?: number;
  /** the maximum of requests under way; by default, 16 */
  readonly concurrency?: number;
  readonly faults?: FaultPlan;
  /** If the receiver cannot be reached at a time, a try fails and nothing is sent. */
  readonly reachable?: (at: number) => boolean;
  /** Ends waiting. Requests under way still get their answer. */
  readonly signal?: AbortSignal;
  /** called after each try, and after each copy of one */
  readonly onAttempt?: (attempt: DeliveryAttempt) => void;
}

/** One HTTP request of the service, or the failure to send it. */
export interface DeliveryAttempt extends EventLabel {
  /** 1 for the first */
  readonly number: number;
  /** on the service's clock */
  readonly at: Date;
  readonly outcome: 'delivered' | 'failed';
  /** `null` without an answer */
  readonly status: number | null;
  /** why it failed */
  readonly why: string | null;
  /** a remark on an accepted answer, such as a body without an end */
  readonly note: string | null;
  /** the duration of the request in real time */
  readonly ms: number;
  /** the kinds of its faults joined by `+`, or `copy` for a copy of a duplicate */
  readonly fault: string | null;
  /** the time of the next try on the schedule */
  readonly nextAt: Date | null;
}

export interface DeliveryEnd {
  readonly outcome: 'delivered' | 'dead-lettered' | 'interrupted';
  /** every try, oldest first */
  readonly attempts: readonly DeliveryAttempt[];
  /** the copies of duplicates */
  readonly copies: readonly DeliveryAttempt[];
  /** after the last try; a person may retry it */
  readonly deadLetter?: DeadLetter;
}

export interface DeadLetter extends EventLabel {
  readonly body: Uint8Array;
  readonly attempts: readonly DeliveryAttempt[];
}

interface DeliverOptions {
  /** when the first try is due on the service's clock; by default, now */
  readonly at?: Date | number;
  /** for this delivery alone */
  readonly faults?: FaultPlan;
}

/** The service's side of webhooks: deliveries, retries on a schedule, and dead letters. */
export interface Service extends Disposable {
  /** Delivers an event until a 2xx arrives in time or the last retry has failed. Never rejects. */
  deliver(body: Uint8Array, options?: DeliverOptions): Promise<DeliveryEnd>;
  /**
   * Sends one request that is never retried, as an attacker may. Returns `null` if it was interrupted before.
   *
   * @param signature - replaces the right one; `null` sends none
   */
  sendOnce(
    body: Uint8Array,
    options?: DeliverOptions & { readonly signature?: string | null },
  ): Promise<DeliveryAttempt | null>;
  /** The dead letters that were not delivered by hand since, oldest first. */
  readonly deadLetters: readonly DeadLetter[];
  /**
   * Tries a dead letter once more, with the faults of its delivery. If that fails, another dead letter takes its
   * place.
   */
  retry(deadLetter: DeadLetter): Promise<DeliveryEnd>;
  /** Resolves when no delivery is under way or waiting. */
  idle(): Promise<void>;
  /** Closes idle connections. */
  [Symbol.dispose](): void;
}

interface Underway extends EventLabel, SignedBody {
  readonly faults: FaultPlan;
  readonly attempts: DeliveryAttempt[];
  readonly copies: DeliveryAttempt[];
}

/**
 * The service as interface 6.3 and 6.4 describe it.
 *
 * @throws ConfigurationError for an invalid secret or number
 */
export function createService(options: ServiceOptions): Service {
  const { secret, clock = realClock(), timeoutMs, faults: plan = noFaults, signal, onAttempt } = options;
  const { reachable = () => true } = options;
  const url = new URL(options.url);
  const agent = url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
  const takeSlot = concurrencyLimit(positiveWhole('concurrency', options.concurrency ?? 16));
  const requestOptions = {
    agent,
    ...(options.headers && { headers: options.headers }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  signingKeys(secret);

  const letters: DeadLetter[] = [];
  const deliveryOf = new WeakMap<DeadLetter, Underway>();
  const underWay = new Set<Promise<unknown>>();

  function started(
    body: Uint8Array,
    { faults = plan }: DeliverOptions,
    signature: string | null = signBody(body, secret),
  ): Underway {
    return { ...labelOf(body), body, signature, faults, attempts: [], copies: [] };
  }

  async function deliverNow(delivery: Underway, at: number): Promise<DeliveryEnd> {
    let dueAt: number | null = at;
    while (dueAt !== null) {
      const attempt = await attemptAt(delivery, dueAt, retryAfter);
      if (attempt === null) return ended('interrupted', delivery);
      if (attempt.outcome === 'delivered') return ended('delivered', delivery);
      dueAt = attempt.nextAt === null ? null : attempt.nextAt.getTime();
    }
    return { ...ended('dead-lettered', delivery), deadLetter: giveUpOn(delivery) };
  }

  function giveUpOn(delivery: Underway): DeadLetter {
    const { id, type, body, attempts } = delivery;
    const letter = { id, type, body, attempts };
    letters.push(letter);
    deliveryOf.set(letter, delivery);
    return letter;
  }

  /** One try with its faults; `null` if it was interrupted before it began. */
  async function attemptAt(
    delivery: Underway,
    dueAt: number,
    next: typeof retryAfter = () => null,
  ): Promise<DeliveryAttempt | null> {
    const number = delivery.attempts.length + 1;
    const faults = delivery.faults(delivery.id ?? digestOf(delivery.body), number);
    await clock.until(delayedBy(faults, dueAt), signal);
    if (signal?.aborted === true) return null;
    const beside = Array.from({ length: copiesIn(faults) }, () => null);
    const [attempt, ...copies] = await clock.hold(() =>
      Promise.all([send(delivery, number, faults, next), ...beside.map(() => send(delivery, number, 'copy'))]),
    );
    if (attempt !== null) delivery.attempts.push(attempt);
    delivery.copies.push(...copies.filter((copy) => copy !== null));
    return attempt;
  }

  async function send(
    { id, type, body, signature }: Underway,
    number: number,
    faults: readonly Fault[] | 'copy',
    next: typeof retryAfter = () => null,
  ): Promise<DeliveryAttempt | null> {
    const giveBack = await takeSlot();
    if (signal?.aborted === true) {
      giveBack();
      return null;
    }
    const at = clock.now();
    const startedAt = performance.now();
    const { status, why, note } = reachable(at)
      ? await requestWith(faults === 'copy' ? [] : faults, url, { body, signature }, requestOptions)
      : UNREACHABLE;
    giveBack();
    const failed = why !== null;
    const wait = failed ? next(number) : null;
    const attempt: DeliveryAttempt = {
      id,
      type,
      number,
      at: new Date(at),
      outcome: failed ? 'failed' : 'delivered',
      status,
      why,
      note,
      ms: performance.now() - startedAt,
      fault: faults === 'copy' ? 'copy' : faults.map(({ kind }) => kind).join('+') || null,
      nextAt: wait === null ? null : new Date(Math.ceil(clock.now() + wait)),
    };
    onAttempt?.(attempt);
    return attempt;
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    void work.finally(() => underWay.delete(work)).catch(() => {});
    return work;
  }

  async function retryNow(letter: DeadLetter): Promise<DeliveryEnd> {
    const place = letters.indexOf(letter);
    const before = deliveryOf.get(letter);
    if (place === -1 || before === undefined) throw new Error('The delivery is not a dead letter.');
    letters.splice(place, 1);
    const delivery = { ...before, attempts: [...before.attempts], copies: [...before.copies] };
    const attempt = await attemptAt(delivery, clock.now());
    if (attempt?.outcome === 'delivered') return ended('delivered', delivery);
    const outcome = attempt === null ? 'interrupted' : 'dead-lettered';
    return { ...ended(outcome, delivery), deadLetter: giveUpOn(delivery) };
  }

  return {
    deliver(body, deliverOptions = {}) {
      return tracked(deliverNow(started(body, deliverOptions), Number(deliverOptions.at ?? clock.now())));
    },
    sendOnce(body, { signature, ...sendOptions } = {}) {
      return tracked(attemptAt(started(body, sendOptions, signature), Number(sendOptions.at ?? clock.now())));
    },
    get deadLetters() {
      return [...letters];
    },
    retry: (letter) => tracked(retryNow(letter)),
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function ended(outcome: DeliveryEnd['outcome'], { attempts, copies }: Underway): DeliveryEnd {
  return { outcome, attempts, copies };
}

const UNREACHABLE: Seen = { status: null, why: 'the receiver is unreachable', note: null };

function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Gives out slots, first come, first served. Each resolves to the function that gives the slot back. */
function concurrencyLimit(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let free = count;
  const giveBack = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return giveBack;
  };
}
