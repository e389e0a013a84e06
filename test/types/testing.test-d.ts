import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expectTypeOf, it } from 'vitest';
import { webhookHandler as lambdaHandler } from '../../adapters/aws-lambda.ts';
import { webhookHandler as expressHandler } from '../../adapters/express.ts';
import { webhookHandler as fetchHandler } from '../../adapters/fetch.ts';
import { webhookHandler as nodeHandler } from '../../adapters/node.ts';
import { createReceiver, type EventOf, type EventType, type Inbox, type StoredEvent } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import {
  buildEvent,
  deliverTo,
  signedRequest,
  testInbox,
  type Clock,
  type DeliveryAnswer,
  type TestClock,
} from '../../src/testing/index.ts';

const secret = 'a signing secret';
const receiver = createReceiver({ secret, inbox: memoryInbox() });
const event = buildEvent('order.created');

describe('buildEvent', () => {
  it('gives the event of its type', () => {
    expectTypeOf(event).toEqualTypeOf<EventOf<'order.created'>>();
    expectTypeOf(buildEvent('cart.abandoned').data.item_count).toEqualTypeOf<number | null | undefined>();
    expectTypeOf(buildEvent<EventType>('order.ready')).toEqualTypeOf<EventOf<EventType>>();
  });

  it('takes parts of that event', () => {
    buildEvent('order.confirmed', { id: 'evt_1', data: { special_instructions: null, total: undefined } });
    buildEvent('order.created', { data: { items: [{ product_id: 'prod_1', quantity: 1, price: 2 }] } });
  });

  it('takes nothing else', () => {
    // @ts-expect-error -- misspelt
    buildEvent('order.crated');
    // @ts-expect-error -- a total is a number
    buildEvent('order.created', { data: { total: '12.50' } });
    // @ts-expect-error -- misspelt
    buildEvent('order.created', { data: { totall: 12.5 } });
    // @ts-expect-error -- only a confirmation has instructions
    buildEvent('order.ready', { data: { special_instructions: 'sliced' } });
    // @ts-expect-error -- the type is said already
    buildEvent('order.ready', { type: 'order.created' });
    // @ts-expect-error -- a list is replaced as a whole
    buildEvent('order.created', { data: { items: { 0: { price: 2 } } } });
  });
});

describe('signedRequest', () => {
  it('makes a request of an event, bytes or a text', () => {
    expectTypeOf(signedRequest(event, secret)).toEqualTypeOf<Request>();
    signedRequest(new Uint8Array(), new Uint8Array(32), { signature: null, url: new URL('https://shop.example') });
    signedRequest('{}', secret, { headers: { 'X-Trace': '1' } });
    // @ts-expect-error -- may be undefined
    signedRequest(event, process.env['SIGNING_SECRET']);
  });
});

describe('deliverTo', () => {
  it('takes whatever answers deliveries, as it is', () => {
    expectTypeOf(deliverTo(receiver, event, { secret })).toEqualTypeOf<Promise<DeliveryAnswer>>();
    void deliverTo('http://localhost:3000/webhooks', event, { secret });
    void deliverTo(fetchHandler(receiver), event, { secret });
    void deliverTo(new Hono(), event, { secret });
    void deliverTo(express(), event, { secret });
    void deliverTo(expressHandler(receiver), event, { secret });
    void deliverTo(nodeHandler(receiver), event, { secret });
    void deliverTo(createServer(), event, { secret });
    void deliverTo(fastify(), event, { secret });
    void deliverTo((_: express.Request, response: express.Response) => response.end(), event, { secret });
    void deliverTo((_: IncomingMessage, response: ServerResponse) => response.end(), event, { secret });
    void deliverTo(async (_request: Request, _context: { params: object }) => new Response(), event, {
      secret,
      as: 'fetch',
    });
    void deliverTo(lambdaHandler(receiver), event, { secret, as: 'apigateway-v2' });
  });

  it('wants to be told the shape of a Lambda function by a name that exists', () => {
    // @ts-expect-error -- no such shape
    void deliverTo(lambdaHandler(receiver), event, { secret, as: 'lambda' });
    // @ts-expect-error -- a receiver is no function
    void deliverTo(receiver, event, { secret, as: 'alb' });
    // @ts-expect-error -- nothing answers here
    void deliverTo({}, event, { secret });
    // @ts-expect-error -- a secret is needed
    void deliverTo(receiver, event, {});
  });

  it('says what was answered', () => {
    expectTypeOf<DeliveryAnswer['status']>().toEqualTypeOf<number>();
    expectTypeOf<DeliveryAnswer['headers']>().toEqualTypeOf<Headers>();
    expectTypeOf<DeliveryAnswer['body']>().toBeUnknown();
  });
});

describe('testInbox', () => {
  it('fits receivers and processors', () => {
    const { inbox, clock, handledAll } = testInbox({ now: new Date() });
    expectTypeOf(inbox).toEqualTypeOf<Inbox>();
    expectTypeOf(clock).toEqualTypeOf<TestClock>();
    expectTypeOf(clock).toExtend<Clock>();
    expectTypeOf(handledAll).returns.toEqualTypeOf<Promise<readonly StoredEvent[]>>();
    createReceiver({ secret, inbox, clock });
    createProcessor({ inbox, clock, handlers: {} });
  });

  it('keeps what the transactions of the inbox it is given work on', () => {
    interface Shop {
      readonly orders: string[];
    }
    const inbox = memoryInbox<Shop>();
    expectTypeOf(testInbox({ inbox }).inbox).toEqualTypeOf<Inbox<Shop>>();
  });
});
