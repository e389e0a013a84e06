import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Acceptance, type IncomingEvent, eventStates, type EventState } from '../../../src/inbox/event.ts';
import {
  countDelivery,
  firstStateOf,
  planAgain,
  resolve,
  runsAtOnce,
  STORED,
  unchanged,
  type DeliveredAgain,
  type KnownEvent,
  type Resolution,
  occurrencesOf,
  oneMore,
  type Times,
  hashOf,
  hasSameBody,
} from '../../../src/inbox/rules/accept.ts';
import { incoming, invalidIncoming } from '../../helpers/incoming-event.ts';

const AT = 9_000;
const TIMES = { count: 1, first: AT, last: AT, recent: [AT] };
const valid = { state: 'pending', invalid: false, verified: true } as const;
const invalid = { state: 'dead', invalid: true, verified: true } as const;
const signed = { valid: true, verified: true, sameBytes: false };
const stored: KnownEvent = {
  ...valid,
  seq: 7,
  endpoint: 'default',
  entity: 'before',
  body: Buffer.from('{}'),
  hash: null,
  redeliveries: null,
  conflicts: null,
};

describe('an event begins', () => {
  it('as pending, or as running under a lease', () => {
    expect(firstStateOf({ valid: true, receivedAt: 5 })).toMatchObject({ state: 'pending', isFresh: true });
    expect(firstStateOf({ valid: true, receivedAt: 5 }, true)).toMatchObject({ state: 'processing', isFresh: false });
  });

  it('as dead and settled if it is invalid', () => {
    const dead = { state: 'dead', deadReason: 'invalid', settledAt: 5, isFresh: false };
    expect(firstStateOf({ valid: false, receivedAt: 5 })).toEqual(dead);
  });
});

it('a new event runs at once unless something may have to run before it', () => {
  const free = {
    isCrowded: false,
    isPaused: false,
    isEntityBusy: false,
    isSuperseded: true,
    latest: AT,
    isMovingBack: false,
  };
  const runs = (parts: Partial<typeof free>, ordered = true, now = AT) =>
    runsAtOnce({ ...free, ...parts }, { now, ordered });
  expect(runs({})).toBe(true);
  expect(runs({ isCrowded: true })).toBe(false);
  expect(runs({ isPaused: true })).toBe(false);
  expect(runs({ isEntityBusy: true })).toBe(false);
  expect(runs({ isEntityBusy: true }, false)).toBe(true);
  expect(runs({ isMovingBack: true })).toBe(false);
  expect(runs({ latest: AT + 60 * 60_000 })).toBe(false);
});

it.each<[IncomingEvent, Partial<Acceptance>, readonly unknown[]]>([
  [incoming(), STORED, [['stored', 'order.created']]],
  [
    invalidIncoming(),
    STORED,
    [
      ['stored', null],
      ['dead', null],
    ],
  ],
  [incoming(), { result: 'duplicate' }, [['duplicate', '']]],
  [
    incoming(),
    { result: 'duplicate', conflict: true },
    [
      ['duplicate', ''],
      ['conflict', ''],
    ],
  ],
  [incoming(), { result: 'duplicate', replaced: true }, [['duplicate', '']]],
  [
    invalidIncoming(),
    { result: 'duplicate', replaced: true },
    [
      ['duplicate', ''],
      ['dead', null],
    ],
  ],
  [invalidIncoming(), { result: 'duplicate' }, [['duplicate', '']]],
])('a delivery is counted: %#', (event, acceptance, expected) => {
  const counted: unknown[] = [];
  const count = (what: string, detail: string | null) => void counted.push([what, detail]);
  countDelivery({ count, countType: count, countMs: () => {} }, event, { ...STORED, ...acceptance });
  expect(counted).toEqual(expected);
});

