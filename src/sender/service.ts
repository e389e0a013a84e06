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

/** Where a service delivers, how, and what goes wrong meanwhile. */
export interface ServiceOptions {
  readonly url: string | URL;
  readonly secret: Secret;
  /** beside those that the service sends, or in place of one of them */
  readonly headers?: Readonly<Record<string, string>>;
  /** the real one unless set */
  readonly clock?: SenderClock;
  /** how long an answer may take; 10 s as interface 6.4 says */
  readonly timeoutMs?: number;
  /** how many requests may be under way; 16 unless set */
  readonly concurrency?: number;
  /** what goes wrong with which try; nothing unless set */
  readonly faults?: FaultPlan;
  /** Whether the receiver can be reached at a time; where it cannot, a try fails and nothing is sent. */
  readonly reachable?: (at: number) => boolean;
  /** Ends waiting. Requests under way are still answered, so that it is known what became of them. */
  readonly signal?: AbortSignal;
  /** Called after each try, and after each copy of one. */
  readonly onAttempt?: (attempt: DeliveryAttempt) => void;
}

/** One HTTP request of the service, or what hindered it. */
export interface DeliveryAttempt extends EventLabel {
  /** 1 for the first */
  readonly number: number;
  /** on the service's clock */
  readonly at: Date;
  readonly outcome: 'delivered' | 'failed';
  /** `null` without an answer */
  readonly status: number | null;
  /** why it has failed */
  readonly why: string | null;
  /** what was odd about an answer all the same, such as a body without an end */
  readonly note: string | null;
  /** how long the request took in real time */
  readonly ms: number;
  /** the kinds of its faults joined by `+`, or `copy` for what a duplicate sends beside it */
  readonly fault: string | null;
  /** when it is tried again by itself; `null` for never */
  readonly nextAt: Date | null;
}

/** How it ended with a body that was to be delivered. */
export interface DeliveryEnd {
  readonly outcome: 'delivered' | 'dead-lettered' | 'interrupted';
  /** every try, oldest first */
  readonly attempts: readonly DeliveryAttempt[];
  /** what duplicates sent beside them */
  readonly copies: readonly DeliveryAttempt[];
  /** where it was given up on: what a person may retry */
  readonly deadLetter?: DeadLetter;
}

/** What the service gave up on. */
export interface DeadLetter extends EventLabel {
  readonly body: Uint8Array;
  readonly attempts: readonly DeliveryAttempt[];
}

/** What is special about one delivery. */
interface DeliverOptions {
  /** when the first try is due on the service's clock; at once unless set */
  readonly at?: Date | number;
  /** for this delivery alone */
  readonly faults?: FaultPlan;
}

/** The service's side of webhooks: delivers, retries on its schedule, and keeps what it gave up on. */
export interface Service extends Disposable {
  /** Delivers an event until a 2xx comes within the time or the last retry has failed. Never rejects. */
  deliver(body: Uint8Array, options?: DeliverOptions): Promise<DeliveryEnd>;
  /**
   * Sends one request that is never retried, as a stranger may; `null` when it was interrupted before.
   *
   * @param signature - sent instead of the right one; `null` sends none
   */
  sendOnce(
    body: Uint8Array,
    options?: DeliverOptions & { readonly signature?: string | null },
  ): Promise<DeliveryAttempt | null>;
  /** What was given up on and not delivered by hand since, oldest first. */
  readonly deadLetters: readonly DeadLetter[];
  /**
   * Tries a dead letter once more, with the faults of its delivery, as a person does from the dashboard. When that fails,
   * another dead letter takes its place.
   */
  retry(deadLetter: DeadLetter): Promise<DeliveryEnd>;
  /** Resolves when nothing is under way and nothing waits. */
  idle(): Promise<void>;
  /** Closes idle connections. */
  [Symbol.dispose](): void;
}

/** A body on its way, with how often it was tried. */
interface Underway extends EventLabel, SignedBody {
  readonly faults: FaultPlan;
  readonly attempts: DeliveryAttempt[];
  readonly copies: DeliveryAttempt[];
}

/**
 * The service as interface 6.3 and 6.4 describe it.
 *
 * @throws ConfigurationError for a secret or a number that cannot work
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

  /** Tries until it succeeds or the schedule ends. */
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

  /** One try with its faults; `null` when it was interrupted before it began. */
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

/** Lets so many in at a time, first come, first served. Resolves with a slot's way back, which is called once. */
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
