import { describe, expect, it } from 'vitest';
import { eventTypes, type EventType } from '../../src/events/event-types.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { buildEvent } from '../../src/testing/index.ts';

/** The field that says what an event is about. */
function entityOf(type: EventType): string {
  return type.startsWith('inventory.') ? 'product_id' : 'id';
}

describe('buildEvent', () => {
  it.each(eventTypes)('makes a valid %s', (type) => {
    const parsed = parseEvent(Buffer.from(JSON.stringify(buildEvent(type))));
    expect(parsed).toMatchObject({ ok: true, known: true, issues: [] });
  });

  it.each(eventTypes)('takes the data of %s from the fixture', (type) => {
    const { data } = JSON.parse(fixture(type).toString()) as { data: object };
    const entity = entityOf(type);
    expect(buildEvent(type)).toEqual({
      id: expect.any(String),
      type,
      created: expect.any(String),
      data: { ...data, [entity]: expect.stringMatching(/^(ord|cart|prod)_[0-9A-Za-z]{16}$/) },
    });
  });

  it.each(eventTypes)('makes each %s about an order, cart or product of its own, unless told otherwise', (type) => {
    const entity = entityOf(type);
    const named = (overrides?: object) => (buildEvent(type, overrides).data as Record<string, unknown>)[entity];
    expect(new Set(Array.from({ length: 100 }, () => named())).size).toBe(100);
    expect(named({ data: { [entity]: 'mine' } })).toBe('mine');
    expect(named({ data: { [entity]: undefined } })).toBeUndefined();
  });

  it('gives each an id of its own, and the time of now', () => {
    const before = Date.now();
    const events = Array.from({ length: 1_000 }, () => buildEvent('order.ready'));
    expect(new Set(events.map(({ id }) => id)).size).toBe(1_000);
    for (const { id, created } of events) {
      expect(id).toMatch(/^evt_[0-9A-Za-z]{16}$/);
      expect(Date.parse(created)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(created)).toBeLessThanOrEqual(Date.now());
    }
  });

  it('merges objects, and replaces lists and values', () => {
    const items = [{ product_id: 'prod_1', quantity: 1, price: 2 }];
    const event = buildEvent('order.created', { id: 'evt_1', data: { total: 2, items } });
    const { data } = JSON.parse(fixture('order.created').toString()) as { data: object };
    expect(event).toEqual({ ...event, id: 'evt_1', data: { ...data, id: event.data.id, total: 2, items } });
    expect(Object.keys(event)).toEqual(['id', 'type', 'created', 'data']);
  });

  it('keeps null, and removes what is undefined', () => {
    const { data } = buildEvent('cart.abandoned', { data: { user_id: null, item_count: undefined } });
    expect(data.user_id).toBeNull();
    expect(data).not.toHaveProperty('item_count');
  });

  it('removes what every event has, too', () => {
    const event = buildEvent('order.ready', { id: undefined, data: { items: undefined } });
    expect(Object.keys(event)).toEqual(['type', 'created', 'data']);
    expect(buildEvent('order.ready', { data: undefined })).not.toHaveProperty('data');
  });

  it('makes a new one each time, so that a test may change it', () => {
    const first = buildEvent('order.created');
    first.data.items?.splice(0);
    expect(buildEvent('order.created').data.items).toHaveLength(2);
  });

  it('refuses a type that is none', () => {
    expect(() => buildEvent('order.crated' as EventType)).toThrow(
      /^"order\.crated" is no event type\. Use one of: order\.created, /,
    );
  });
});
