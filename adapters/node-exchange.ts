import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Delivery, InvalidEvent, Outcome, UnknownEvent, VerifiedDelivery, WebhookEvent } from '../src/index.ts';
import { boundRest, endStream, nodeBodyReader } from './read-node-body.ts';

/** The properties that `webhookVerifier` sets on the request. */
export interface VerifiedWebhook {
  /** The event; narrow it with `isKnown`. An authentic event that fits no schema has `type: null` and `issues`. */
  webhookEvent: WebhookEvent | UnknownEvent | InvalidEvent;
  /** The raw bytes that were verified. */
  webhookBody: Uint8Array;
  /**
   * The signature of the body. Use this signature to verify the body again after the body has passed through a queue.
   * `null` if no signature was required.
   */
  webhookSignature: string | null;
}

export function deliveryOf(
  request: IncomingMessage,
  fix: string,
  kept: Kept = request as IncomingMessage & Kept,
): Delivery {
  const { headers, method } = request;
  return {
    method,
    signature: joined(headers['x-signature']),
    contentEncoding: headers['content-encoding'],
    header: (name) => joined(headers[name]),
    body: keptBytes(request, kept, fix) ?? nodeBodyReader(request, fix),
    source: () => addressOf(request),
  };
}

/** Frameworks put the client's address into `ip` if they trust a proxy. */
export function addressOf(request: IncomingMessage & { readonly ip?: unknown }): string | undefined {
  return typeof request.ip === 'string' ? request.ip : request.socket.remoteAddress;
}

export function answer(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Outcome): void {
  if (response.headersSent || response.destroyed) return;
  endStream(request);
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { ...answerHeaders(request, headers), 'Content-Length': bytes.byteLength });
  response.end(bytes);
}

/** A connection with an unread body is not kept. */
export function answerHeaders(request: IncomingMessage, headers: Outcome['headers']): Record<string, string> {
  const { Connection, ...others } = headers as Record<string, string>;
  if (Connection === undefined) boundRest(request);
  // HTTP/2 has no such header, because its connections carry other requests.
  const closes = Connection !== undefined && request.httpVersionMajor === 1;
  return { ...others, ...(closes && { Connection }), 'Content-Type': 'application/json' };
}

export function putOn(request: IncomingMessage, verified: VerifiedDelivery): void {
  // The body parsers of Express 4 skip a request with `_body`.
  Object.assign(request, verifiedWebhook(verified), { _body: true });
}

export function verifiedWebhook({ event, body, signature }: VerifiedDelivery): VerifiedWebhook {
  return { webhookEvent: event, webhookBody: body, webhookSignature: signature };
}

/** A request with a verified event. */
export type VerifiedRequest = IncomingMessage & VerifiedWebhook;

export interface Kept {
  /** From Google Cloud Functions, NestJS, and `verify` functions of body parsers. */
  readonly rawBody?: unknown;
  /** A Buffer from express.raw(); anything else was parsed. */
  readonly body?: unknown;
}

function keptBytes(request: IncomingMessage, kept: Kept, fix: string): Delivery['body'] | null {
  const found = bytesIn(kept);
  if (found === 'unreadable') return () => Promise.resolve({ ended: 'consumed', fix });
  if (found === null) return null;
  const { bytes, by } = found;
  const declared = request.headers['content-length'];
  if (declared !== undefined) {
    // A function that kept only the last chunk would make large bodies fail verification.
    return Number(declared) === bytes.byteLength ? bytes : () => Promise.resolve({ ended: 'consumed', fix });
  }
  // Other code may still be reading.
  if (!request.readableDidRead && !request.readableEnded) return null;
  if (by === 'body' || isJson(bytes)) return bytes;
  return ({ maxBytes }) =>
    Promise.resolve(
      bytes.byteLength > maxBytes
        ? { ended: 'too-large' }
        : { ended: 'complete', bytes: Uint8Array.from(bytes), mismatchFix: fix },
    );
}

function bytesIn(kept: Kept): { readonly bytes: Uint8Array; readonly by: keyof Kept } | 'unreadable' | null {
  try {
    const { rawBody } = kept;
    if (rawBody instanceof Uint8Array) return { bytes: rawBody, by: 'rawBody' };
    const { body } = kept;
    return body instanceof Uint8Array ? { bytes: body, by: 'body' } : null;
  } catch {
    return 'unreadable'; // a getter that fails to parse the body
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString());
    return true;
  } catch {
    return false;
  }
}

/** Two joined values are not a valid signature. */
export function joined(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
