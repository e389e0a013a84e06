import { describe, expect, it } from 'vitest';
import { eventSchemas } from '../../src/events/webhook-event.ts';
import { eventTypes, isEventType, type EventType } from '../../src/events/event-types.ts';
import { isKnown } from '../../src/events/known-event.ts';
import { parseEvent, type ParsedEvent } from '../../src/events/parse.ts';

type Kind = 'string' | 'number' | 'integer' | 'items';

/** Interface 6.2, with the plain types that docs/wire-contract.md gives to fields whose type it does not state. */
const ORDER: Readonly<Record<string, Kind>> = {
  object: 'string',
  id: 'string',
  status: 'string',
  merchant_id: 'string',
  user_id: 'string',
  total: 'number',
  currency: 'string',
  items: 'items',
  estimated_ready_time: 'string',
};
const CONFIRMED: typeof ORDER = { ...ORDER, fulfillment_method: 'string', special_instructions: 'string' };
const INVENTORY: typeof ORDER = {
  object: 'string',
  product_id: 'string',
  merchant_id: 'string',
  location_id: 'string',
  previous_quantity: 'number',
  current_quantity: 'number',
};
const CART: typeof ORDER = {
  object: 'string',
  id: 'string',
  user_id: 'string',
  merchant_id: 'string',
  last_activity: 'string',
  total_value: 'number',
  item_count: 'integer',
};
const ITEM: typeof ORDER = { product_id: 'string', quantity: 'number', price: 'number' };

const FIELDS: Readonly<Record<EventType, typeof ORDER>> = {
  'order.created': ORDER,
  'order.confirmed': CONFIRMED,
  'order.ready': ORDER,
  'order.completed': ORDER,
  'order.cancelled': ORDER,
  'order.failed': ORDER,
  'inventory.updated': INVENTORY,
  'inventory.low_stock': INVENTORY,
  'inventory.out_of_stock': INVENTORY,
  'cart.abandoned': CART,
  'cart.expires_soon': CART,
};

/** Sound values, so that nothing but the field under test can be at fault. */
const SOUND: Readonly<Record<Kind, readonly unknown[]>> = {
  string: ['', 'text', 'ÄÖÜ 🍮', '1', 'null'],
  number: [0, -1, 30.05, 1e300, 5e-324, 2 ** 53],
  integer: [0, -1, 3, Number.MAX_SAFE_INTEGER],
  items: [[], [{}], [{ product_id: 'prod_1', quantity: 2, price: 6.5 }, {}]],
};
const WRONG: Readonly<Record<Kind, readonly unknown[]>> = {
  string: [0, 1.5, true, false, {}, [], ['text'], { text: 'text' }],
  number: ['1', '', true, false, {}, [], [1]],
  integer: ['1', '', true, {}, [], 1.5, -0.1],
  items: ['text', 1, true, {}, { 0: {}, length: 1 }, [1], ['text'], [null], [[]], [true]],
};

const rows = eventTypes.flatMap((type) => Object.entries(FIELDS[type]).map(([field, kind]) => ({ type, field, kind })));

function parse(type: string, data: unknown): ParsedEvent {
  const envelope = { id: 'evt_1', type, created: '2026-03-14T08:02:11Z', data };
  return parseEvent(new TextEncoder().encode(JSON.stringify(envelope)));
}

/** `object` and the times have an issue of their own, which is no fault. */
function mayHaveIssues(field: string): boolean {
  return ['object', 'estimated_ready_time', 'last_activity'].includes(field);
}

describe('the event types', () => {
  it('are the eleven of interface 6.1, in its order', () => {
    expect(eventTypes).toEqual([
      'order.created',
      'order.confirmed',
      'order.ready',
      'order.completed',
      'order.cancelled',
      'order.failed',
      'inventory.updated',
      'inventory.low_stock',
      'inventory.out_of_stock',
      'cart.abandoned',
      'cart.expires_soon',
    ]);
  });

  it('cannot be changed by who reads them', () => {
    expect(() => (eventTypes as EventType[]).push('order.created')).toThrow(TypeError);
    expect(eventTypes).toHaveLength(11);
  });

  it('are told from every other name, those on Object.prototype too', () => {
    for (const type of eventTypes) expect(isEventType(type)).toBe(true);
    for (const type of ['', 'order', 'order.refunded', 'Order.created', 'order.created ', 'toString', '__proto__']) {
      expect(isEventType(type)).toBe(false);
    }
  });
});

