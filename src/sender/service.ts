import { createHash } from 'node:crypto';
import { performance } from '../host/real-timers.ts';
import { assertOption, whole } from '../option-rules.ts';
import { signBody, signingKeys, type Secret } from '../signing/signature.ts';
import { labelOf, type EventLabel } from './event-json.ts';
import { copiesIn, delayedBy, noFaults, type Fault, type FaultPlan, retryAfter, type SignedBody } from './faults.ts';
import { agentFor, requestWith, type Seen } from './deliver.ts';
import { realClock, type SenderClock } from './sender-clock.ts';

export interface ServiceOptions {
  readonly url: string | URL;
  readonly secret: Secret;
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock?: SenderClock;
  /** By default, 10 s (interface 6.4). */
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly faults?: FaultPlan;
  /** At such a time, a try fails and nothing is sent. */
  readonly reachable?: (at: number) => boolean;
  /** Requests under way still get their answer. */
  readonly signal?: AbortSignal;
  readonly onAttempt?: (attempt: DeliveryAttempt) => void;
}

export interface DeliveryAttempt extends EventLabel {
  readonly number: number;
  readonly at: Date;
  readonly outcome: 'delivered' | 'failed';
  readonly status: number | null;
  readonly why: string | null;
  readonly note: string | null;
  readonly ms: number;
  readonly fault: string | null;
  readonly nextAt: Date | null;
}

export interface DeliveryEnd {
  readonly outcome: 'delivered' | 'dead-lettered' | 'interrupted';
  readonly attempts: readonly DeliveryAttempt[];
  readonly copies: readonly DeliveryAttempt[];
  /** After the last try; it can be retried by hand. */
  readonly deadLetter?: DeadLetter;
}

export interface DeadLetter extends EventLabel {
  readonly body: Uint8Array;
  readonly attempts: readonly DeliveryAttempt[];
}

interface DeliverOptions {
  readonly at?: Date | number;
  readonly faults?: FaultPlan;
}

/** Deliveries, retries on a schedule, and dead letters (interface 6.3 and 6.4). */
export interface Service extends Disposable {
  deliver(body: Uint8Array, options?: DeliverOptions): Promise<DeliveryEnd>;
  /** Never retried, as from an attacker. `null` as the signature sends none. */
  sendOnce(
    body: Uint8Array,
    options?: DeliverOptions & { readonly signature?: string | null },
  ): Promise<DeliveryAttempt | null>;
  readonly deadLetters: readonly DeadLetter[];
  /** If it fails, another dead letter takes its place. */
  retry(deadLetter: DeadLetter): Promise<DeliveryEnd>;
  idle(): Promise<void>;
  [Symbol.dispose](): void;
}

interface Underway extends EventLabel, SignedBody {
  readonly faults: FaultPlan;
  readonly attempts: DeliveryAttempt[];
  readonly copies: DeliveryAttempt[];
}

export function createService(options: ServiceOptions): Service {
  const {
    secret,
    clock = realClock(),
    concurrency = 16,
    timeoutMs,
    faults: plan = noFaults,
    signal,
    onAttempt,
  } = options;
  const { reachable = () => true } = options;
  const url = new URL(options.url);
  const agent = agentFor(url);
  assertOption('concurrency', concurrency, whole());
  const takeSlot = concurrencyLimit(concurrency);
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

  /** `null` if it was interrupted before it began. */
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

/** First come, first served. Resolves to the function that gives the slot back. */
export function concurrencyLimit(count: number): () => Promise<() => void> {
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
