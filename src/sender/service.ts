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
  /** During this time, a try fails and nothing is sent. */
  readonly reachable?: (at: number) => boolean;
  /** Requests in progress still get their response. */
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

interface Delivery extends EventLabel, SignedBody {
  readonly faults: FaultPlan;
  readonly attempts: DeliveryAttempt[];
  readonly copies: DeliveryAttempt[];
}

export type DeadLetter = Delivery;

interface DeliverOptions {
  readonly at?: Date | number;
  readonly faults?: FaultPlan;
}

/** Deliveries, retries on a schedule, and dead letters (interface 6.3 and 6.4). */
export interface Service extends Disposable {
  deliver(body: Uint8Array, options?: DeliverOptions): Promise<DeliveryEnd>;
  /** Never retried, because an attacker would not retry either. `null` as the signature sends none. */
  sendOnce(
    body: Uint8Array,
    options?: DeliverOptions & { readonly signature?: string | null },
  ): Promise<DeliveryAttempt | null>;
  readonly deadLetters: readonly DeadLetter[];
  /** If it fails, another dead letter takes its place. */
  retry(deadLetter: DeadLetter): Promise<DeliveryEnd>;
  [Symbol.dispose](): void;
}

export function createService(options: ServiceOptions): Service {
  const { secret, clock = realClock(), timeoutMs, headers, concurrency = 16, signal, onAttempt } = options;
  const { faults: plan = noFaults, reachable = () => true } = options;
  const url = new URL(options.url);
  const agent = agentFor(url);
  assertOption('concurrency', concurrency, whole());
  const takeSlot = concurrencyLimit(concurrency);
  signingKeys(secret);
  const letters: DeadLetter[] = [];

  function started(body: Uint8Array, { faults = plan }: DeliverOptions, signature: string | null): Delivery {
    return { ...labelOf(body), body, signature, faults, attempts: [], copies: [] };
  }

  function deadLettered(delivery: Delivery, outcome: 'dead-lettered' | 'interrupted' = 'dead-lettered'): DeliveryEnd {
    letters.push(delivery);
    return { ...ended(outcome, delivery), deadLetter: delivery };
  }

  /** `null` if it was interrupted before it started. */
  async function attemptAt(delivery: Delivery, dueAt: number, next = retryAfter): Promise<DeliveryAttempt | null> {
    const number = delivery.attempts.length + 1;
    const faults = delivery.faults(delivery.id ?? digestOf(delivery.body), number);
    await clock.until(delayedBy(faults, dueAt), signal);
    if (signal?.aborted === true) return null;
    const beside = Array.from({ length: copiesIn(faults) }, () => 'copy' as const);
    const [attempt = null, ...copies] = await clock.hold(() =>
      Promise.all([faults, ...beside].map((one) => send(delivery, number, one, next))),
    );
    if (attempt !== null) delivery.attempts.push(attempt);
    delivery.copies.push(...copies.filter((copy) => copy !== null));
    return attempt;
  }

  async function send(
    { id, type, body, signature }: Delivery,
    number: number,
    faults: readonly Fault[] | 'copy',
    next: typeof retryAfter,
  ): Promise<DeliveryAttempt | null> {
    const giveBack = await takeSlot();
    if (signal?.aborted === true) {
      giveBack();
      return null;
    }
    const at = clock.now();
    const startedAt = performance.now();
    const isCopy = faults === 'copy';
    const { status, why, note } = reachable(at)
      ? await requestWith(isCopy ? [] : faults, url, { body, signature }, { agent, headers, timeoutMs })
      : UNREACHABLE;
    giveBack();
    const wait = why === null || isCopy ? null : next(number);
    const attempt: DeliveryAttempt = {
      id,
      type,
      number,
      at: new Date(at),
      outcome: why === null ? 'delivered' : 'failed',
      status,
      why,
      note,
      ms: performance.now() - startedAt,
      fault: isCopy ? 'copy' : faults.map(({ kind }) => kind).join('+') || null,
      nextAt: wait === null ? null : new Date(Math.ceil(clock.now() + wait)),
    };
    onAttempt?.(attempt);
    return attempt;
  }

  return {
    async deliver(body, deliverOptions = {}) {
      const delivery = started(body, deliverOptions, signBody(body, secret));
      let dueAt: number | null = Number(deliverOptions.at ?? clock.now());
      while (dueAt !== null) {
        const attempt: DeliveryAttempt | null = await attemptAt(delivery, dueAt);
        if (attempt === null) return ended('interrupted', delivery);
        if (attempt.outcome === 'delivered') return ended('delivered', delivery);
        dueAt = attempt.nextAt === null ? null : attempt.nextAt.getTime();
      }
      return deadLettered(delivery);
    },
    async sendOnce(body, { signature = signBody(body, secret), ...sendOptions } = {}) {
      return attemptAt(started(body, sendOptions, signature), Number(sendOptions.at ?? clock.now()), neverAgain);
    },
    get deadLetters() {
      return [...letters];
    },
    async retry(letter) {
      const place = letters.indexOf(letter);
      if (place === -1) throw new Error('The delivery is not a dead letter.');
      letters.splice(place, 1);
      const delivery = { ...letter, attempts: [...letter.attempts], copies: [...letter.copies] };
      const attempt = await attemptAt(delivery, clock.now(), neverAgain);
      if (attempt?.outcome === 'delivered') return ended('delivered', delivery);
      return deadLettered(delivery, attempt === null ? 'interrupted' : 'dead-lettered');
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function ended(outcome: DeliveryEnd['outcome'], { attempts, copies }: Delivery): DeliveryEnd {
  return { outcome, attempts, copies };
}

const neverAgain = (): null => null;

const UNREACHABLE: Seen = { status: null, why: 'the receiver is unreachable', note: null };

function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** First come, first served. Resolves with a function that frees the slot. */
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
