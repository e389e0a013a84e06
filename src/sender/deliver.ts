import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { messageOf } from '../errors.ts';
import { clearInterval, clearTimeout, performance, setInterval, setTimeout } from '../host/real-timers.ts';
import { signBody, type Secret } from '../signing/signature.ts';
import { type WireFault, isWireFault, tamperedBody, tamperedSignature, type Fault, type SignedBody } from './faults.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** A response body that was cut off does not change the result. */
  readonly note: string | null;
}

interface DeliveryOptions {
  readonly secret?: Secret;
  readonly signature?: string | null;
  /** Added to the headers of the service; `undefined` removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly timeoutMs?: number | undefined;
  readonly agent?: Agent;
  /** Whether to send again if a kept connection was closed; `true` by default. */
  readonly resend?: boolean;
  readonly fault?: WireFault;
  readonly lookup?: LookupFunction;
}

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

/** One signed POST without redirects (interface 6.3 and 6.4). The status decides; a cut or endless response body only adds a note. */
export async function deliver(url: string | URL, body: Uint8Array, options: DeliveryOptions): Promise<Answer> {
  const deadline = performance.now() + (options.timeoutMs ?? TIMEOUT_MS);
  const first = send(new URL(url), body, options, deadline, options.agent);
  try {
    return await first.answer;
  } catch (failure) {
    // The receiver closed an idle connection at that moment. HTTP clients send again; a second copy is a duplicate.
    if (options.resend === false || !first.wasStale()) throw failure;
    return send(new URL(url), body, options, deadline, false).answer;
  }
}

/** Keeps connections of this protocol. */
export function agentFor({ protocol }: URL, maxSockets = Infinity): Agent {
  const options = { keepAlive: true, maxSockets };
  return protocol === 'https:' ? new HttpsAgent(options) : new Agent(options);
}

export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function send(
  url: URL,
  body: Uint8Array,
  {
    secret,
    signature = signatureOf(body, secret),
    timeoutMs = TIMEOUT_MS,
    headers: given,
    fault,
    lookup,
  }: DeliveryOptions,
  deadline: number,
  agent: Agent | false | undefined,
): { readonly answer: Promise<Answer>; readonly wasStale: () => boolean } {
  const named = {
    'Content-Type': 'application/json',
    'Content-Length': body.byteLength,
    ...(signature !== null && { 'X-Signature': signature }),
    ...given,
  };
  const headers = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sent = request(url, {
    method: 'POST',
    headers,
    ...(agent !== undefined && { agent }),
    ...(lookup !== undefined && { lookup }),
  });
  let stale = false;
  let receiving: IncomingMessage | undefined;
  const answer = new Promise<Answer>((resolve, reject) => {
    const fail = (failure: Error): void => {
      if (receiving !== undefined && !(failure instanceof DeliveryError)) return;
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
      if (receiving === undefined) fail(new DeliveryError('CUT', CUT_BEFORE_ANSWER));
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

/** The secret of an endpoint is optional (interface 6). */
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
    // A receiver that has responded does not need the rest.
    received.on('end', () => {
      if (!sent.writableEnded) sent.destroy();
    });
  });
}

/** Never rejects; a failure of the body becomes a note. */
export async function readAnswer(received: IncomingMessage): Promise<Answer> {
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

/** Replaces the system's message if it is unclear. */
export function connectionWords({ code, message }: NodeJS.ErrnoException): string | null {
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  // The code of a socket, or of a request that has written to it.
  const isTls = code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true;
  return isTls && NO_TLS.test(message) ? 'the server uses http, not https' : null;
}

export interface Seen {
  readonly status: number | null;
  readonly why: string | null;
  readonly note: string | null;
}

type RequestOptions = Pick<DeliveryOptions, 'agent' | 'headers' | 'timeoutMs'>;

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