describe('an event whose key is known', () => {
  const again = (event: IncomingEvent, before: Partial<KnownEvent> = {}) =>
    planAgain(unchanged({ ...stored, ...before }), { ...event, receivedAt: AT });

  it('is only counted when its bytes are the same', () => {
    const { acceptance, change } = again(incoming());
    expect(acceptance).toEqual({ result: 'duplicate', conflict: false, replaced: false });
    expect(change).toEqual({ ...unchanged(stored), event: { ...stored, redeliveries: TIMES } });
  });

  it('is verified by a signature', () => {
    const { change } = again(incoming(), { verified: false });
    expect(change).toMatchObject({ isVerified: true, replacement: null, event: { verified: true } });
  });

  it('is kept beside the first when its bytes differ', () => {
    const event = incoming({ body: 'other' });
    const { acceptance, change } = again(event);
    expect(acceptance.conflict).toBe(true);
    expect(change).toMatchObject({
      beside: event.body,
      replacement: null,
      event: { conflicts: TIMES, body: stored.body },
    });
  });

  it('leaves no bytes beside one that was erased', () => {
    const { acceptance, change } = again(incoming({ body: 'other' }), { ...invalid, erased: true });
    expect(acceptance.conflict).toBe(true);
    expect(change).toMatchObject({ beside: new Uint8Array(), event: { conflicts: TIMES } });
  });

  it('replaces an invalid one, whose body is kept beside it; both entities may move on', () => {
    const event = { ...incoming({ body: 'other' }), receivedAt: AT };
    const { acceptance, change } = again(event, invalid);
    expect(acceptance.replaced).toBe(true);
    expect(change).toMatchObject({
      beside: stored.body,
      replacement: event,
      event: { conflicts: TIMES, invalid: false },
    });
    expect(change.left).toEqual([
      { endpoint: 'default', entity: 'before' },
      { endpoint: 'default', entity: event.entity },
    ]);
  });

  it('keeps nothing beside itself when it replaces the same bytes', () => {
    expect(again(incoming(), invalid).change).toMatchObject({ beside: null, event: { conflicts: null } });
  });
});

it('deliveries that one transaction accepts change what they change in one transaction each', () => {
  interface Row extends KnownEvent {
    readonly beside: Uint8Array | null;
    readonly trace: string | undefined;
  }
  const saved = (row: Row, { event, beside, replacement, isVerified }: DeliveredAgain): Row => {
    const { redeliveries, conflicts } = event;
    const counted = {
      ...row,
      redeliveries,
      conflicts,
      beside: beside ?? row.beside,
      verified: row.verified || isVerified,
    };
    if (replacement === null) return counted;
    const { entity, verified, body, trace = row.trace } = replacement;
    const { state, deadReason } = firstStateOf(replacement);
    return { ...counted, entity, verified, body, hash: null, state, invalid: deadReason === 'invalid', trace };
  };
  const flag = fc.boolean();
  const known = fc.record({
    state: fc.constantFrom(...eventStates),
    invalid: flag,
    verified: flag,
    erased: flag,
    body: fc.constantFrom(Buffer.from('a'), null),
  });
  const delivery = fc.record({
    valid: flag,
    verified: flag,
    body: fc.constantFrom('a', 'b', 'c'),
    entity: fc.constantFrom('one', 'two', null),
    trace: fc.constantFrom('first', 'second', undefined),
    receivedAt: fc.nat(),
  });
  fc.assert(
    fc.property(known, fc.array(delivery, { minLength: 1, maxLength: 5 }), (known, parts) => {
      const before: Row = { ...stored, ...known, beside: null, trace: 'none' };
      const events = parts.map(({ trace, ...rest }) => incoming({ ...rest, ...(trace !== undefined && { trace }) }));
      let together = unchanged(before);
      let alone = before;
      const left = new Set<string | null>();
      for (const event of events) {
        const one = planAgain(unchanged(alone), event);
        const { acceptance, change } = planAgain(together, event);
        expect(acceptance).toEqual(one.acceptance);
        for (const { entity } of one.change.left) left.add(entity);
        alone = saved(alone, one.change);
        together = change;
      }
      expect(saved(before, together)).toEqual(alone);
      expect(new Set(together.left.map(({ entity }) => entity))).toEqual(left);
    }),
  );
});

describe('the same bytes', () => {
  it.each(eventStates)('change nothing in an event that is %s', (state) => {
    expect(resolve({ ...valid, state }, { ...signed, sameBytes: true })).toBe('same');
  });

  it.each(eventStates)('with a signature make an unverified event verified that is %s', (state) => {
    expect(resolve({ ...valid, state, verified: false }, { ...signed, sameBytes: true })).toBe('verify');
  });

  it('that are valid by now replace an invalid event, but not for an unverified delivery', () => {
    expect(resolve(invalid, { ...signed, sameBytes: true })).toBe('replace');
    expect(resolve(invalid, { valid: true, verified: false, sameBytes: true })).toBe('same');
  });
});

