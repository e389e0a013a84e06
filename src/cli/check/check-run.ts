import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type Agent, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { clearTimeout, delay, performance, setTimeout } from '../../host/real-timers.ts';
import type { EventType } from '../../events/event-types.ts';
import { agentFor, isSuccess, readAnswer } from '../../sender/deliver.ts';
import { signBody } from '../../signing/signature.ts';
import { buildEvent } from '../../testing/build-event.ts';
import { connectionFailure } from '../shared/unreachable.ts';

export interface CheckEvent {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly body: Uint8Array;
  readonly what: string;
}

export interface RunSettings {
  readonly url: URL;
  readonly secret: string;
  /** contains `{id}` */
  readonly effects: string | undefined;
  readonly deadlineMs: number;
  /** how long an effect, or a second one, may take to appear */
  readonly settleMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

interface SendOptions extends Pick<RequestParts, 'method' | 'write' | 'agent'> {
  readonly signature?: string | null;
  readonly patience?: number;
  /** takes the first response, even if it says "later" */
  readonly once?: boolean;
}

/** A response up to this long after the deadline is late; after that, it is missing. */
const LEAST_PATIENCE_MS = 2_000;

/** A shorter secret occurs in texts by chance. */
const TELLING_LENGTH = 6;

export class CheckRun {
  readonly settings: RunSettings;
  readonly effects: Effects | null;
  readonly retries: PatientRetries;
  readonly ids = `evt_check_${randomBytes(4).toString('hex')}_`;
  /** the slowest 2xx to a delivery that was sent alone */
  slowest: { readonly ms: number; readonly what: string } | null = null;
  readonly #limits: Limits;
  #made = 0;

