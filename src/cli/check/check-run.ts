import { randomBytes } from 'node:crypto';
import type { EventType } from '../../events/event-types.ts';
import { isSuccess } from '../../sender/deliver.ts';
import { signBody } from '../../signing/signature.ts';
import { buildEvent } from '../../testing/build-event.ts';
import { Effects } from './effects-address.ts';
import { exchange, type Exchange, type RequestParts } from './exchange.ts';
import { tellsToWait, PatientRetries } from './told-to-wait.ts';

/** An event that the run has made up. */
export interface CheckEvent {
  readonly id: string;
  readonly body: Uint8Array;
  /** what it is, for the report */
  readonly what: string;
}

/** More or other fields of an envelope. */
export interface EnvelopeFields extends Readonly<Record<string, unknown>> {
  readonly type?: string;
}

/** What is checked, and how patiently. */
export interface RunOptions {
  readonly url: URL;
  readonly secret: string;
  readonly effects: string | undefined;
  readonly deadlineMs: number;
  readonly settleMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** How a delivery is to differ from those of the service. */
export type SendOptions = Omit<RequestParts, 'headers' | 'body'> & {
  /** instead of the right one; `null` sends none */
  readonly signature?: string | null;
  /** waits so many times as long for the answer, where the body itself takes its time */
  readonly patience?: number;
  /** takes the first answer, even one that says "later" */
  readonly once?: boolean;
};

/** How long after the deadline an answer is still waited for, to tell a late one from none. */
const LEAST_PATIENCE_MS = 2_000;

/** Shorter ones stand in any text by chance. */
const TELLING_LENGTH = 6;

/** What the probes of one run share. */
export class CheckRun {
  readonly url: URL;
  readonly deadlineMs: number;
  /** how long an effect may take to be seen, and a second one to come */
  readonly settleMs: number;
  readonly signal: AbortSignal;
  readonly effects: Effects | null;
  readonly retries: PatientRetries;
  /** how the id of every event begins */
  readonly ids = `evt_check_${randomBytes(4).toString('hex')}_`;
  /** the slowest answer to a delivery that came alone and was taken */
  slowest: { readonly ms: number; readonly what: string } | null = null;
  readonly #secret: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: { readonly patienceMs: number; readonly signal: AbortSignal };
  #made = 0;

  constructor({ url, secret, effects, deadlineMs, settleMs, headers, signal }: RunOptions) {
    this.#headers = headers;
    this.url = url;
    this.deadlineMs = deadlineMs;
    this.settleMs = settleMs;
    this.signal = signal;
    this.retries = new PatientRetries(signal);
    this.#secret = secret;
    this.#limits = { patienceMs: deadlineMs + Math.max(deadlineMs, LEAST_PATIENCE_MS), signal };
    this.effects = effects === undefined ? null : new Effects(effects, this.#limits);
  }

  /** An id that no other event has. */
  newId(): string {
    this.#made += 1;
    return `${this.ids}${this.#made}`;
  }

  /** A valid event about an order or a cart of its own, written as JavaScript writes JSON. */
  event(type: EventType = 'order.created', more: EnvelopeFields = {}): CheckEvent {
    const id = this.newId();
    const { data, ...envelope } = buildEvent(type, { id });
    const own = 'id' in data ? { ...data, id: `${data.object ?? ''}_${id.slice('evt_'.length)}` } : data;
    const text = JSON.stringify({ ...envelope, data: own, ...more });
    return { id, body: Buffer.from(text), what: `${more.type ?? type}, id ${id}, correctly signed` };
  }

  /** Any bytes, under an id that stands in them. */
  eventOf(id: string, body: string | Uint8Array, what: string): CheckEvent {
    return { id, body: typeof body === 'string' ? Buffer.from(body) : body, what };
  }

  /** The right signature. */
  sign(body: Uint8Array): string {
    return signBody(body, this.#secret);
  }

  /**
   * Sends a body as the service does, under its right signature unless told otherwise; again after a while, where the
   * answer says "later".
   */
  async send(body: Uint8Array, options: SendOptions = {}): Promise<Exchange> {
    const { signature = this.sign(body), patience = 1, once = false, ...parts } = options;
    const limits = { ...this.#limits, patienceMs: this.#limits.patienceMs * patience };
    const own = signature === null ? {} : { 'X-Signature': signature };
    const headers = { 'Content-Type': 'application/json', ...own, ...this.#headers };
    const send = (): Promise<Exchange> => exchange(this.url, { ...parts, headers, body }, limits);
    const first = await send();
    const answer = tellsToWait(first) && !once ? await this.retries.again(first, send) : first;
    if (answer.status === null || this.#secret.length < TELLING_LENGTH) return answer;
    return { ...answer, body: answer.body.replaceAll(this.#secret, '<the secret>') };
  }

  /** Delivers an event that has the endpoint to itself, and remembers how long the answer took. */
  async deliver({ body, what }: CheckEvent, options: SendOptions = {}): Promise<Exchange> {
    const answer = await this.send(body, options);
    if (isTaken(answer) && answer.ms > (this.slowest?.ms ?? -1)) this.slowest = { ms: answer.ms, what };
    return answer;
  }

  /** Whether even a delivery that came alone was answered too late. */
  isLateAlone(): boolean {
    return this.slowest !== null && this.slowest.ms > this.deadlineMs;
  }

  /** Ends what connections are left. */
  close(): void {
    this.effects?.close();
  }
}

/** The answer is a success, however late it came. */
export function isTaken({ status }: Exchange): boolean {
  return isSuccess(status);
}