describe('other bytes', () => {
  it.each(eventStates)('are a conflict with a verified event that is %s', (state) => {
    expect(resolve({ ...valid, state }, signed)).toBe('conflict');
    expect(resolve({ ...valid, state }, { ...signed, verified: false })).toBe('conflict');
  });

  it.each<[EventState, Resolution]>([
    ['pending', 'replace'],
    ['dead', 'replace'],
    ['ignored', 'replace'],
    ['discarded', 'replace'],
    ['processing', 'conflict'],
    ['processed', 'conflict'],
  ])('that are verified meet an unverified event that is %s: %s', (state, resolution) => {
    expect(resolve({ ...valid, state, verified: false }, signed)).toBe(resolution);
  });

  it('that are valid replace an invalid event', () => {
    expect(resolve(invalid, signed)).toBe('replace');
    expect(resolve({ ...invalid, verified: false }, { ...signed, verified: false })).toBe('replace');
  });

  it('that are unverified never replace a verified event, not even an invalid one', () => {
    expect(resolve(invalid, { ...signed, verified: false })).toBe('conflict');
  });

  it('that are invalid too are a conflict with an invalid event, unless they gain trust', () => {
    expect(resolve(invalid, { ...signed, valid: false })).toBe('conflict');
    expect(resolve({ ...invalid, verified: false }, { ...signed, valid: false })).toBe('replace');
  });
});

describe('what was erased stays away:', () => {
  it('a body that would take its place is a conflict, or the same that was erased', () => {
    expect(resolve({ ...invalid, erased: true }, signed)).toBe('conflict');
    expect(resolve({ ...invalid, erased: true }, { ...signed, sameBytes: true })).toBe('same');
    expect(resolve({ ...valid, verified: false, erased: true }, signed)).toBe('conflict');
  });

  it('anything else is decided as ever', () => {
    const flag = fc.boolean();
    const known = fc.record({ state: fc.constantFrom(...eventStates), invalid: flag, verified: flag });
    const arrived = fc.record({ valid: flag, verified: flag, sameBytes: flag });
    fc.assert(
      fc.property(known, arrived, (known, arrived) => {
        const usual = resolve(known, arrived);
        const expected = usual !== 'replace' ? usual : arrived.sameBytes ? 'same' : 'conflict';
        expect(resolve({ ...known, erased: true }, arrived)).toBe(expected);
      }),
    );
  });
});

it('nothing unverified ever takes the place of what was verified', () => {
  const flag = fc.boolean();
  const known = fc.record({ state: fc.constantFrom(...eventStates), invalid: flag, verified: fc.constant(true) });
  const arrived = fc.record({ valid: flag, verified: fc.constant(false), sameBytes: flag });
  fc.assert(fc.property(known, arrived, (known, arrived) => resolve(known, arrived) !== 'replace'));
});

it('of any number of times the first, the last and the last twenty are kept', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 60 }), (all) => {
      const times = all.reduce<Times | null>(oneMore, null);
      expect(times).toEqual({ count: all.length, first: all[0], last: all.at(-1), recent: all.slice(-20) });
    }),
  );
});

it('an inbox shows them as dates', () => {
  expect(occurrencesOf(null)).toEqual({ count: 0, firstAt: null, lastAt: null, recent: [] });
  expect(occurrencesOf({ count: 2, first: 1, last: 2, recent: [1, 2] })).toEqual({
    count: 2,
    firstAt: new Date(1),
    lastAt: new Date(2),
    recent: [new Date(1), new Date(2)],
  });
});

it('a tombstone knows the bytes it has lost as well as the bytes themselves', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (stored, arrived) => {
      const isSame = Buffer.compare(stored, arrived) === 0;
      expect(hasSameBody({ body: stored, hash: null }, arrived)).toBe(isSame);
      expect(hasSameBody({ body: null, hash: hashOf(stored) }, arrived)).toBe(isSame);
      expect(hasSameBody({ body: null, hash: null }, arrived)).toBe(false);
    }),
  );
});
