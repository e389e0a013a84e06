import { assertOptions, type RulesFor } from '../option-rules.ts';
import { signatureOf } from '../sender/deliver.ts';
import { writtenWithDecimals } from '../sender/event-json.ts';
import type { Secret } from '../signing/signature.ts';

/** An event, or the exact bytes or text of a body. */
export type Deliverable = object | Uint8Array | string;

/** The options of {@link signedRequest}. */
export interface SignedRequestInit {
  /**
   * The URL of the request.
   *
   * @defaultValue `'http://localhost/webhooks'`
   */
  readonly url?: string | URL;
  /** A signature in place of the correct one; `null` for none. */
  readonly signature?: string | null;
  /** Extra headers, or other values for the service's headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

const OPTIONS: RulesFor<SignedRequestInit> = { url: true, signature: true, headers: true };

/**
 * Creates the request that the service would send: a POST of the exact bytes, with their signature in `X-Signature`
 * (section 6.3 of the service's interface).
 *
 * @param event - an event from `buildEvent`, or a body as bytes or text
 * @throws ConfigurationError `UNUSABLE_SECRET`
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/fetch';
 * import { buildEvent, signedRequest, testInbox } from 'hookbox/testing';
 *
 * const secret = 'a signing secret';
 * const { inbox } = testInbox();
 * const POST = webhookHandler(createReceiver({ secret, inbox }));
 * const answer = await POST(signedRequest(buildEvent('order.ready'), secret));
 * console.log(answer.status); // 200
 * ```
 */
export function signedRequest(event: Deliverable, secret: Secret, init: SignedRequestInit = {}): Request {
  assertOptions('signedRequest', init, OPTIONS);
  const body = bytesOf(event);
  return new Request(init.url ?? 'http://localhost/webhooks', {
    method: 'POST',
    headers: signedHeaders(body, secret, init),
    body: Uint8Array.from(body),
  });
}

/** Differs from `JSON.stringify`, to expose a receiver that verifies a rewritten body. */
export function bytesOf(event: Deliverable): Uint8Array {
  if (event instanceof Uint8Array) return event;
  return Buffer.from(typeof event === 'string' ? event : writtenWithDecimals(event));
}

export function signedHeaders(
  body: Uint8Array,
  secret: Secret | null,
  { signature = signatureOf(body, secret), headers = {} }: Pick<SignedRequestInit, 'signature' | 'headers'>,
): Record<string, string> {
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const usual = Object.entries({ 'Content-Type': 'application/json', 'X-Signature': signature });
  const sent = usual.filter((header): header is [string, string] => header[1] !== null);
  return { ...Object.fromEntries(sent.filter(([name]) => !given.has(name.toLowerCase()))), ...headers };
}
