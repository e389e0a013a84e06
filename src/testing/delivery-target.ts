import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from '../host/real-timers.ts';
import type { Delivery } from '../receive/delivery.ts';
import { deliveryAnswer, headersOf, type DeliveryAnswer } from './delivery-answer.ts';
import { lambdaEvents, type LambdaShape } from './lambda-events.ts';

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

/** One signed POST, before it takes the form that its target wants. */
export interface OutgoingDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** until when an answer is waited for, on the clock of `performance.now()` */
  readonly endsAt: number;
  /** aborted then */
  readonly late: AbortSignal;
}

/** Hands a delivery to whatever the target turns out to be. */
export async function handOver(
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

/** A handler of Hono looks for the request in the context that its app would give it. */
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

/** A server for this one delivery. What the handler throws is what the test sees. */
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