  constructor(settings: RunSettings) {
    const { effects, deadlineMs, signal } = settings;
    this.settings = settings;
    this.retries = new PatientRetries(signal);
    this.#limits = { patienceMs: deadlineMs + Math.max(deadlineMs, LEAST_PATIENCE_MS), signal };
    this.effects = effects === undefined ? null : effectsAt(effects, this.#limits);
  }

  /** Builds a valid event about a new order or cart. The fields of `more` are added to the envelope, or replace its fields. */
  event(type: EventType = 'order.created', more: object = {}): CheckEvent {
    this.#made += 1;
    const id = `${this.ids}${this.#made}`;
    const { data, ...envelope } = buildEvent(type, { id });
    const own = 'id' in data ? { ...data, id: `${data.object ?? ''}_${id.slice('evt_'.length)}` } : data;
    const event = { ...envelope, data: own, ...more };
    const text = JSON.stringify(event);
    return { id, type: event.type, text, body: Buffer.from(text), what: `${event.type}, id ${id}, correctly signed` };
  }

  sign(body: Uint8Array): string {
    return signBody(body, this.settings.secret);
  }

  async send(body: Uint8Array, options: SendOptions = {}): Promise<Exchange> {
    const { url, secret, headers: given } = this.settings;
    const { signature = this.sign(body), patience = 1, once: takesFirst = false, ...parts } = options;
    const limits = { ...this.#limits, patienceMs: this.#limits.patienceMs * patience };
    const own = signature === null ? {} : { 'X-Signature': signature };
    const headers = { 'Content-Type': 'application/json', ...own, ...given };
    const send = (): Promise<Exchange> => exchange(url, { ...parts, headers, body }, limits);
    const first = await send();
    const answer = tellsToWait(first) && !takesFirst ? await this.retries.again(first, send) : first;
    if (answer.status === null || secret.length < TELLING_LENGTH) return answer;
    return { ...answer, body: answer.body.replaceAll(secret, '<the secret>') };
  }

  async deliver({ body, what }: CheckEvent): Promise<Exchange> {
    const answer = await this.send(body);
    this.noteTime(answer, what);
    return answer;
  }

  noteTime(answer: Exchange, what: string): void {
    if (isAccepted(answer) && answer.ms > (this.slowest?.ms ?? -1)) this.slowest = { ms: answer.ms, what };
  }

  isLateAlone(): boolean {
    return this.slowest !== null && this.slowest.ms > this.settings.deadlineMs;
  }
}

export function isAccepted({ status }: Exchange): boolean {
  return isSuccess(status);
}

/** Whether the endpoint asks the sender to wait, because of a rate limit or its load. Such a response is not judged. */
export function tellsToWait(answer: Exchange): boolean {
  return answer.status === 429 || (answer.status === 503 && answer.headers['retry-after'] !== undefined);
}

/** Whether a response of hookbox says that it knew the event; `null` for the response of any other endpoint. */
export function duplicateIn(answer: Exchange, id: string): boolean | null {
  const value = answer.status === 200 ? parsedOrNull(answer.body) : null;
  const { received, duplicate, id: named } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return received === true && typeof duplicate === 'boolean' && named === id ? duplicate : null;
}

const MOST_TRIES = 5;
const FIRST_WAIT_MS = 500;
/** Spaces out deliveries that wait together. */
const SPACING_MS = 50;
const LONGEST_WAIT_MS = 10_000;
const MOST_WAITING_MS = 60_000;

/** Waits and sends again if an endpoint says "later", so that a rate limit does not count as a fault. */
class PatientRetries {
  deliveries = 0;
  first: Exchange | null = null;
  /** deliveries that waited together count once */
  waitedMs = 0;
  #until = 0;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Sends again after the time that the endpoint asks for. Resolves with the last response if it asks for too much. */
  async again(later: Exchange, send: () => Promise<Exchange>): Promise<Exchange> {
    this.deliveries += 1;
    this.first ??= later;
    let answer: Exchange = later;
    for (let tries = 1; tries <= MOST_TRIES && tellsToWait(answer); tries++) {
      const ms = this.#waitFor(answer, tries);
      if (ms === null) return answer;
      await delay(ms, undefined, { signal: this.#signal });
      answer = await send();
    }
    return answer;
  }

  #waitFor(answer: Exchange, tries: number): number | null {
    const now = performance.now();
    const requestedMs = retryAfterMs(answer);
    const until = Math.max(
      now + Math.max(requestedMs, FIRST_WAIT_MS * 2 ** (tries - 1)),
      this.#until + SPACING_MS * tries, // wider each time, in case the limit is lower
    );
    const moreMs = until - Math.max(now, this.#until);
    if (requestedMs > LONGEST_WAIT_MS || this.waitedMs + moreMs > MOST_WAITING_MS) return null;
    this.waitedMs += moreMs;
    this.#until = until;
    return until - now;
  }
}

function retryAfterMs(answer: Exchange): number {
  const header = (answer.status !== null && answer.headers['retry-after']) || '0';
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** The effects of an event so far; `null` if the `--effects` URL does not report them. */
export interface Effect {
  readonly rows: number | null;
  /** runs of its handler, and perhaps its row */
  readonly count: number | null;
}

export interface NoCount {
  readonly why: string;
}

export type Effects = ReturnType<typeof effectsAt>;

/** @param template - contains `{id}` */
function effectsAt(template: string, limits: Limits) {
  const urlFor = (id: string): URL => new URL(template.replaceAll('{id}', encodeURIComponent(id)));
  const agent = agentFor(urlFor('evt_check'));

  async function of(id: string): Promise<Effect | NoCount> {
    const answer = await exchange(urlFor(id), { method: 'GET', agent }, limits);
    if (answer.status === null) return { why: answer.message };
    if (answer.status !== 200) return { why: `it returned ${answer.status}` };
    const why = 'it did not return a number, {"count": n} or {"rows": n, "count": n}';
    return effectIn(answer.body) ?? { why };
  }

  return {
    of,
    async onceThere(id: string, withinMs: number, counted: (effect: Effect) => number): Promise<Effect | NoCount> {
      const giveUpAt = performance.now() + withinMs;
      for (;;) {
        const effect = await of(id);
        if ('why' in effect || counted(effect) > 0 || performance.now() > giveUpAt) return effect;
        await delay(50, undefined, { signal: limits.signal });
      }
    },
    close: () => agent.destroy(),
  };
}

function effectIn(text: string): Effect | null {
  const value = parsedOrNull(text);
  const given = (typeof value === 'object' && value !== null ? value : { count: value }) as Partial<Effect>;
  const { rows = null, count = null } = given;
  const isCount = (each: number | null): boolean => each === null || (Number.isInteger(each) && each >= 0);
  return (rows ?? count) !== null && isCount(rows) && isCount(count) ? { rows, count } : null;
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** The result of one request. It never throws, because the check examines how an endpoint fails. */
export type Exchange = Answered | Unanswered;

interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** the first 64 KiB of it */
  readonly body: string;
  readonly ended: boolean;
  readonly ms: number;
  readonly onUsedConnection: boolean;
}

interface Unanswered {
  readonly status: null;
  readonly failure: 'too-late' | 'cut';
  readonly message: string;
  readonly ms: number;
}

interface RequestParts {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array;
  /** writes the body slowly; a response that comes first drops the rest */
  readonly write?: (write: (part: Uint8Array) => void, body: Uint8Array) => Promise<void>;
  readonly agent?: Agent;
}

interface Limits {
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

const BODY_PATIENCE_MS = 1_000;

/** Sends one request, on a new connection unless `agent` is set. Does not follow redirects. */
async function exchange(url: URL, parts: RequestParts, { patienceMs, signal: stop }: Limits): Promise<Exchange> {
  stop.throwIfAborted();
  const { method = 'POST', headers = {}, body = new Uint8Array(), agent = agentFor(url, 1) } = parts;
  const { write = async (write, body) => write(body) } = parts;
  const late = AbortSignal.timeout(patienceMs);
  const signal = AbortSignal.any([stop, late]);
  const framing = method === 'GET' ? {} : { 'Content-Length': body.byteLength };
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const began = performance.now();
  const sent = request(url, { method, headers: { ...headers, ...framing }, agent, signal });
  const isOpen = (): boolean => !sent.destroyed && !sent.writableEnded;
  sent.setNoDelay(true);
  sent.on('error', () => {}); // one after the answer changes nothing
  try {
    const responding = once(sent, 'response', { signal });
    const writing = write((part) => part.byteLength > 0 && isOpen() && sent.write(part), body);
    void writing.then(() => isOpen() && sent.end());
    const [received] = (await responding) as [IncomingMessage];
    const ms = performance.now() - began;
    const bodyTimer = setTimeout(() => received.destroy(), BODY_PATIENCE_MS);
    const { status, body: text } = await readAnswer(received).finally(() => clearTimeout(bodyTimer));
    stop.throwIfAborted();
    if (!sent.writableFinished) sent.destroy();
    const { headers, complete: ended } = received;
    return { status, headers, body: text, ended, ms, onUsedConnection: sent.reusedSocket };
  } catch (failure) {
    stop.throwIfAborted();
    const ms = performance.now() - began;
    if (!late.aborted) return { status: null, failure: 'cut', message: connectionFailure(failure), ms };
    return { status: null, failure: 'too-late', message: `no answer within ${duration(patienceMs)}`, ms };
  } finally {
    if (parts.agent === undefined) agent.destroy();
  }
}

/** `12 ms` or `1.2 s`. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
}
