import { request as httpRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf } from '../errors.ts';
import { clearInterval, clearTimeout, performance, setInterval, setTimeout } from '../host/real-timers.ts';
import { signBody, type Secret } from '../signing/signature.ts';
import { type WireFault, isWireFault, tamperedBody, tamperedSignature, type Fault, type SignedBody } from './faults.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** the first 64 KiB */
  readonly body: string;
  /** why the body is incomplete, which does not change the result; `null` for a complete body */
  readonly note: string | null;
}

interface DeliveryOptions {
  /** without it, there is no signature */
  readonly secret?: Secret;
  /** replaces the right signature; `null` sends none */
  readonly signature?: string | null;
  /** added to the headers of the service, or in place of one of them; `undefined` removes one */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** the time for a 2xx; by default, 10 s (interface 6.4) */
  readonly timeoutMs?: number;
  readonly agent?: Agent;
  /** whether to send again if a kept connection turns out to be closed; `true` by default */
  readonly resend?: boolean;
  readonly fault?: WireFault;
}

/** There was no answer, for the reason in the message. */
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
const CUT_BEFORE_ANSWER = 'the connection was cut before the answer arrived';

/**
 * Delivers a body as the service does: one signed POST, answered within 10 s (interface 6.3 and 6.4). It follows no
 * redirects. The status is the answer; a cut or endless body only adds a note.
 *
 * @throws DeliveryError without a status in time, or without a connection
 */
export async function deliver(url: string | URL, body: Uint8Array, options: DeliveryOptions): Promise<Answer> {
  const deadline = performance.now() + (options.timeoutMs ?? TIMEOUT_MS);
  const first = send(new URL(url), body, options, deadline, options.agent);
  try {
    return await first.answer;
  } catch (failure) {
    // The receiver closed an idle connection just when it was used again. HTTP clients then send again. The receiver may
    // get an event twice, which it must handle anyway.
    if (options.resend === false || !first.wasStale()) throw failure;
    return send(new URL(url), body, options, deadline, false).answer;
  }
}

/** Only a 2xx is a success (interface 6.4). */
export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function send(
  url: URL,
  body: Uint8Array,
  { secret, signature = signatureOf(body, secret), timeoutMs = TIMEOUT_MS, headers: given, fault }: DeliveryOptions,
  deadline: number,
  /** `false` for a new connection */
  agent: Agent | false | undefined,
): { readonly answer: Promise<Answer>; readonly wasStale: () => boolean } {
  const named = {
    'Content-Type': 'application/json',
    'Content-Length': body.byteLength,
    ...(signature !== null && { 'X-Signature': signature }),
    ...given, // Node ignores the case of names
  };
  const headers = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sent = request(url, { method: 'POST', headers, ...(agent !== undefined && { agent }) });
  let stale = false;
  let receiving: IncomingMessage | undefined;
  const answer = new Promise<Answer>((resolve, reject) => {
    const fail = (failure: Error): void => {
      if (receiving !== undefined && !(failure instanceof DeliveryError)) return; // its status counts
      stale ||= sent.reusedSocket && receiving === undefined && codeOf(failure) === 'ECONNRESET';
      reject(failure instanceof DeliveryError ? failure : described(failure));
    };
    const within = `within ${timeoutMs / 1_000} s`;
    const tooLate = (): void => {
      if (receiving === undefined) sent.destroy(new DeliveryError('TIMEOUT', `no answer ${within}`));
      else receiving.destroy(new Error(`the response body did not end ${within}`));
    };
    const timer = setTimeout(tooLate, Math.max(deadline - performance.now(), 0));
    sent.on('error', fail);
    sent.on('close', () => {
      clearTimeout(timer);
      if (receiving === undefined) fail(new DeliveryError('CUT', CUT_BEFORE_ANSWER)); // unless it has failed otherwise
    });
    sent.on('response', (received) => {
      receiving = received;
      if (fault?.kind === 'lost-answer') sent.destroy(new DeliveryError('LOST', 'the answer was lost on the way'));
      else void readAnswer(received).then(resolve);
    });
  });
  write(sent, body, fault);
  return { answer, wasStale: () => stale };
}

