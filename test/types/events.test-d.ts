import { describe, expectTypeOf, it } from 'vitest';
import {
  eventTypes,
  isKnown,
  parseEvent,
  type EventOf,
  type EventType,
  type InvalidEvent,
  type Issue,
  type UnknownEvent,
  type WebhookEvent,
} from '../../src/index.ts';

type Text = string | null | undefined;
type Numeric = number | null | undefined;

describe('WebhookEvent', () => {
  it('is a union of the eleven types', () => {
    expectTypeOf<WebhookEvent['type']>().toEqualTypeOf<
      | 'order.created'
      | 'order.confirmed'
      | 'order.ready'
      | 'order.completed'
      | 'order.cancelled'
      | 'order.failed'
      | 'inventory.updated'
      | 'inventory.low_stock'
      | 'inventory.out_of_stock'
      | 'cart.abandoned'
      | 'cart.expires_soon'
    >();
    expectTypeOf<EventType>().toEqualTypeOf<WebhookEvent['type']>();
    expectTypeOf(eventTypes).toEqualTypeOf<readonly EventType[]>();
  });

  it('is told apart by type: a switch over all eleven leaves nothing over', () => {
    function family(event: WebhookEvent): string {
      switch (event.type) {
        case 'order.created':
        case 'order.confirmed':
        case 'order.ready':
        case 'order.completed':
        case 'order.cancelled':
        case 'order.failed':
          expectTypeOf(event.data.total).toEqualTypeOf<Numeric>();
          return 'order';
        case 'inventory.updated':
        case 'inventory.low_stock':
        case 'inventory.out_of_stock':
          expectTypeOf(event.data.current_quantity).toEqualTypeOf<Numeric>();
          return 'inventory';
        case 'cart.abandoned':
        case 'cart.expires_soon':
          expectTypeOf(event.data.item_count).toEqualTypeOf<Numeric>();
          return 'cart';
        default:
          expectTypeOf(event).toBeNever();
          return event satisfies never;
      }
    }
    expectTypeOf(family).returns.toEqualTypeOf<string>();
  });

  it('shows in default what a switch has left out', () => {
    function family(event: WebhookEvent): string {
      switch (event.type) {
        case 'order.created':
        case 'order.confirmed':
        case 'order.ready':
        case 'order.completed':
        case 'order.cancelled':
        case 'inventory.updated':
        case 'inventory.low_stock':
        case 'inventory.out_of_stock':
        case 'cart.abandoned':
        case 'cart.expires_soon':
          return 'known';
        default: {
          expectTypeOf(event).toEqualTypeOf<EventOf<'order.failed'>>();
          // @ts-expect-error -- order.failed was left out, so the event is not never
          const none: never = event;
          return none;
        }
      }
    }
    expectTypeOf(family).returns.toEqualTypeOf<string>();
  });

  it('has an envelope whose four fields are always there', () => {
    expectTypeOf<Omit<WebhookEvent, 'data' | 'type'>>().toEqualTypeOf<{ id: string; created: string }>();
    expectTypeOf<keyof WebhookEvent>().toEqualTypeOf<'id' | 'type' | 'created' | 'data'>();
  });
});

