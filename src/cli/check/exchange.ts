import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { clearTimeout, performance, setTimeout } from '../../host/real-timers.ts';
import { connectionFailure } from '../shared/unreachable.ts';

/** What came of one request: never an exception, because how an endpoint fails is what is being looked at. */
export type Exchange = Answered | Unanswered;

/** A status came, in time or not. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** the first 64 KiB of it */
  readonly body: string;
  /** the body came to its end, within a second after the status */
  readonly ended: boolean;
  /** until the status was there */
  readonly ms: number;
  /** the connection had served another request before */
  readonly onUsedConnection: boolean;
}

/** No status came. */
export interface Unanswered {
  readonly status: null;
  readonly failure: 'too-late' | 'cut';
  readonly message: string;
  readonly ms: number;
}

/** What is to be sent, and how. */
export interface RequestParts {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array;
  /** writes the body in its own time; the rest of it is dropped when the answer comes first */
  readonly write?: (write: (part: Uint8Array) => void, body: Uint8Array) => Promise<void>;
  readonly agent?: Agent;
}

/** Keeps connections for either scheme. */
export type Agent = HttpAgent | HttpsAgent;

/** Connections of one's own, at most so many. */
export function agentFor(url: URL, maxSockets = 1): Agent {
  const options = { keepAlive: true, maxSockets };
  return url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
}

const MAX_ANSWER_BYTES = 64 * 1024;

/** The status is what counts, so the body behind it is not waited for much longer. */
const BODY_PATIENCE_MS = 1_000;

/**
 * Sends one request, on a connection of its own unless an agent is given. Redirects are not followed.
 *
 * @throws what the signal was aborted with
 */
export async function exchange(
  url: URL,
  parts: RequestParts,
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<Exchange> {
  signal.throwIfAborted();
  const agent = parts.agent ?? agentFor(url);
  const late = AbortSignal.timeout(patienceMs);
  try {
    const result = await attempt(url, parts, agent, AbortSignal.any([signal, late]));
    signal.throwIfAborted();
    if (result.status !== null || !late.aborted) return result;
    return { ...result, failure: 'too-late', message: `no answer within ${duration(patienceMs)}` };
  } finally {
    if (parts.agent === undefined) agent.destroy();
  }
}

function attempt(url: URL, parts: RequestParts, agent: Agent, signal: AbortSignal): Promise<Exchange> {
  const { method = 'POST', headers = {}, body = new Uint8Array(), write = atOnce } = parts;
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const began = performance.now();
  return new Promise((resolve) => {
    const framing = method === 'GET' ? {} : { 'Content-Length': body.byteLength };
    const sent = request(url, { method, headers: { ...headers, ...framing }, agent, signal });
    sent.setNoDelay(true);
    let answered = false;
    const failed = (failure: Error): void => {
      if (answered) return;
      const ms = performance.now() - began;
      resolve({ status: null, failure: 'cut', message: connectionFailure(failure), ms });
    };
    sent.on('error', failed);
    sent.on('close', () => failed(new Error('the connection ended without an answer')));
    sent.on('response', (received) => {
      answered = true;
      const ms = performance.now() - began;
      const { statusCode: status = 0, headers } = received;
      const onUsedConnection = sent.reusedSocket;
      void textOf(received).then((text) => {
        resolve({ status, headers, body: text, ended: received.complete, ms, onUsedConnection });
        if (!sent.writableFinished) sent.destroy();
      });
    });
    void write((part) => isOpen(sent) && sent.write(part), body).then(() => isOpen(sent) && sent.end(), failed);
  });
}

async function atOnce(write: (part: Uint8Array) => void, body: Uint8Array): Promise<void> {
  if (body.byteLength > 0) write(body);
}

function isOpen(sent: ClientRequest): boolean {
  return !sent.destroyed && !sent.writableEnded;
}

/** What there is of it: an answer whose body is cut off, or does not end, is an answer. */
async function textOf(received: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => received.destroy(), BODY_PATIENCE_MS);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of received as AsyncIterable<Buffer>) {
      if (size < MAX_ANSWER_BYTES) chunks.push(chunk);
      size += chunk.byteLength;
    }
  } catch {
    // cut off
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
}

/** `12 ms` or `1.2 s`. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
}
