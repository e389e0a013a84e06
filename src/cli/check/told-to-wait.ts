import { delay, performance } from '../../host/real-timers.ts';
import type { Exchange } from './exchange.ts';

const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

/** The answer says "later", and nothing about what was sent: a rate limit, or an endpoint that has too much to do. */
export function tellsToWait(answer: Exchange): boolean {
  if (answer.status === TOO_MANY_REQUESTS) return true;
  return answer.status === UNAVAILABLE && answer.headers['retry-after'] !== undefined;
}

const MOST_TRIES = 5;
const FIRST_WAIT_MS = 500;
/** Between two deliveries that were told to wait together, so that they do not come together again. */
const SPACING_MS = 50;
const LONGEST_WAIT_MS = 10_000;
/** In the whole run. */
const MOST_WAITING_MS = 60_000;

/** Waits and sends again where an endpoint says "later", so that a rate limit is not taken for a fault or a refusal. */
export class PatientRetries {
  /** how many deliveries were told to wait */
  deliveries = 0;
  /** the first answer that said so */
  first: Exchange | null = null;
  /** deliveries that waited together count once */
  waitedMs = 0;
  #until = 0;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Sends again after as long as the endpoint asks for; resolves with the last answer where that is too long. */
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
    const askedMs = retryAfterMs(answer);
    const until = Math.max(
      now + Math.max(askedMs, FIRST_WAIT_MS * 2 ** (tries - 1)),
      this.#until + SPACING_MS * tries, // wider each time, should the limit be lower than thought
    );
    const moreMs = until - Math.max(now, this.#until);
    if (askedMs > LONGEST_WAIT_MS || this.waitedMs + moreMs > MOST_WAITING_MS) return null;
    this.waitedMs += moreMs;
    this.#until = until;
    return until - now;
  }
}

/** Seconds or a date; 0 where it is neither. */
function retryAfterMs(answer: Exchange): number {
  const header = answer.status === null ? undefined : answer.headers['retry-after'];
  if (header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}