describe('EventOf', () => {
  it('names one event, whose fields may all be absent or null', () => {
    expectTypeOf<EventOf<'order.ready'>['type']>().toEqualTypeOf<'order.ready'>();
    expectTypeOf<EventOf<'order.ready'>['data']>().toEqualTypeOf<{
      object?: Text;
      id?: Text;
      status?: Text;
      merchant_id?: Text;
      user_id?: Text;
      total?: Numeric;
      currency?: Text;
      items?: { product_id?: Text; quantity?: Numeric; price?: Numeric }[] | null | undefined;
      estimated_ready_time?: Text;
    }>();
    expectTypeOf<EventOf<'inventory.updated'>['data']>().toEqualTypeOf<{
      object?: Text;
      product_id?: Text;
      merchant_id?: Text;
      location_id?: Text;
      previous_quantity?: Numeric;
      current_quantity?: Numeric;
    }>();
    expectTypeOf<EventOf<'cart.abandoned'>['data']>().toEqualTypeOf<{
      object?: Text;
      id?: Text;
      user_id?: Text;
      merchant_id?: Text;
      last_activity?: Text;
      total_value?: Numeric;
      item_count?: Numeric;
    }>();
  });

  it('says more of a confirmation than of any other order event', () => {
    expectTypeOf<EventOf<'order.confirmed'>['data']>().toHaveProperty('special_instructions');
    expectTypeOf<EventOf<'order.confirmed'>['data']>().toHaveProperty('fulfillment_method');
    expectTypeOf<EventOf<'order.ready'>['data']>().not.toHaveProperty('special_instructions');
    expectTypeOf<EventOf<'order.ready'>['data']>().not.toHaveProperty('fulfillment_method');
  });

  it('makes null and absence be handled before a field is used', () => {
    const { data } = {} as EventOf<'order.ready'>;
    // @ts-expect-error -- total may be null or absent
    const total: number = data.total;
    // @ts-expect-error -- so may items
    const first = data.items[0];
    expectTypeOf(total).toBeNumber();
    expectTypeOf(first).not.toBeAny();
    expectTypeOf(data.items?.[0]?.price ?? 0).toEqualTypeOf<number>();
  });

  it('has no index signature: a field that nobody knows does not compile', () => {
    const event = {} as EventOf<'order.ready'>;
    // @ts-expect-error -- no such field in the envelope
    void event.livemode;
    // @ts-expect-error -- no such field in data
    void event.data.tip;
    // @ts-expect-error -- nor by a name in brackets
    void event.data['tip'];
    // @ts-expect-error -- no such field in an item
    void event.data.items?.[0]?.name;
    expectTypeOf<string extends keyof EventOf<'order.ready'> ? true : false>().toEqualTypeOf<false>();
    expectTypeOf<string extends keyof EventOf<'order.ready'>['data'] ? true : false>().toEqualTypeOf<false>();
    expectTypeOf<string extends keyof EventOf<'cart.abandoned'>['data'] ? true : false>().toEqualTypeOf<false>();
    expectTypeOf<string extends keyof EventOf<'inventory.updated'>['data'] ? true : false>().toEqualTypeOf<false>();
  });

  it('takes no type that does not exist', () => {
    // @ts-expect-error -- order.refunded is none of the eleven
    void ({} as EventOf<'order.refunded'>);
  });
});

describe('isKnown', () => {
  it('narrows to the eleven, and the rest to what is not known', () => {
    const event = {} as WebhookEvent | UnknownEvent;
    if (isKnown(event)) {
      expectTypeOf(event).toEqualTypeOf<WebhookEvent>();
      if (event.type === 'order.created') expectTypeOf(event.data.total).toEqualTypeOf<Numeric>();
    } else {
      expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
      expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>();
    }
  });

  it('narrows what may be invalid too', () => {
    const event = {} as WebhookEvent | UnknownEvent | InvalidEvent;
    if (isKnown(event)) expectTypeOf(event).toEqualTypeOf<WebhookEvent>();
    if (event.type === null) expectTypeOf(event).toEqualTypeOf<InvalidEvent>();
  });
});

describe('parseEvent', () => {
  it('is told apart by ok, then by known', () => {
    const parsed = parseEvent(new Uint8Array());
    expectTypeOf(parsed.issues).toEqualTypeOf<readonly Issue[]>();
    if (!parsed.ok) {
      expectTypeOf(parsed.id).toEqualTypeOf<string | null>();
      expectTypeOf(parsed).not.toHaveProperty('event');
    } else if (parsed.known) {
      expectTypeOf(parsed.event).toEqualTypeOf<WebhookEvent>();
    } else {
      expectTypeOf(parsed.event).toEqualTypeOf<UnknownEvent>();
    }
  });

  it('takes bytes, not text: what was decoded is not what was signed', () => {
    // @ts-expect-error -- a string
    expectTypeOf(parseEvent('{}')).not.toBeAny();
    expectTypeOf(parseEvent).parameter(0).toEqualTypeOf<Uint8Array>();
  });
});
