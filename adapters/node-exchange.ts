import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Delivery, InvalidEvent, Outcome, UnknownEvent, VerifiedDelivery, WebhookEvent } from '../src/index.ts';
import { boundRest, nodeBodyReader } from './read-node-body.ts';

/** What `webhookVerifier` puts on the request. */
export interface VerifiedWebhook {
  /** typed by `type` once `isKnown` has narrowed it; an authentic event that fits no schema has `type: null` and its issues */
  webhookEvent: WebhookEvent | UnknownEvent | InvalidEvent;
  /** the raw bytes that were verified */
  webhookBody: Uint8Array;
}

/**
 * The delivery in a Node request, of whatever framework is built on it.
 *
 * @param fix - what the merchant has to change where the raw bytes are gone
 * @param kept - where somebody may have kept them: `rawBody` of Google Cloud Functions, NestJS and `verify` functions, or
 * the Buffer that express.raw() makes
 */
export function deliveryOf(
  request: IncomingMessage & { readonly rawBody?: unknown; readonly body?: unknown },
  fix: string,
  kept: readonly unknown[] = [request.rawBody, request.body],
): Delivery {
  const { headers, method } = request;
  return {
    method,
    signature: joined(headers['x-signature']),
    contentEncoding: headers['content-encoding'],
    body: keptBytes(request, kept, fix) ?? nodeBodyReader(request, fix),
  };
}

/** Sends the answer, unless the client is gone or something else has answered already. */
export function answer(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Outcome): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { ...answerHeaders(request, headers), 'Content-Length': bytes.byteLength });
  response.end(bytes);
}

/** The headers of an answer; what is left of a body that was not read will not keep the connection. */
export function answerHeaders(request: IncomingMessage, headers: Outcome['headers']): Record<string, string> {
  const { Connection, ...others } = headers as Record<string, string>;
  if (Connection === undefined) boundRest(request);
  // HTTP/2 knows no such header: its connections carry other requests, too.
  const closes = Connection !== undefined && request.httpVersionMajor === 1;
  return { ...others, ...(closes && { Connection }), 'Content-Type': 'application/json' };
}

export function putOn(request: IncomingMessage, verified: VerifiedDelivery): void {
  Object.assign(request, verifiedWebhook(verified));
}

export function verifiedWebhook({ event, body }: VerifiedDelivery): VerifiedWebhook {
  return { webhookEvent: event, webhookBody: body };
}

/** A request whose event was verified. */
export type VerifiedRequest = IncomingMessage & VerifiedWebhook;

/** Anything that is not bytes was decoded or parsed, and is not what was signed. */
function keptBytes(request: IncomingMessage, kept: readonly unknown[], fix: string): Delivery['body'] | null {
  const bytes = kept.find((value) => value instanceof Uint8Array);
  if (bytes === undefined) return null;
  const declared = request.headers['content-length'];
  // Whoever keeps them may still be at it.
  if (declared === undefined && !request.readableDidRead) return null;
  // A function that has kept only a piece would make each large body look forged.
  const whole = declared === undefined ? isJson(bytes) : Number(declared) === bytes.byteLength;
  return whole ? bytes : () => Promise.resolve({ ended: 'consumed', fix });
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString());
    return true;
  } catch {
    return false;
  }
}

function joined(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
