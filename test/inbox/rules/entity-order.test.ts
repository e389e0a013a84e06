import { describe, expect, it } from 'vitest';
import type { Front } from '../../../src/inbox/rules/engine.ts';
import { mustWait, unparkNext } from '../../../src/inbox/rules/entity-order.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import type { ClaimRequest, Scope } from '../../../src/inbox/work.ts';
import { TAKER_MS } from '../../../src/inbox/rules/takers.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const NOW = 2 * TAKER_MS;
const event = { seq: 5, endpoint: 'default', entity: 'order', created: { ms: 5, ns: 0 } };
const request: ClaimRequest = { endpoints: '*', types: ['order.ready'], now: NOW, leaseMs: 1_000, ordered: true };
const front = (seq: number, type: string): Front => ({ seq, type, created: { ms: seq, ns: 0 } });

interface Entity {
  readonly lease?: boolean;
  readonly front?: Front;
  readonly taken?: Scope['types'];
  readonly frontOfTypes?: Front;
}

const engineOf = ({ lease = false, front, taken = [], frontOfTypes }: Entity) =>
  scripted({
    hasLease: () => lease,
    front: () => front,
    takenTypes: () => taken,
    frontOfTypes: () => frontOfTypes,
    parkedUpTo: () => [1, 2, 3],
    unpark: () => 10,
  });

describe('an event', () => {
  it.each<[string, Entity, boolean]>([
    ['waits for a live lease', { lease: true, front: front(5, 'order.ready') }, true],
    ['that is the front does not wait', { front: front(5, 'order.ready') }, false],
    ['whose entity has nothing that waits does not', {}, false],
    ['waits for an older one that who claims handles', { front: front(4, 'order.ready') }, true],
    ['waits for an older one that others handle', { front: front(4, 'order.created'), taken: ['order.created'] }, true],
    ['waits where others handle all types', { front: front(4, 'order.created'), taken: '*' }, true],
    [
      'does not wait for an older one that nobody handles',
      { front: front(4, 'order.created'), frontOfTypes: front(5, 'order.ready') },
      false,
    ],
    [
      'waits for one that somebody handles behind one that nobody does',
      { front: front(3, 'order.created'), taken: ['cart.abandoned'], frontOfTypes: front(4, 'cart.abandoned') },
      true,
    ],
    ['that yields, and so is no front, does not wait for a newer one', { front: front(6, 'order.ready') }, false],
    [
      'that yields does not wait for a newer one of those that somebody handles',
      { front: front(4, 'order.created'), frontOfTypes: front(6, 'order.ready') },
      false,
    ],
  ])('%s', (_, entity, expected) => {
    expect(atOnce(mustWait(engineOf(entity).engine, event, request))).toBe(expected);
  });

  it('without an entity waits for nobody, and nothing is asked', () => {
    const { engine, asked } = engineOf({ lease: true });
    expect(atOnce(mustWait(engine, { ...event, entity: null }, request))).toBe(false);
    expect(asked).toEqual([]);
  });

  it('waits for whoever was seen in the last ten minutes, or since the claim says', () => {
    for (const [asking, since] of [
      [request, NOW - TAKER_MS],
      [{ ...request, takenSince: 77 }, 77],
    ] as const) {
      const { engine, of } = engineOf({ front: front(4, 'order.created') });
      atOnce(mustWait(engine, event, asking));
      expect(of('takenTypes')).toEqual([['takenTypes', 'default', since]]);
      expect(of('frontOfTypes')[0]?.[2]).toEqual(['order.ready']);
    }
  });
});

describe('when an event has left the front of its entity', () => {
  const unparked = (entity: Entity, slice = engineOf({}).engine.timeSlice()) => {
    const { engine, of } = engineOf(entity);
    atOnce(unparkNext(engine, event, NOW, slice));
    return of('unpark').map(([, seq]) => seq);
  };

  it.each<[string, Entity, readonly number[]]>([
    ['nothing is unparked where nothing waits', {}, []],
    ['the next one is', { front: front(6, 'order.ready'), taken: ['order.ready'] }, [6]],
    ['the next one is where somebody handles all types', { front: front(6, 'order.ready'), taken: '*' }, [6]],
    [
      'so are the first that somebody handles, and those before it that nobody does',
      { front: front(1, 'order.created'), frontOfTypes: front(6, 'order.ready') },
      [6, 1, 2, 3],
    ],
    ['and where nobody handles anything, the first ones', { front: front(1, 'order.created') }, [1, 2, 3]],
  ])('%s', (_, entity, expected) => {
    expect(unparked(entity)).toEqual(expected);
  });

  it('so are those that yield, though they are no front', () => {
    const { engine, of } = scripted({ nextOf: () => ({ front: undefined, yielding: [7, 8] }), unpark: () => 10 });
    atOnce(unparkNext(engine, event, NOW, engine.timeSlice()));
    expect(of('unpark').map(([, seq]) => seq)).toEqual([7, 8]);
  });

  it('those that nobody handles go as far as the slice', () => {
    const entity = { front: front(1, 'order.created'), frontOfTypes: front(6, 'order.ready') };
    expect(unparked(entity, sliceOf(2)())).toEqual([6, 1]);
  });

  it('of one that stands alone nothing is asked', () => {
    const { engine, asked } = engineOf({});
    atOnce(unparkNext(engine, { endpoint: 'default', entity: null }, NOW, engine.timeSlice()));
    expect(asked).toEqual([]);
  });
});
