/**
 * The adapter for AWS Lambda behind API Gateway (REST and HTTP), a function URL, or an Application Load Balancer.
 *
 * @module
 */
import { STATUS_CODES } from 'node:http';
import {
  createVerifier,
  isErrorOutcome,
  type BodyReader,
  type Delivery,
  type Outcome,
  type Receiver,
  type VerifiedDelivery,
  type VerifierOptions,
} from '../src/index.ts';

/** The part of an HTTP event that hookbox reads. The event types of `@types/aws-lambda` are compatible. */
export interface HttpEvent {
  readonly httpMethod?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  readonly body?: unknown;
  readonly isBase64Encoded?: boolean | undefined;
  readonly requestContext?: unknown;
}

/** The part of the Lambda context that hookbox reads. */
export interface FunctionContext {
  getRemainingTimeInMillis?(): number;
}

/** The response, in the format that the gateway, function URL or load balancer expects. */
export interface HttpResult {
  statusCode: number;
  /** Set only for a load balancer. */
  statusDescription?: string;
  headers?: Record<string, string>;
  /** Set only for a load balancer that uses multi-value headers. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: false;
}

/** Lambda needs this time to send the response before it ends the function. */
const MARGIN_MS = 500;

const FIX = 'middleware parsed event.body before hookbox read it. Run hookbox before that middleware.';

/**
 * Creates a Lambda function that stores events. By default, the function also runs the handlers of these events before
 * it responds; to change this, set `processing.mode`. The inbox must be stored outside the function, for example in
 * Postgres. If the function should put events into a queue instead, use `webhookVerifier`.
 *
 * @throws TypeError when the returned function is called with an event that is not an HTTP request
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/aws-lambda';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const inbox = memoryInbox({ ephemeral: true }); // for a preview: stored events are soon lost
 * const receiver = createReceiver({ secret: 'a signing secret', inbox });
 * export const handler = webhookHandler(receiver);
 * ```
 */
export function webhookHandler(
  receiver: Pick<Receiver, 'receive'>,
): (event: HttpEvent, context?: FunctionContext) => Promise<HttpResult> {
  return async (event, context) => answer(event, await receiver.receive(deliveryOf(event, context)));
}

/**
 * Creates a Lambda function that passes each authentic event to `passOn`, which usually puts the event into a queue.
 * The function returns 200 if `passOn` resolves. The function returns 500 if `passOn` throws, so the service sends the
 * event again. The function neither stores nor deduplicates events.
 *
 * @param passOn - receives the raw bytes in `body` and the typed event in `event`
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 * @throws TypeError when the returned function is called with an event that is not an HTTP request
 * @example
 * ```ts
 * import { webhookVerifier } from 'hookbox/aws-lambda';
 *
 * const queue = { send: async (message: { id: string; body: string }) => console.log(message.id) };
 * export const handler = webhookVerifier({ secret: 'a signing secret' }, async ({ body, event }) => {
 *   await queue.send({ id: event.id, body: Buffer.from(body).toString() });
 * });
 * ```
 */
export function webhookVerifier<C extends object>(
  options: VerifierOptions,
  passOn: (delivery: VerifiedDelivery, context: C) => unknown,
): (event: HttpEvent, context: C) => Promise<HttpResult> {
  const verifier = createVerifier(options);
  return async (event, context: C & FunctionContext) => {
    const result = await verifier.passOn(deliveryOf(event, context), (verified) => passOn(verified, context));
    if (isErrorOutcome(result)) return answer(event, result);
    return answer(event, { status: 200, headers: {}, body: { received: true, id: result.id } });
  };
}

function deliveryOf(event: HttpEvent, context: FunctionContext | undefined): Delivery {
  const remainingMs = context?.getRemainingTimeInMillis?.();
  return {
    method: methodOf(event),
    signature: headerOf(event, 'x-signature'),
    contentEncoding: headerOf(event, 'content-encoding'),
    header: (name) => headerOf(event, name),
    body: bodyReader(event),
    source: () => addressOf(event),
    host: {
      frozenBetweenRequests: true,
      ...(remainingMs !== undefined && { remainingMs: remainingMs - MARGIN_MS }),
    },
  };
}

/** HTTP APIs and function URLs have the method in the context, REST APIs and load balancers at the top. */
function methodOf(event: HttpEvent): string {
  const method = fieldOf(event, 'httpMethod') ?? fieldOf(fieldOf(fieldOf(event, 'requestContext'), 'http'), 'method');
  if (typeof method === 'string') return method;
  throw new TypeError(
    'The Lambda event is not an HTTP request. Use an API Gateway trigger, a function URL or a load balancer.',
  );
}

/** A load balancer appends the sender to X-Forwarded-For. */
function addressOf(event: HttpEvent): string | undefined {
  const context = event.requestContext;
  const address = fieldOf(fieldOf(context, 'http'), 'sourceIp') ?? fieldOf(fieldOf(context, 'identity'), 'sourceIp');
  return typeof address === 'string' ? address : headerOf(event, 'x-forwarded-for')?.split(',').at(-1)?.trim();
}

/** `multiValueHeaders` shows a header that was sent twice; `headers` has only one of its values, or both joined. */
function headerOf({ headers, multiValueHeaders }: HttpEvent, name: string): string | undefined {
  const valuesIn = (all: Readonly<Record<string, string | readonly string[] | undefined>> | null | undefined) =>
    Object.entries(all ?? {}).flatMap(([key, value]) =>
      key.toLowerCase() === name && value !== undefined ? value : [],
    );
  const each = valuesIn(multiValueHeaders);
  const values = each.length > 0 ? each : valuesIn(headers);
  return values.length === 0 ? undefined : values.join(', ');
}

function bodyReader({ body, isBase64Encoded }: HttpEvent): BodyReader {
  return async ({ maxBytes }) => {
    if (body === undefined || body === null) return { ended: 'complete', bytes: new Uint8Array() };
    if (typeof body !== 'string') return { ended: 'consumed', fix: FIX };
    const encoding = isBase64Encoded === true ? 'base64' : 'utf8';
    if (Buffer.byteLength(body, encoding) > maxBytes) return { ended: 'too-large' };
    const bytes = Buffer.from(body, encoding);
    // Decoding skips unknown characters, and the rest would look forged.
    if (isBase64Encoded === true && bytes.toString('base64') !== body) return { ended: 'not-base64' };
    return { ended: 'complete', bytes };
  };
}

function answer(
  event: HttpEvent,
  { status, headers, body }: Pick<Outcome, 'status' | 'headers'> & { readonly body: object },
): HttpResult {
  // The connection belongs to the gateway.
  const { Connection: _, ...kept } = headers as Readonly<Record<string, string>> & { Connection?: string };
  const all = { ...kept, 'Content-Type': 'application/json' };
  const result = { statusCode: status, body: JSON.stringify(body), isBase64Encoded: false as const };
  if (fieldOf(event.requestContext, 'elb') === undefined) return { ...result, headers: all };
  const statusDescription = `${status} ${STATUS_CODES[status]}`;
  if (event.multiValueHeaders === undefined || event.multiValueHeaders === null) {
    return { ...result, statusDescription, headers: all };
  }
  const multiValueHeaders = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]]));
  return { ...result, statusDescription, multiValueHeaders };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