describe('isKnown', () => {
  it('is true for each of the eleven', () => {
    for (const type of eventTypes) expect(isKnown({ id: 'evt_1', type, created: '', data: {} })).toBe(true);
  });

  it('is false for other types and for invalid events', () => {
    expect(isKnown({ id: 'evt_1', type: 'order.refunded', created: '', data: {} })).toBe(false);
    expect(isKnown({ id: 'evt_1', type: 'constructor', created: '', data: {} })).toBe(false);
    expect(isKnown({ id: 'evt_1', type: null, issues: [] })).toBe(false);
  });
});

describe('the schemas', () => {
  it.each(eventTypes)('of %s has the fields of interface 6.2 and no other', (type) => {
    expect(Object.keys(eventSchemas[type].shape).toSorted()).toEqual(['created', 'data', 'id', 'type']);
    expect(Object.keys(eventSchemas[type].shape.data.shape).toSorted()).toEqual(Object.keys(FIELDS[type]).toSorted());
  });

  it.each(eventTypes)('of %s takes data with nothing in it', (type) => {
    expect(parse(type, {})).toEqual({
      ok: true,
      known: true,
      event: { id: 'evt_1', type, created: '2026-03-14T08:02:11Z', data: {} },
      issues: [],
    });
  });

  it.each(rows)('$type: $field may be absent, and null', ({ type, field }) => {
    const others = Object.fromEntries(
      Object.entries(FIELDS[type])
        .filter(([name]) => name !== field)
        .map(([name, kind]) => [name, mayHaveIssues(name) ? null : SOUND[kind][1]]),
    );
    expect(parse(type, others)).toMatchObject({ ok: true, known: true, issues: [], event: { data: others } });
    const withNull = { ...others, [field]: null };
    expect(parse(type, withNull)).toMatchObject({ ok: true, known: true, issues: [], event: { data: withNull } });
  });

  it.each(rows)('$type: $field takes any $kind, and leaves it as it is', ({ type, field, kind }) => {
    for (const value of SOUND[kind]) {
      const parsed = parse(type, { [field]: value });
      expect(parsed).toMatchObject({ ok: true, known: true, event: { data: { [field]: value } } });
      if (!mayHaveIssues(field)) expect(parsed.issues).toEqual([]);
    }
  });

  it.each(rows)(
    '$type: $field of a wrong type makes the event invalid, and the issue says where',
    ({ type, field, kind }) => {
      for (const value of WRONG[kind]) {
        const parsed = parse(type, { [field]: value });
        expect(parsed).toMatchObject({ ok: false, id: 'evt_1' });
        expect(parsed.issues.map(({ path }) => path)).toEqual([expect.stringMatching(`^data\\.${field}(\\.0)?$`)]);
      }
    },
  );

  const itemRows = eventTypes
    .filter((type) => 'items' in FIELDS[type])
    .flatMap((type) => Object.entries(ITEM).map(([field, kind]) => ({ type, field, kind })));

  it.each(itemRows)('$type: $field of an item may be absent and null, and must be a $kind', ({ type, field, kind }) => {
    for (const value of [null, ...SOUND[kind]]) {
      const data = { items: [{}, { [field]: value }] };
      expect(parse(type, data)).toMatchObject({ ok: true, issues: [], event: { data } });
    }
    for (const value of WRONG[kind]) {
      const parsed = parse(type, { items: [{}, { [field]: value }] });
      expect(parsed).toMatchObject({ ok: false, id: 'evt_1', issues: [{ path: `data.items.1.${field}` }] });
    }
  });

  it('name every fault of an event, not only the first', () => {
    const parsed = parse('order.created', { total: '1', currency: 1, items: [{ price: '1' }] });
    expect(parsed.issues.map(({ path }) => path).toSorted()).toEqual([
      'data.currency',
      'data.items.0.price',
      'data.total',
    ]);
  });
});
