import { request as httpRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { signBody, type Secret } from '../signature.ts';
import type { WireFault } from './faults.ts';

/** How the receiver answered a delivery. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** the first 64 KiB of it */
  readonly body: string;
}

export interface DeliveryOptions {
  readonly secret: Secret;
  /** sent instead of the right signature; `null` sends none */
  readonly signature?: string | null;
  /** success needs a 2xx within this time; 10 s as interface 6.4 says */
  readonly timeoutMs?: number;
  readonly agent?: Agent;
  /** what goes wrong on the way */
  readonly fault?: WireFault;
}

/** There was no answer. The message says why in a few words. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  readonly code: 'TIMEOUT' | 'REFUSED' | 'CUT' | 'LOST' | 'FAILED';

  constructor(code: DeliveryError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const SLOW_PIECES = 10;
const CUT_BEFORE_ANSWER = 'the connection was cut before the answer';

/**
 * Delivers a body as the service does: one signed POST, answered within 10 s (interface 6.3 and 6.4). Redirects are not
 * followed.
 *
 * @throws DeliveryError when there is no answer in time or no connection
 */
export async function deliver(url: string | URL, body: Uint8Array, options: DeliveryOptions): Promise<Answer> {
  const deadline = performance.now() + (options.timeoutMs ?? TIMEOUT_MS);
  const first = attempt(new URL(url), body, options, deadline, options.agent);
  try {
    return await first.answer;
  } catch (failure) {
    // The receiver has closed an idle connection just when it was used again. HTTP clients send again then; should it have
    // seen the request all the same, it is sent an event twice, as it must be able to bear.
    if (!first.wasStale()) throw failure;
    return attempt(new URL(url), body, options, deadline, false).answer;
  }
}

function attempt(
  url: URL,
  body: Uint8Array,
  { secret, signature = signBody(body, secret), timeoutMs = TIMEOUT_MS, fault }: DeliveryOptions,
  deadline: number,
  /** `false` for a connection of its own */
  agent: Agent | false | undefined,
): { readonly answer: Promise<Answer>; readonly wasStale: () => boolean } {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': body.byteLength,
    ...(signature !== null && { 'X-Signature': signature }),
  };
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sent = request(url, { method: 'POST', headers, ...(agent !== undefined && { agent }) });
  let stale = false;
  const answer = new Promise<Answer>((resolve, reject) => {
    let answering = false;
    const fail = (failure: Error): void => {
      stale ||= sent.reusedSocket && !answering && codeOf(failure) === 'ECONNRESET';
      reject(failure instanceof DeliveryError ? failure : described(failure));
    };
    const tooLate = (): void => {
      sent.destroy(new DeliveryError('TIMEOUT', `no answer within ${timeoutMs / 1_000} s`));
    };
    const timer = setTimeout(tooLate, Math.max(deadline - performance.now(), 0));
    sent.on('error', fail);
    sent.on('close', () => {
      clearTimeout(timer);
      if (!answering) fail(new DeliveryError('CUT', CUT_BEFORE_ANSWER)); // unless it has failed otherwise
    });
    sent.on('response', (received) => {
      answering = true;
      received.on('error', fail);
      if (fault?.kind === 'lost-answer') sent.destroy(new DeliveryError('LOST', 'the answer was lost on the way'));
      else void readAnswer(received).then(resolve, fail);
    });
  });
  write(sent, body, fault);
  return { answer, wasStale: () => stale };
}

function write(sent: ClientRequest, body: Uint8Array, fault: WireFault | undefined): void {
  if (fault?.kind === 'cut') {
    const until = Math.min(Math.floor(body.byteLength * fault.where), body.byteLength - 1);
    const message = `the connection was cut after ${until} of ${body.byteLength} bytes`;
    sent.flushHeaders();
    sent.write(body.subarray(0, until), () => sent.destroy(new DeliveryError('CUT', message)));
  } else if (fault?.kind === 'slow-body') writeSlowly(sent, body, fault.ms);
  else sent.end(body);
}

/** Pieces in equal intervals, until all is sent or there is an answer already. */
function writeSlowly(sent: ClientRequest, body: Uint8Array, ms: number): void {
  const size = Math.max(Math.ceil(body.byteLength / SLOW_PIECES), 1);
  let at = 0;
  const timer = setInterval(() => {
    at += size;
    sent.write(body.subarray(at - size, at));
    if (at < body.byteLength) return;
    clearInterval(timer);
    sent.end();
  }, ms / SLOW_PIECES);
  sent.flushHeaders();
  sent.on('close', () => clearInterval(timer));
  sent.on('response', (received) => {
    // The rest is of no interest to a receiver that has answered before the end.
    received.on('end', () => {
      if (!sent.writableEnded) sent.destroy();
    });
  });
}

async function readAnswer(received: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of received as AsyncIterable<Buffer>) {
    if (size < MAX_ANSWER_BYTES) chunks.push(chunk);
    size += chunk.byteLength;
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
  return { status: received.statusCode ?? 0, headers: received.headers, body };
}

function described(failure: Error): DeliveryError {
  const code = codeOf(failure);
  if (code === 'ECONNREFUSED') return new DeliveryError('REFUSED', 'the connection was refused', { cause: failure });
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return new DeliveryError('CUT', CUT_BEFORE_ANSWER, { cause: failure });
  }
  return new DeliveryError('FAILED', failure.message === '' ? code : failure.message, { cause: failure });
}

function codeOf(failure: Error): string {
  return (failure as NodeJS.ErrnoException).code ?? failure.name;
}
