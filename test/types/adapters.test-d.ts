import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import express, { type RequestHandler } from 'express';
import { fastify, type FastifyPluginAsync } from 'fastify';
import { describe, expectTypeOf, it } from 'vitest';
import * as lambda from '../../adapters/aws-lambda.ts';
import * as onExpress from '../../adapters/express.ts';
import * as onFastify from '../../adapters/fastify.ts';
import * as onFetch from '../../adapters/fetch.ts';
import * as onNode from '../../adapters/node.ts';
import {
  isKnown,
  type InvalidEvent,
  type Receiver,
  type UnknownEvent,
  type VerifiedDelivery,
  type WebhookEvent,
} from '../../src/index.ts';

type AnyEvent = WebhookEvent | UnknownEvent | InvalidEvent;

const receiver = {} as Receiver;
const secret = 'a signing secret';

describe('hookbox/express', () => {
  it('is a handler for a route, a router and app.use, without a cast', () => {
    const handler = onExpress.webhookHandler(receiver);
    expectTypeOf(handler).toExtend<RequestHandler>();
    expectTypeOf(onExpress.webhookVerifier({ secret })).toExtend<RequestHandler>();
    express()
      .post('/webhooks', handler)
      .use('/webhooks', handler)
      .use(express.Router().all('/', onExpress.webhookVerifier({ secret }), handler));
  });

  it('types what the next handler finds on the request, which is there only behind the verifier', () => {
    express().post('/shops/:shop', onExpress.webhookVerifier({ secret }), (request, response) => {
      expectTypeOf(request.webhookEvent).toEqualTypeOf<AnyEvent | undefined>();
      expectTypeOf(request.webhookBody).toEqualTypeOf<Uint8Array | undefined>();
      expectTypeOf(request.params).toEqualTypeOf<{ shop: string }>();
      const event = request.webhookEvent;
      if (event !== undefined && isKnown(event) && event.type === 'order.confirmed') {
        expectTypeOf(event.data.special_instructions).toEqualTypeOf<string | null | undefined>();
      }
      // @ts-expect-error -- it may not be there
      void request.webhookEvent.type;
      // @ts-expect-error -- nothing else is
      void request.webhook;
      response.end();
    });
  });
});

describe('hookbox/fastify', () => {
  it('is a plugin, with a prefix or without', () => {
    expectTypeOf(onFastify.webhookHandler(receiver)).toExtend<FastifyPluginAsync>();
    expectTypeOf(onFastify.webhookVerifier({ secret })).toExtend<FastifyPluginAsync>();
    const app = fastify();
    void app.register(onFastify.webhookHandler(receiver));
    void app.register(onFastify.webhookHandler(receiver), { prefix: '/webhooks' });
    void fastify({ http2: true }).register(onFastify.webhookHandler(receiver));
  });

  it('types what a handler of the scope finds on the request', () => {
    void fastify().register(async (scope) => {
      await scope.register(onFastify.webhookVerifier({ secret }));
      scope.post('/webhooks', (request, reply) => {
        expectTypeOf(request.webhookEvent).toEqualTypeOf<AnyEvent | undefined>();
        expectTypeOf(request.webhookBody).toEqualTypeOf<Uint8Array | undefined>();
        // @ts-expect-error -- it may not be there
        void request.webhookEvent.type;
        // @ts-expect-error -- nothing else is
        void request.webhook;
        void reply.send();
      });
    });
  });
});

