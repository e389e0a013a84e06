import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entityOf } from '../../src/events/entity.ts';
import { eventTypes, type EventType } from '../../src/events/event-types.ts';
import { parseEvent } from '../../src/events/parse.ts';

function entity(type: string, data: object): string | null {
  const envelope = { id: 'evt_1', type, created: '2026-03-14T08:02:11Z', data };
  const parsed = parseEvent(new TextEncoder().encode(JSON.stringify(envelope)));
  if (!parsed.ok) throw new Error(`invalid: ${JSON.stringify(parsed.issues)}`);
  return entityOf(parsed.event);
}

const family = (prefix: string): EventType[] => eventTypes.filter((type) => type.startsWith(prefix));

describe('the entity', () => {
  it.each(family('order.'))('of %s is the order, by merchant and id', (type) => {
    expect(entity(type, { merchant_id: 'mer_7', id: 'ord_42', user_id: 'usr_1' })).toBe('order:mer_7:ord_42');
  });

  it.each(family('cart.'))('of %s is the cart, by merchant and id', (type) => {
    expect(entity(type, { merchant_id: 'mer_7', id: 'cart_42', user_id: 'usr_1' })).toBe('cart:mer_7:cart_42');
  });

  it.each(family('inventory.'))('of %s is the product at its location, by merchant, product and location', (type) => {
    const data = { merchant_id: 'mer_7', product_id: 'prod_1', location_id: 'loc_1', current_quantity: 3 };
    expect(entity(type, data)).toBe('inventory:mer_7:prod_1:loc_1');
  });

  it('is the same for all events of one thing, and of one kind only', () => {
    const data = { merchant_id: 'mer_7', id: 'x', product_id: 'x', location_id: 'loc_1' };
    expect(new Set(family('order.').map((type) => entity(type, data))).size).toBe(1);
    expect(new Set(family('cart.').map((type) => entity(type, data))).size).toBe(1);
    expect(new Set(family('inventory.').map((type) => entity(type, data))).size).toBe(1);
    expect(new Set(eventTypes.map((type) => entity(type, data))).size).toBe(3);
  });

  it('differs as soon as the merchant, the product or the location does', () => {
    const product = { merchant_id: 'mer_7', product_id: 'prod_1', location_id: 'loc_1' };
    const variants = [
      product,
      { ...product, merchant_id: 'mer_8' },
      { ...product, product_id: 'prod_2' },
      { ...product, location_id: 'loc_2' },
      { product_id: 'prod_1', location_id: 'loc_1' },
      { merchant_id: 'mer_7', product_id: 'prod_1' },
      { product_id: 'prod_1' },
    ];
    expect(new Set(variants.map((data) => entity('inventory.updated', data))).size).toBe(variants.length);
    const orders = [{ id: '1' }, { merchant_id: 'mer_7', id: '1' }, { merchant_id: 'mer_8', id: '1' }, { id: '2' }];
    expect(new Set(orders.map((data) => entity('order.ready', data))).size).toBe(orders.length);
  });

  it.each([undefined, null])(
    'does without a merchant that is %s, and it is the same to say null or nothing',
    (merchant_id) => {
      expect(entity('order.ready', { id: 'ord_1', merchant_id })).toBe(entity('order.ready', { id: 'ord_1' }));
      expect(entity('cart.abandoned', { id: 'cart_1', merchant_id })).not.toBeNull();
      expect(entity('inventory.updated', { product_id: 'prod_1', merchant_id })).not.toBeNull();
    },
  );

  it.each(eventTypes)('of %s is none where the id is missing, null or empty', (type) => {
    const rest = { merchant_id: 'mer_7', location_id: 'loc_1', user_id: 'usr_1' };
    const name = type.startsWith('inventory.') ? 'product_id' : 'id';
    expect(entity(type, rest)).toBeNull();
    expect(entity(type, { ...rest, [name]: null })).toBeNull();
    expect(entity(type, { ...rest, [name]: '' })).toBeNull();
    expect(entity(type, { ...rest, [name]: '0' })).not.toBeNull();
  });

  it('of an inventory event does not go by an id that is not the product', () => {
    expect(entity('inventory.updated', { id: 'inv_1', merchant_id: 'mer_7' })).toBeNull();
  });

  it('of an unknown type is none', () => {
    expect(entity('order.refunded', { id: 'ord_1', merchant_id: 'mer_7' })).toBeNull();
    expect(entity('toString', { id: 'ord_1' })).toBeNull();
  });
});

describe('no two entities share a name', () => {
  it.each([
    [
      { merchant_id: 'a:b', id: 'c' },
      { merchant_id: 'a', id: 'b:c' },
    ],
    [{ id: ':a' }, { merchant_id: '', id: '%3Aa' }],
    [
      { merchant_id: 'a%3A', id: 'b' },
      { merchant_id: 'a:', id: 'b' },
    ],
    [{ id: '%' }, { id: '%25' }],
  ])('%j is not %j', (one, other) => {
    expect(entity('order.ready', one)).not.toBe(entity('order.ready', other));
  });

  it('whatever colons and escapes stand in their ids', () => {
    const part = fc.string({ unit: fc.constantFrom(':', '%', '3', 'A', '2', '5', 'x'), minLength: 1, maxLength: 6 });
    const product = fc.tuple(part, part, part);
    const nameOf = ([merchant_id, product_id, location_id]: [string, string, string]) =>
      entityOf({ id: 'e', type: 'inventory.updated', created: '', data: { merchant_id, product_id, location_id } });
    // Most pairs read the same once their parts are joined by colons, which is where names would collide.
    const regrouped = product.chain(([a, b, c]) => {
      const joined = `${a}:${b}:${c}`;
      const cuts = [...joined.matchAll(/:/g)].map(({ index }) => index);
      return fc
        .tuple(fc.constantFrom(...cuts), fc.constantFrom(...cuts))
        .filter(([first, second]) => first < second)
        .map(([first, second]): [string, string, string] => [
          joined.slice(0, first),
          joined.slice(first + 1, second),
          joined.slice(second + 1),
        ])
        .filter((parts) => parts.every((text) => text !== ''))
        .map((parts) => [[a, b, c], parts] as const);
    });
    let differing = 0;
    fc.assert(
      fc.property(regrouped, ([one, other]) => {
        const same = one.every((text, index) => text === other[index]);
        if (!same) differing += 1;
        expect(nameOf([...one]) === nameOf(other)).toBe(same);
      }),
      { numRuns: 5_000 },
    );
    expect(differing).toBeGreaterThan(500);
  });
});