/** The signature for an endpoint (interface 6.3), whose secret is optional (interface 6). */
export function signatureOf(body: Uint8Array, secret: Secret | null | undefined): string | null {
  return secret === null || secret === undefined ? null : signBody(body, secret);
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

/** Sends pieces in equal intervals until all is sent or there is an answer. */
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
    // A receiver that has answered does not need the rest.
    received.on('end', () => {
      if (!sent.writableEnded) sent.destroy();
    });
  });
}

/** Never rejects; a failure of the body becomes a note. */
async function readAnswer(received: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  let note: string | null = null;
  try {
    for await (const chunk of received as AsyncIterable<Buffer>) {
      if (size < MAX_ANSWER_BYTES) chunks.push(chunk);
      size += chunk.byteLength;
    }
  } catch (failure) {
    note = codeOf(failure as Error) === 'ECONNRESET' ? 'the response body was cut off' : messageOf(failure);
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
  return { status: received.statusCode ?? 0, headers: received.headers, body, note };
}

function described(failure: Error): DeliveryError {
  const code = codeOf(failure);
  const words = connectionWords(failure);
  if (words !== null) {
    return new DeliveryError(code === 'ECONNREFUSED' ? 'REFUSED' : 'FAILED', words, { cause: failure });
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return new DeliveryError('CUT', CUT_BEFORE_ANSWER, { cause: failure });
  }
  return new DeliveryError('FAILED', failure.message === '' ? code : failure.message, { cause: failure });
}

function codeOf(failure: Error): string {
  return (failure as NodeJS.ErrnoException).code ?? failure.name;
}

/** OpenSSL's reasons if the server does not speak TLS. */
const NO_TLS = /wrong version number|packet length too long/;

/** Describes a failed connection if the system's own words are unclear; `null` for other failures. */
export function connectionWords({ code, message }: NodeJS.ErrnoException): string | null {
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  // A socket has the one code, a request that has written to it the other.
  const isTls = code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true;
  return isTls && NO_TLS.test(message) ? 'the server uses http, not https' : null;
}

export interface Seen {
  /** `null` without an answer */
  readonly status: number | null;
  /** why it failed; `null` for success */
  readonly why: string | null;
  /** a remark on an accepted answer */
  readonly note: string | null;
}

interface RequestOptions {
  readonly agent: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Sends a signed body with faults, in one request. Never rejects. */
export function requestWith(
  faults: readonly Fault[],
  url: URL,
  signed: SignedBody,
  options: RequestOptions,
): Promise<Seen> {
  return sentWith(faults, signed, ({ body, signature }, fault) =>
    deliver(url, body, { ...options, signature, resend: false, ...(fault && { fault }) }),
  );
}

/** Sends a signed body with faults by any `send`. Never rejects. */
export async function sentWith(
  faults: readonly Fault[],
  signed: SignedBody,
  send: (signed: SignedBody, fault: WireFault | undefined) => Promise<Pick<Answer, 'status' | 'note'>>,
): Promise<Seen> {
  try {
    const { status, note } = await send(faults.reduce(tampered, signed), faults.find(isWireFault));
    return { status, why: whyFailed(status), note };
  } catch (failure) {
    return { status: null, why: messageOf(failure), note: null };
  }
}

function tampered(signed: SignedBody, fault: Fault): SignedBody {
  const { body, signature } = signed;
  if (fault.kind === 'tampered-body') return { body: tamperedBody(body, fault.where), signature };
  if (fault.kind === 'tampered-signature' && signature !== null) {
    return { body, signature: tamperedSignature(signature, fault.where) };
  }
  return signed;
}

function whyFailed(status: number): string | null {
  if (isSuccess(status)) return null;
  return status >= 300 && status < 400
    ? `answered ${status}, but hookbox does not follow redirects`
    : `answered ${status}`;
}