describe('hookbox/node', () => {
  it('is a listener for a server, and for what is built on it', () => {
    const handler = onNode.webhookHandler(receiver);
    expectTypeOf(handler).toExtend<RequestListener>();
    expectTypeOf(onNode.webhookVerifier({ secret })).toExtend<RequestListener>();
    expectTypeOf(createServer).toBeCallableWith(handler);
    type NextRequest = IncomingMessage & { query: Partial<Record<string, string | string[]>>; body: object };
    type NextResponse = ServerResponse & { json: (body: object) => void };
    expectTypeOf(handler).toExtend<(request: NextRequest, response: NextResponse) => unknown>();
    expectTypeOf(onNode.webhookVerifier({ secret })).toExtend<
      (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => unknown
    >();
    expectTypeOf(handler).returns.toEqualTypeOf<Promise<void>>();
  });

  it('types what its handler finds on the request, which is always there', () => {
    onNode.webhookVerifier({ secret }, (request, response) => {
      expectTypeOf(request.webhookEvent).toEqualTypeOf<AnyEvent>();
      expectTypeOf(request.webhookBody).toEqualTypeOf<Uint8Array>();
      expectTypeOf(request).toExtend<IncomingMessage>();
      expectTypeOf(response).toExtend<ServerResponse>();
      return response.end();
    });
    createServer((request) => {
      // @ts-expect-error -- nothing has verified this request
      void request.webhookEvent;
    });
  });
});

describe('hookbox/fetch', () => {
  interface Environment {
    readonly ORDERS: { put(key: string, value: string): Promise<void> };
  }
  interface ExecutionContext {
    waitUntil(work: Promise<unknown>): void;
    passThroughOnException(): void;
  }
  type Workers = (request: Request, env: Environment, context: ExecutionContext) => Promise<Response>;
  type Netlify = (
    request: Request,
    context: { readonly geo: object; waitUntil: (work: Promise<unknown>) => void },
  ) => Promise<Response>;
  type Bun = (
    request: Request,
    server: { readonly port: number; upgrade(request: Request): boolean },
  ) => Response | Promise<Response>;
  type Deno = (request: Request, info: { readonly completed: Promise<void> }) => Response | Promise<Response>;
  type NextRoute = (request: Request, context: { params: Promise<{ shop: string }> }) => Promise<Response>;

  it('is what every host calls', () => {
    const handler = onFetch.webhookHandler(receiver);
    expectTypeOf(handler).toExtend<(request: Request) => Promise<Response>>();
    expectTypeOf(handler).toExtend<Workers>();
    expectTypeOf(handler).toExtend<Netlify>();
    expectTypeOf(handler).toExtend<Bun>();
    expectTypeOf(handler).toExtend<Deno>();
    expectTypeOf(handler).toExtend<NextRoute>();
    expectTypeOf(onFetch.webhookHandler(receiver, { waitUntil: (work) => void work })).toEqualTypeOf(handler);
    // @ts-expect-error -- a request is what it answers
    void handler('https://shop.example/webhooks');
  });

  it('gives the handler of the verifier what the host passes, with its types', () => {
    const POST = onFetch.webhookVerifier({ secret }, (delivery, env: Environment, context: ExecutionContext) => {
      expectTypeOf(delivery).toEqualTypeOf<VerifiedDelivery & { readonly request: Request }>();
      expectTypeOf(delivery.event).toEqualTypeOf<AnyEvent>();
      expectTypeOf(delivery.body).toEqualTypeOf<Uint8Array>();
      context.waitUntil(env.ORDERS.put(delivery.id, ''));
      return new Response();
    });
    expectTypeOf(POST).toEqualTypeOf<Workers>();
    // @ts-expect-error -- it needs what its handler needs
    void POST(new Request('https://shop.example/webhooks'));
    expectTypeOf(onFetch.webhookVerifier({ secret }, () => new Response())).toExtend<
      (request: Request) => Promise<Response>
    >();
    expectTypeOf(onFetch.webhookVerifier({ secret }, async () => new Response())).toExtend<NextRoute>();
    // @ts-expect-error -- the handler makes the answer
    onFetch.webhookVerifier({ secret }, async ({ event }) => event.type);
  });
});

describe('hookbox/aws-lambda', () => {
  /** As in @types/aws-lambda. */
  interface ApiGatewayEvent {
    readonly httpMethod: string;
    readonly headers: Record<string, string | undefined>;
    readonly multiValueHeaders: Record<string, string[] | undefined>;
    readonly body: string | null;
    readonly isBase64Encoded: boolean;
    readonly requestContext: { readonly requestId: string; readonly authorizer: object };
    readonly path: string;
  }
  interface ApiGatewayEventV2 {
    readonly version: string;
    readonly headers: Record<string, string | undefined>;
    readonly body?: string;
    readonly isBase64Encoded: boolean;
    readonly requestContext: { readonly http: { readonly method: string } };
  }
  interface BalancerEvent {
    readonly httpMethod: string;
    readonly headers?: Record<string, string | undefined>;
    readonly multiValueHeaders?: Record<string, string[] | undefined>;
    readonly body: string | null;
    readonly isBase64Encoded: boolean;
    readonly requestContext: { readonly elb: { readonly targetGroupArn: string } };
  }
  interface Context {
    readonly functionName: string;
    readonly awsRequestId: string;
    getRemainingTimeInMillis(): number;
  }
  interface ApiGatewayResult {
    readonly statusCode: number;
    readonly headers?: Record<string, boolean | number | string>;
    readonly body: string;
    readonly isBase64Encoded?: boolean;
  }
  type Handler<Event> = (event: Event, context: Context) => Promise<ApiGatewayResult>;

  it('is a handler for each kind of event', () => {
    const handler = lambda.webhookHandler(receiver);
    expectTypeOf(handler).toExtend<Handler<ApiGatewayEvent>>();
    expectTypeOf(handler).toExtend<Handler<ApiGatewayEventV2>>();
    expectTypeOf(handler).toExtend<Handler<BalancerEvent>>();
    expectTypeOf(handler).toBeCallableWith({ httpMethod: 'POST', headers: null, body: '{}', isBase64Encoded: false });
  });

  it('gives its context to whoever passes an event on, with its type', () => {
    const handler = lambda.webhookVerifier({ secret }, async (delivery, context: Context) => {
      expectTypeOf(delivery).toEqualTypeOf<VerifiedDelivery>();
      expectTypeOf(context.awsRequestId).toEqualTypeOf<string>();
    });
    expectTypeOf(handler).toExtend<Handler<ApiGatewayEvent>>();
    expectTypeOf(handler).toExtend<Handler<ApiGatewayEventV2>>();
    expectTypeOf(handler).toExtend<Handler<BalancerEvent>>();
    expectTypeOf(lambda.webhookVerifier({ secret }, () => {})).toExtend<Handler<ApiGatewayEvent>>();
    // A context of which only a part is of interest.
    lambda.webhookVerifier({ secret }, (_, context: { readonly awsRequestId: string }) => context.awsRequestId);
  });
});
