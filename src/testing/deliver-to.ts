import { type IncomingMessage, type ServerResponse, createServer, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clearTimeout, performance, setTimeout } from '../host/real-timers.ts';
import { assertOptions, positive, MAX_TIMER_MS, type RulesFor } from '../option-rules.ts';
import { lambdaEvents, type LambdaShape } from './lambda-events.ts';
import type { Delivery } from '../receive/delivery.ts';
import { DeliveryError } from '../sender/deliver.ts';
import type { Secret } from '../signing/signature.ts';
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

const OPTIONS: RulesFor<DeliverToOptions & { readonly as?: string }> = {
  secret: true,
  signature: true,
  headers: true,
  path: true,
  timeoutMs: positive(MAX_TIMER_MS),
  as: true,
};

const TIMEOUT_MS = 10_000;
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

/** @throws DeliveryError `TIMEOUT`, or the error of the target */
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
    answered.catch(() => {}); // it may fail later
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

/** The response of a target. */
export interface DeliveryAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body, or its text if it is not JSON. */
  readonly body: unknown;
  readonly text: string;
}

function deliveryAnswer(status: number, headers: Headers, text: string): DeliveryAnswer {
  return { status, headers, text, body: parsed(text) };
}

function headersOf(values: Readonly<Record<string, unknown>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) headers.append(name, String(one));
    }
  }
  return headers;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Any object with a receiver's `receive` method. */
export interface ReceivingTarget {
  receive(delivery: Delivery): Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: object;
  }>;
}

/** A function that answers a web `Request`, such as a Next.js route handler. */
export type FetchTarget = (request: Request, ...context: never[]) => Response | Promise<Response>;

/** A Hono app, or another object with a `fetch` method. */
export interface FetchingTarget {
  fetch(request: Request): Response | Promise<Response>;
}

/** A handler or middleware of `node:http`, or an Express app. */
export type NodeTarget = (request: never, response: never, next: never) => unknown;

/** A Fastify instance. */
export interface InjectableTarget {
  inject(request: {
    method: 'POST';
    url: string;
    headers: Record<string, string>;
    payload: Buffer;
  }): PromiseLike<{ readonly statusCode: number; readonly headers: object; readonly body: string }>;
}

/** An AWS Lambda function. */
export type LambdaTarget = (event: never, context: never, callback: never) => unknown;

/** The targets of {@link deliverTo}, except AWS Lambda functions. */
export type DeliveryTarget =
  | string
  | URL
  | ReceivingTarget
  | FetchTarget
  | FetchingTarget
  | NodeTarget
  | InjectableTarget
  | Server;

interface OutgoingDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly endsAt: number;
  readonly late: AbortSignal;
}

async function handOver(
  target: DeliveryTarget | LambdaTarget,
  delivery: OutgoingDelivery,
  as: 'fetch' | 'node' | LambdaShape | undefined,
): Promise<DeliveryAnswer> {
  if (typeof target === 'string' || target instanceof URL) return post(target, delivery);
  if (typeof target === 'function') {
    const kind = as ?? (target.length < 2 ? 'fetch' : 'node');
    if (kind === 'fetch') return ofWeb(await (target as FetchTarget)(noContext(webRequest(delivery))));
    if (kind === 'node') return throughServer(target as NodeListener, delivery);
    return invoke(target as Invocable, delivery, kind);
  }
  if (target instanceof Server) return throughServer((...exchange) => target.emit('request', ...exchange), delivery);
  if ('receive' in target) return receive(target, delivery);
  if ('inject' in target) return inject(target, delivery);
  return ofWeb(await target.fetch(webRequest(delivery)));
}

async function receive(target: ReceivingTarget, delivery: OutgoingDelivery): Promise<DeliveryAnswer> {
  const sent = headersOf(delivery.headers);
  const { status, headers, body } = await target.receive({
    method: 'POST',
    body: delivery.bytes,
    signature: sent.get('x-signature'),
    contentEncoding: sent.get('content-encoding'),
    header: (name) => sent.get(name),
  });
  return deliveryAnswer(status, headersOf({ ...headers, 'Content-Type': 'application/json' }), JSON.stringify(body));
}

async function inject(target: InjectableTarget, { path, headers, bytes }: OutgoingDelivery): Promise<DeliveryAnswer> {
  const payload = Buffer.from(bytes);
  const answer = await target.inject({ method: 'POST', url: path, headers: { ...headers }, payload });
  return deliveryAnswer(answer.statusCode, headersOf({ ...answer.headers }), answer.body);
}

function webRequest({ path, headers, bytes }: OutgoingDelivery, base: string | URL = 'http://localhost'): Request {
  return new Request(new URL(path, base), { method: 'POST', headers, body: Uint8Array.from(bytes) });
}

/** A Hono handler reads this property of its context. */
function noContext(request: Request): Request {
  return Object.defineProperty(request, 'req', {
    get() {
      throw new TypeError('This is a Hono handler. Pass the app that mounts it.');
    },
  });
}

async function ofWeb(response: Response): Promise<DeliveryAnswer> {
  return deliveryAnswer(response.status, response.headers, await response.text());
}

async function post(url: string | URL, { headers, bytes, late }: OutgoingDelivery): Promise<DeliveryAnswer> {
  const body = Uint8Array.from(bytes);
  return ofWeb(await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: late }));
}

type NodeListener = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => unknown;

/** A server for one delivery. */
function throughServer(listener: NodeListener, delivery: OutgoingDelivery): Promise<DeliveryAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<DeliveryAnswer>();
  const server = createServer((request, response) => {
    const next = (failure?: unknown): void => {
      if (failure !== undefined && failure !== null) reject(failure);
      else response.writeHead(404).end();
    };
    (async () => listener(request, response, next))().catch(reject);
  });
  server.on('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    post(new URL(delivery.path, `http://127.0.0.1:${port}`), delivery).then(resolve, reject);
  });
  return promise.finally(() => {
    server.close();
    server.closeAllConnections();
  });
}

type Invocable = (event: object, context: object) => unknown;

interface LambdaResult {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly multiValueHeaders?: Readonly<Record<string, unknown>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

async function invoke(target: Invocable, delivery: OutgoingDelivery, shape: LambdaShape): Promise<DeliveryAnswer> {
  const result = await target(lambdaEvents[shape](delivery), {
    awsRequestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
    functionName: 'webhooks',
    getRemainingTimeInMillis: () => Math.max(0, delivery.endsAt - performance.now()),
  });
  if (!isLambdaResult(result)) throw new TypeError('The function must return a response with a statusCode.');
  const { statusCode, headers = {}, multiValueHeaders = {}, body = '', isBase64Encoded = false } = result;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  return deliveryAnswer(statusCode, headersOf({ ...headers, ...multiValueHeaders }), text);
}

function isLambdaResult(result: unknown): result is LambdaResult {
  return typeof result === 'object' && result !== null && 'statusCode' in result;
}
