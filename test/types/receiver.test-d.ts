import { describe, expectTypeOf, it } from 'vitest';
import {
  createReceiver,
  isKnown,
  signBody,
  verifySignature,
  type Delivery,
  type EventOf,
  type HandlerContext,
  type Handlers,
  type Outcome,
  type UnknownEvent,
  type WebhookEvent,
} from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';

type Text = string | null | undefined;
type Numeric = number | null | undefined;

const secret = 'a signing secret';
const inbox = memoryInbox();

describe('handlers', () => {
  it('are given the event of their type, with what only that type has', () => {
    createReceiver({
      secret,
      inbox,
      handlers: {
        'order.confirmed': (event, context) => {
          expectTypeOf(event).toEqualTypeOf<EventOf<'order.confirmed'>>();
          expectTypeOf(event.data.special_instructions).toEqualTypeOf<Text>();
          expectTypeOf(context).toEqualTypeOf<HandlerContext>();
          expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        },
        'inventory.low_stock': async (event) => {
          expectTypeOf(event.data.current_quantity).toEqualTypeOf<Numeric>();
          // @ts-expect-error -- an inventory event has no total
          void event.data.total;
        },
        'order.ready': async (event) => {
          // @ts-expect-error -- only a confirmation has instructions
          void event.data.special_instructions;
        },
        '*': (event) => {
          expectTypeOf(event).toEqualTypeOf<WebhookEvent | UnknownEvent>();
          expectTypeOf(event.type).toEqualTypeOf<string>();
          if (isKnown(event)) expectTypeOf(event).toEqualTypeOf<WebhookEvent>();
          else expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
        },
      },
    });
  });

  it('have no key that is misspelt', () => {
    // @ts-expect-error -- order.crated
    createReceiver({ secret, inbox, handlers: { 'order.crated': async () => {} } });
    // @ts-expect-error -- nor one that does not exist yet
    expectTypeOf<Handlers>({ 'order.refunded': async () => {} }).toBeObject();
    // @ts-expect-error -- nor a misspelt one beside a right one
    expectTypeOf<Handlers>({ 'order.created': async () => {}, 'orders.created': async () => {} }).toBeObject();
    expectTypeOf<Handlers>({ 'order.created': async () => {}, '*': async () => {} }).toBeObject();
  });

  it('are functions that take no other event', () => {
    // @ts-expect-error -- a name is no function
    expectTypeOf<Handlers>({ 'order.created': 'handleOrder' }).toBeObject();
    // @ts-expect-error -- a handler for carts takes no order
    expectTypeOf<Handlers>({ 'order.created': (event: EventOf<'cart.abandoned'>) => event }).toBeObject();
    // @ts-expect-error -- what handles one type does not handle all
    expectTypeOf<Handlers>({ '*': (event: EventOf<'order.created'>) => event }).toBeObject();
    // A handler for every known event serves one of them.
    expectTypeOf<Handlers>({ 'order.created': (event: WebhookEvent) => event }).toBeObject();
  });
});

describe('the secret option', () => {
  it('may be a variable of the environment, a text, bytes, a list, or a function that fetches them', () => {
    createReceiver({ inbox, secret: process.env['SIGNING_SECRET'] });
    createReceiver({ inbox, secret: 'text' });
    createReceiver({ inbox, secret: new Uint8Array(32) });
    createReceiver({ inbox, secret: ['new', new Uint8Array(32)] });
    createReceiver({ inbox, secret: ['new', 'old'] as const });
    createReceiver({ inbox, secret: [process.env['NEW_SECRET'], process.env['OLD_SECRET']] });
    createReceiver({ inbox, secret: () => 'text' });
    createReceiver({ inbox, secret: async () => ['new', 'old'] });
    createReceiver({ inbox, unsafeUnsigned: true });
  });

  it('may not be a number, null, a list with null, or a function that may bring none', () => {
    // @ts-expect-error -- a number
    createReceiver({ inbox, secret: 4711 });
    // @ts-expect-error -- null
    createReceiver({ inbox, secret: null });
    // @ts-expect-error -- null in a list
    createReceiver({ inbox, secret: ['new', null] });
    // @ts-expect-error -- what the function brings may be undefined
    createReceiver({ inbox, secret: () => process.env['SIGNING_SECRET'] });
  });
});

describe('the receiver', () => {
  it('needs an inbox', () => {
    // @ts-expect-error -- there is no default: where events are kept is the merchant's choice
    createReceiver({ secret });
  });

  it('takes bytes and a signature that may be missing', () => {
    expectTypeOf<Delivery['body']>().toExtend<object>();
    expectTypeOf<Delivery['signature']>().toEqualTypeOf<Text>();
    // @ts-expect-error -- a text is not what was signed
    expectTypeOf<Delivery>({ body: '{}', signature: null }).toBeObject();
    // @ts-expect-error -- leaving the signature out must be said
    expectTypeOf<Delivery>({ body: new Uint8Array() }).toBeObject();
  });

  it('answers with an outcome that is told apart by its kind', () => {
    const outcome = {} as Outcome;
    expectTypeOf(createReceiver).returns.toExtend<AsyncDisposable>();
    expectTypeOf<ReturnType<ReturnType<typeof createReceiver>['receive']>>().toEqualTypeOf<Promise<Outcome>>();
    switch (outcome.kind) {
      case 'stored':
      case 'duplicate':
      case 'processed':
        expectTypeOf(outcome.id).toEqualTypeOf<string>();
        expectTypeOf(outcome.body.received).toEqualTypeOf<true>();
        break;
      case 'rejected':
      case 'unavailable':
      case 'busy':
      case 'failed':
      case 'timeout':
        expectTypeOf(outcome).not.toHaveProperty('id');
        expectTypeOf(outcome.body.error.request_id).toEqualTypeOf<string>();
        break;
      default:
        expectTypeOf(outcome).toBeNever();
    }
  });
});

describe('signatures', () => {
  it('are made from text or bytes, and checked on bytes alone', () => {
    expectTypeOf(signBody).returns.toEqualTypeOf<string>();
    expectTypeOf(signBody).parameter(0).toEqualTypeOf<Uint8Array | string>();
    expectTypeOf(verifySignature).parameter(0).toEqualTypeOf<Uint8Array>();
    expectTypeOf(verifySignature).parameter(1).toEqualTypeOf<Text>();
    // A plain boolean and no promise: `if (verifySignature(…))` checks what it seems to check.
    expectTypeOf(verifySignature).returns.toEqualTypeOf<boolean>();
  });

  it('need a secret that is there', () => {
    // @ts-expect-error -- may be undefined, which would be a working key if it were turned into a text
    signBody('{}', process.env['SIGNING_SECRET']);
    // @ts-expect-error -- the same for verifying
    verifySignature(new Uint8Array(), null, process.env['SIGNING_SECRET']);
  });
});
