import { clearTimeout, performance, setTimeout } from '../host/real-timers.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { DeliveryError } from '../sender/deliver.ts';
import type { Secret } from '../signing/signature.ts';
import type { DeliveryAnswer } from './delivery-answer.ts';
import { handOver, type DeliveryTarget, type LambdaTarget, type OutgoingDelivery } from './delivery-target.ts';
import type { LambdaShape } from './lambda-events.ts';
import { bytesOf, signedHeaders, type Deliverable, type SignedRequestInit } from './signed-request.ts';

/** The options of {@link deliverTo}. */
export interface DeliverToOptions extends Pick<SignedRequestInit, 'signature' | 'headers'> {
  /** The signing secret. */
  readonly secret: Secret;
  /**
   * The path of the webhook in an app or a handler.
   *
   * @defaultValue `'/webhooks'`
   */
  readonly path?: string;
  /**
   * How long to wait for the response, in milliseconds. The service waits 10 s for a response.
   *
   * @defaultValue 10,000
   */
  readonly timeoutMs?: number;
}

const OPTIONS: KnownOptions<DeliverToOptions & { readonly as?: string }> = {
  secret: true,
  signature: true,
  headers: true,
  path: true,
  timeoutMs: true,
  as: true,
};

const TIMEOUT_MS = 10_000;
/** Where an app or a handler has its webhook unless it is said. */
export const DEFAULT_PATH = '/webhooks';

/**
 * Delivers an event as the service does (sections 6.3 and 6.4 of the service's interface) and resolves with the
 * response. The target is a URL, a receiver, a fetch handler, a Hono app, an Express app, a `node:http` handler, a
 * server, a Fastify instance or a Lambda function. A target other than a URL need not listen on a port.
 *
 * A function with one parameter is called as a fetch handler, and a function with more parameters as a `node:http`
 * handler. The option `as` overrides this choice; a Lambda function requires the option.
 *
 * @param event - an event from `buildEvent`, or a body as bytes or text
 * @throws an Error if no response arrives in time, or the error that the target throws
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/node';
 * import { buildEvent, deliverTo, testInbox } from 'hookbox/testing';
 *
 * const secret = 'a signing secret';
 * const { inbox } = testInbox();
 * const handler = webhookHandler(createReceiver({ secret, inbox }));
 *
 * const event = buildEvent('order.created');
 * const first = await deliverTo(handler, event, { secret });
 * const again = await deliverTo(handler, event, { secret });
 * console.log(first.status, first.body); // 200 { received: true, duplicate: false, id: 'evt_…' }
 * console.log(again.status, again.body); // 200 { received: true, duplicate: true, id: 'evt_…' }
 * ```
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/aws-lambda';
 * import { buildEvent, deliverTo, testInbox } from 'hookbox/testing';
 *
 * const secret = 'a signing secret';
 * const handler = webhookHandler(createReceiver({ secret, inbox: testInbox().inbox }));
 * const answer = await deliverTo(handler, buildEvent('cart.abandoned'), { secret, as: 'function-url' });
 * console.log(answer.status); // 200
 * ```
 */
export function deliverTo(
  target: LambdaTarget,
  event: Deliverable,
  options: DeliverToOptions & { readonly as: LambdaShape },
): Promise<DeliveryAnswer>;
export function deliverTo(
  target: DeliveryTarget,
  event: Deliverable,
  options: DeliverToOptions & { readonly as?: 'fetch' | 'node' },
): Promise<DeliveryAnswer>;
export async function deliverTo(
  target: DeliveryTarget | LambdaTarget,
  event: Deliverable,
  options: DeliverToOptions & { readonly as?: 'fetch' | 'node' | LambdaShape },
): Promise<DeliveryAnswer> {
  assertOptions('deliverTo', options, OPTIONS);
  const { secret, path = DEFAULT_PATH, timeoutMs = TIMEOUT_MS, as } = options;
  const bytes = bytesOf(event);
  return answerInTime(target, { path, headers: signedHeaders(bytes, secret, options), bytes }, timeoutMs, as);
}

/**
 * The answer of a target, which the service waits for so long and no longer.
 *
 * @throws DeliveryError `TIMEOUT`, and whatever the target throws
 */
export async function answerInTime(
  target: DeliveryTarget | LambdaTarget,
  delivery: Pick<OutgoingDelivery, 'path' | 'headers' | 'bytes'>,
  timeoutMs: number,
  as: 'fetch' | 'node' | LambdaShape | undefined,
): Promise<DeliveryAnswer> {
  const late = new AbortController();
  const timer = setTimeout(() => {
    const message = `No answer within ${timeoutMs} ms; the service counts that as a failed delivery.`;
    late.abort(new DeliveryError('TIMEOUT', message));
  }, timeoutMs);
  const endsAt = performance.now() + timeoutMs;
  const answered = handOver(target, { ...delivery, endsAt, late: late.signal }, as);
  try {
    return await Promise.race([answered, aborted(late.signal)]);
  } finally {
    clearTimeout(timer);
    answered.catch(() => {}); // it may still fail when nobody waits any more
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
