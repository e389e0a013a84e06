import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventTypes, type EventType } from '../../src/events/event-types.ts';
import { isKnown } from '../../src/events/known-event.ts';
import type { EventSchemas } from '../../src/events/own-events.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { buildEvent } from '../../src/testing/index.ts';

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
      /^"order\.crated" is not an event type\. Did you mean order\.created\? Use one of: order\.created, /,
    );
  });

  describe('with the schemas of own types', () => {
    const inZod = z.object({ points: z.number(), at: z.string().transform((text) => new Date(text)) });
    const later = {
      '~standard': { version: 1, vendor: 'hand', validate: () => Promise.reject(new Error('no')) },
    } as const;
    const events: EventSchemas = {
      'loyalty.earned': inZod,
      'order.created': v.object({ gift_note: v.string() }),
      later,
    };
    const build = (type: string, overrides?: object) => buildEvent(type as EventType, overrides, { events });

    it('makes one of them as the service sends it, under an id of its own', () => {
      const data = { points: 5, at: '2026-01-01T00:00:00Z' };
      const event = build('loyalty.earned', { data });
      expect(event).toEqual({
        id: expect.stringMatching(/^evt_/),
        type: 'loyalty.earned',
        created: expect.any(String),
        data,
      });
      expect(parseEvent(Buffer.from(JSON.stringify(event)))).toMatchObject({ ok: true, known: false });
      expect([isKnown(event), build('loyalty.earned', { data }).id === event.id]).toEqual([true, false]);
    });

    it('refuses what does not fit, without its values', () => {
      expect(() => build('loyalty.earned', { data: { points: 'rosebud', at: '' } })).toThrow(
        new TypeError(
          'The event does not fit the schema of loyalty.earned: data.points: invalid_type, expected number.',
        ),
      );
      expect(() => build('order.created')).toThrow(
        'The event does not fit the schema of order.created: data.gift_note: ',
      );
      expect(build('order.created', { data: { gift_note: 'hi' } }).data).toMatchObject({
        gift_note: 'hi',
        object: 'order',
      });
    });

    it('does not wait for a schema that answers later', () => {
      expect(build('later')).toMatchObject({ type: 'later', data: {} });
    });

    it('refuses a type that has no schema, and says how it gets one', () => {
      expect(() => build('loyalty.erned')).toThrow(
        /To add a type of your own, add its schema to the option "events": \{ "loyalty\.erned": schema \}\.$/,
      );
    });
  });
});
