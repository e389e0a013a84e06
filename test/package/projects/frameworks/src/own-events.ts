/** Types and fields of a shop's own, declared once: by the types of schemas, or by hand. */
import {
  createProcessor,
  createReceiver,
  entityOf,
  isKnown,
  type EventOf,
  type EventSchemas,
  type HandledEvent,
  type Handlers,
  type StandardSchema,
} from 'hookbox';
import { memoryInbox } from 'hookbox/memory';
import { buildEvent } from 'hookbox/testing';
import { z } from 'zod';

const schemas = {
  'loyalty.earned': z.object({ points: z.number(), at: z.string().transform((text) => new Date(text)) }),
  'order.created': z.looseObject({ gift_note: z.string(), total: z.number() }),
};
type ShopEvents = typeof schemas;

declare module 'hookbox' {
  interface OwnEvents extends ShopEvents {
    'loyalty.spent': { readonly points: number };
  }
}

type Equal<A, B> = [A, B] extends [B, A] ? true : false;
export const isSo: readonly true[] = [
  true satisfies Equal<EventOf<'loyalty.earned'>['data'], { points: number; at: Date }>,
  true satisfies Equal<EventOf<'loyalty.spent'>['data'], { readonly points: number }>,
  true satisfies Equal<EventOf<'order.created'>['data']['total'], number>,
  true satisfies Equal<EventOf<'order.created'>['data']['gift_note'], string>,
  true satisfies Equal<EventOf<'order.created'>['data']['currency'], string | null | undefined>,
  true satisfies Equal<EventOf<'order.ready'>['data']['total'], number | null | undefined>,
];

const spent: StandardSchema<unknown, { readonly points: number }> = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: async (value) =>
      typeof value === 'object' && value !== null && 'points' in value && typeof value.points === 'number'
        ? { value: { points: value.points } }
        : { issues: [{ message: 'no points', path: ['points'] }] },
  },
};
const events: EventSchemas = { ...schemas, 'loyalty.spent': spent };

export const handlers: Handlers = {
  'loyalty.earned': async (event) => {
    const at: number = event.data.at.getTime() + event.data.points;
    console.log(at);
    // @ts-expect-error -- the schema has made a date of it
    event.data.at.toUpperCase();
  },
  'loyalty.spent': (event) => console.log(event.data.points.toFixed()),
  'order.created': (event) => console.log(event.data.total.toFixed(2), event.data.items?.length, event.data.gift_note),
  '*': (event: HandledEvent) => {
    if (!isKnown(event)) return console.log(event.data['anything']);
    switch (event.type) {
      case 'loyalty.earned':
        return console.log(event.data.at.getTime());
      case 'loyalty.spent':
        return console.log(event.data.points);
      case 'order.created':
        return console.log(event.data.gift_note);
      default:
        return console.log(event.data.object);
    }
  },
};

// @ts-expect-error -- misspelt
export const misspelt: Handlers = { 'loyalty.erned': () => {} };
// @ts-expect-error -- a schema of something else
export const other: EventSchemas = { 'loyalty.spent': z.object({ points: z.string() }) };
// @ts-expect-error -- a type that is not declared
export const undeclared: EventSchemas = { 'loyalty.lost': spent };
// @ts-expect-error -- no schema
export const none: EventSchemas = { 'loyalty.spent': { points: 'number' } };

createProcessor({ inbox: memoryInbox(), events, handlers });
createReceiver({
  secret: 'a signing secret',
  inbox: memoryInbox(),
  events,
  // Asked when an event comes in, before any schema.
  entity: (event) => (event.type === 'loyalty.earned' ? `account:${String(event.data['account'])}` : entityOf(event)),
  handlers: { 'loyalty.spent': (event) => event.data.points },
});

const sent = buildEvent('loyalty.earned', { data: { points: 5, at: '2026-01-01T00:00:00Z' } }, { events });
export const at: string = sent.data.at;
// @ts-expect-error -- the service sends a text
buildEvent('loyalty.earned', { data: { at: new Date() } }, { events });
// @ts-expect-error -- misspelt
buildEvent('loyalty.earned', { data: { pints: 5 } }, { events });
