import { describe, expect, it } from 'vitest';
import { Room } from '../../../src/inbox/rules/claim.ts';

describe('the room of a claim', () => {
  it('is for everything where nothing is said', () => {
    for (const types of ['*', ['order.ready']] as const) {
      const room = new Room({ types });
      room.take('order.ready');
      expect(room.isFor('order.ready')).toBe(true);
      expect(room.typesWithRoom()).toEqual({ types, except: [] });
    }
  });

  it('of a type ends with its last place, and that type is looked for no more', () => {
    const room = new Room({ types: ['order.ready', 'order.created'], room: { 'order.ready': 1 } });
    expect(room.typesWithRoom().types).toEqual(['order.ready', 'order.created']);
    room.take('order.ready');
    expect([room.isFor('order.ready'), room.isFor('order.created')]).toEqual([false, true]);
    expect(room.typesWithRoom()).toEqual({ types: ['order.created'], except: [] });
  });

  it('of * is shared by all types that have none of their own', () => {
    const room = new Room({ types: '*', room: { 'order.ready': Infinity, '*': 2 } });
    for (const type of ['order.ready', 'cart.abandoned', 'order.refunded']) room.take(type);
    expect(['order.ready', 'cart.abandoned', null].map((type) => room.isFor(type))).toEqual([true, false, false]);
    expect(room.typesWithRoom()).toEqual({ types: ['order.ready'], except: [] });
  });

  it('leaves out a full type where all others are handled', () => {
    const room = new Room({ types: '*', room: { 'order.ready': 0, '*': 2 } });
    expect(room.typesWithRoom()).toEqual({ types: '*', except: ['order.ready'] });
  });
});
