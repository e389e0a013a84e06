import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget, withinBudget } from '../../../src/inbox/rules/budget.ts';
import {
  ClaimPlan,
  planOne,
  leasesOf,
  planLeases,
  Room,
  arrivedBy,
  latestTime,
  movedBack,
  setBackBy,
  TOLERATED_MS,
} from '../../../src/inbox/rules/claim.ts';
import { PRESENT_MS } from '../../../src/inbox/rules/processors.ts';
import type {
  ClaimState,
  DueEvent,
  EventToRun,
  Change,
  ExpiredEvent,
  LeasesToEnd,
} from '../../../src/inbox/rules/store.ts';
import { EVERYTHING, type ClaimRequest, type Scope } from '../../../src/inbox/work.ts';
import { dueEvent, expiredEvent, heldEvent } from './plan-events.ts';

const NOW = 2 * PRESENT_MS;
const REQUEST: ClaimRequest = { ...EVERYTHING, now: NOW, leaseMs: 1_000, ordered: true };
const STATE: ClaimState = { pauses: [], isSuspectRunning: false };
const planOf = (limit = 10, request: Partial<ClaimRequest> = {}, state: Partial<ClaimState> = {}) =>
  new ClaimPlan({ ...REQUEST, ...request }, limit, { ...STATE, ...state });
const round = (plan: ClaimPlan, events: readonly DueEvent[]) => plan.choose({ events, isAll: false });
const parkedIn = ({ changes }: ReturnType<ClaimPlan['choose']>) =>
  changes.flatMap((change) => (change.kind === 'parked' ? change.seqs : []));
const seqsOf = (choice: ReturnType<ClaimPlan['choose']>) => [choice.claimed.map(({ seq }) => seq), parkedIn(choice)];

describe('a claim', () => {
  it('takes as many due events as it may, in their order', () => {
    const plan = planOf(2);
    expect(
      seqsOf(
        round(
          plan,
          [3, 1, 2].map((seq) => dueEvent(seq)),
        ),
      ),
    ).toEqual([[3, 1], []]);
    expect(plan.toLoad()).toBeNull();
  });

  it('asks for the types that it has room for, and for events that no running suspect forbids', () => {
    expect(planOf(3, { types: ['a', 'b'], room: { b: 0 } }).toLoad()).toMatchObject({
      types: ['a'],
      except: [],
      handles: ['a', 'b'],
      includeSuspects: true,
      limit: 3,
      handledSince: NOW - PRESENT_MS,
    });
    const asked = planOf(3, { handledSince: 77 }, { isSuspectRunning: true }).toLoad();
    expect(asked).toMatchObject({ types: '*', includeSuspects: false, handledSince: 77 });
  });

  it.each<[string, Partial<DueEvent>, boolean]>([
    ['has a lease', { hasLease: true }, true],
    [
      'has an older event that holds it back',
      { front: { type: 'order.created', seq: 9, created: { ms: 0, ns: 0 } } },
      true,
    ],
    [
      'has an event of the same instant that arrived earlier',
      { front: { type: 'order.created', seq: 4, created: { ms: 5, ns: 0 } } },
      true,
    ],
    [
      'has an event that is older by a nanosecond',
      { front: { type: 'order.created', seq: 9, created: { ms: 4, ns: 999_999 } } },
      true,
    ],
    ['has this event as its front', { front: { type: 'order.created', seq: 5, created: { ms: 5, ns: 0 } } }, false],
    [
      'has a newer front, because this event yields',
      { front: { type: 'order.created', seq: 6, created: { ms: 6, ns: 0 } } },
      false,
    ],
    ['has no front', {}, false],
  ])('whose entity %s: an event waits: %s', (_, parts, waits) => {
    const event = dueEvent(5, { entity: 'order', ...parts });
    expect(seqsOf(round(planOf(), [event]))).toEqual(waits ? [[], [5]] : [[5], []]);
    expect(seqsOf(round(planOf(10, { ordered: false }), [event]))).toEqual([[5], []]);
    expect(seqsOf(round(planOf(), [{ ...event, entity: null }]))).toEqual([[5], []]);
  });

  it('takes one event of an entity, and the others of an endpoint with an entity of that name', () => {
    const due = [
      dueEvent(1, { entity: 'order' }),
      dueEvent(2, { entity: 'order' }),
      dueEvent(3, { entity: 'order', endpoint: 'b' }),
    ];
    expect(seqsOf(round(planOf(), due))).toEqual([[1, 3], [2]]);
  });

  it('takes one suspect at a time, and none while one runs', () => {
    const due = [dueEvent(1, { crashes: 1 }), dueEvent(2, { crashes: 2 }), dueEvent(3)];
    const plan = planOf();
    expect(seqsOf(round(plan, due))).toEqual([[1, 3], []]);
    expect(plan.toLoad()).toMatchObject({ includeSuspects: false });
    expect(seqsOf(round(planOf(10, {}, { isSuspectRunning: true }), due))).toEqual([[3], []]);
  });

  it('takes no more of a type than it has room for, in all its rounds', () => {
    const plan = planOf(10, { room: { 'order.created': 1 } });
    expect(seqsOf(round(plan, [dueEvent(1), dueEvent(2), dueEvent(3, { type: 'x' })]))).toEqual([[1, 3], []]);
    expect(plan.toLoad()).toMatchObject({ types: '*', except: ['order.created'] });
  });

  it('looks again where it parked events, further than it has parked, and is complete where nothing was due', () => {
    const plan = planOf(1);
    round(
      plan,
      [1, 2, 3].map((seq) => dueEvent(seq, { entity: 'order', hasLease: true })),
    );
    expect(plan.toLoad()).toMatchObject({ limit: 3 });
    round(plan, []);
    expect([plan.toLoad(), plan.isCutShort]).toEqual([null, false]);
  });

  it('is complete once all due events were looked at', () => {
    const plan = planOf();
    plan.choose({ events: [dueEvent(1)], isAll: true });
    expect(plan.toLoad()).toBeNull();
  });

  it('is cut short after two hundred parked events, or a mebibyte of their bodies', () => {
    const waiting = (count: number, bytes: number) =>
      Array.from({ length: count }, (_, seq) => dueEvent(seq, { entity: 'order', hasLease: true, bytes }));
    for (const [due, parked] of [
      [waiting(199, 1), 199],
      [waiting(250, 1), 250],
      [waiting(3, 600 * 1024), 2],
    ] as const) {
      const plan = planOf(1_000);
      expect(parkedIn(round(plan, due))).toHaveLength(parked);
      expect(plan.isCutShort).toBe(parked !== 199);
    }
  });

  it('keeps its bounds whatever is due', () => {
    const event = fc.record({
      seq: fc.integer({ min: 1, max: 12 }),
      entity: fc.constantFrom(null, 'a', 'b'),
      type: fc.constantFrom('x', 'y'),
      crashes: fc.constantFrom(0, 0, 1),
      hasLease: fc.constantFrom(false, false, true),
      front: fc.option(
        fc.integer({ min: 1, max: 12 }).map((seq) => ({ type: 'x', seq, created: { ms: seq, ns: 0 } })),
        {
          nil: undefined,
        },
      ),
    });
    const rounds = fc.array(fc.uniqueArray(event, { selector: ({ seq }) => seq, maxLength: 12 }), { maxLength: 4 });
    fc.assert(
      fc.property(rounds, fc.nat(8), fc.nat(3), fc.boolean(), (rounds, limit, room, isSuspectRunning) => {
        const plan = planOf(limit, { room: { x: room } }, { isSuspectRunning });
        const claimed: DueEvent[] = [];
        for (const due of rounds) {
          if (plan.toLoad() === null) break;
          const choice = round(
            plan,
            due.map((parts) => dueEvent(parts.seq, parts)),
          );
          const [claim, park] = [choice.claimed, parkedIn(choice)];
          const queues = claim.flatMap(({ entity }) => entity ?? []);
          expect(new Set(queues).size).toBe(queues.length);
          expect(claim.filter(({ hasLease, entity }) => hasLease && entity !== null)).toEqual([]);
          expect(claim.filter(({ seq }) => park.includes(seq))).toEqual([]);
          claimed.push(...claim);
        }
        expect(claimed.length).toBeLessThanOrEqual(limit);
        expect(claimed.filter(({ type }) => type === 'x').length).toBeLessThanOrEqual(room);
        expect(claimed.filter(({ crashes }) => crashes > 0).length).toBeLessThanOrEqual(isSuspectRunning ? 0 : 1);
      }),
    );
  });
});

describe('one event', () => {
  const event: EventToRun = {
    ...dueEvent(1, { entity: 'order', crashes: 2 }),
    state: 'pending',
    isInvalid: false,
    isPruned: false,
  };
  const one = (found: EventToRun | undefined, scope: Scope = EVERYTHING, ordered = true) =>
    planOne(found, { ...scope, ordered, now: 0 }, []);

  it.each<[string, EventToRun | undefined, Scope, ReturnType<typeof planOne>]>([
    ['that does not exist', undefined, EVERYTHING, 'settled'],
    ['that waits, whatever its history', event, EVERYTHING, 'run'],
    ['that is dead', { ...event, state: 'dead' }, EVERYTHING, 'run'],
    ['that was ignored', { ...event, state: 'ignored' }, EVERYTHING, 'run'],
    ['that was discarded', { ...event, state: 'discarded' }, EVERYTHING, 'settled'],
    ['that is invalid', { ...event, state: 'dead', isInvalid: true }, EVERYTHING, 'settled'],
    ['of which a tombstone is left', { ...event, state: 'dead', isPruned: true }, EVERYTHING, 'settled'],
    ['that was processed', { ...event, state: 'processed' }, EVERYTHING, 'settled'],
    ['that runs', { ...event, state: 'processing' }, EVERYTHING, 'busy'],
    ['of another type', event, { endpoints: '*', types: ['order.ready'] }, 'settled'],
    ['of another endpoint', event, { endpoints: ['shop-b'], types: '*' }, 'settled'],
    ['of a type and endpoint that are named', event, { endpoints: ['default'], types: ['order.created'] }, 'run'],
  ])('%s', (_, found, scope, expected) => {
    expect(one(found, scope)).toBe(expected);
  });

  it('is busy while another one of its entity runs, unless order does not matter', () => {
    const leased = { ...event, hasLease: true };
    expect([one(leased), one(leased, EVERYTHING, false), one({ ...leased, entity: null })]).toEqual([
      'busy',
      'run',
      'run',
    ]);
  });

  it('of a paused type is stored, and not handled', () => {
    const pause = { endpoint: 'default', type: 'order.created', since: new Date(0), actor: 'ada', reason: null };
    const until = new Date(10);
    for (const [now, decision] of [
      [9, 'busy'],
      [10, 'run'],
    ] as const)
      expect(planOne(event, { ...EVERYTHING, ordered: true, now }, [{ ...pause, until }])).toBe(decision);
    expect(planOne(event, { ...EVERYTHING, ordered: true, now: 0 }, [pause])).toBe('settled');
    expect(planOne(event, { ...EVERYTHING, ordered: true, now: 0 }, [{ ...pause, endpoint: 'b' }])).toBe('run');
  });
});

const AT_TEN: ClaimRequest = { ...EVERYTHING, now: 10_000, leaseMs: 1_000, ordered: true };
const NONE: LeasesToEnd = { lost: [], crashed: [], expired: [] };
const plan = (expired: readonly ExpiredEvent[], request = {}) =>
  planLeases({ ...NONE, expired }, { ...AT_TEN, ...request });
const endings = (changes: readonly Change[]) =>
  changes.flatMap((change) =>
    change.kind === 'attempt ended' ? [[change.event.seq, change.ending.state, change.ending.outcome]] : [],
  );

it('a lease that expired is a crash, and the third one is the last', () => {
  const { changes, crashed, more } = plan([0, 1, 2].map((crashes) => expiredEvent(crashes + 1, { crashes })));
  expect(endings(changes)).toEqual([
    [1, 'pending', 'crashed'],
    [2, 'pending', 'crashed'],
    [3, 'dead', 'crashed'],
  ]);
  expect(crashed.map(({ id, deadReason, dueAt }) => [id, deadReason, dueAt])).toEqual([
    ['evt_1', null, 10_000],
    ['evt_2', null, 10_000],
    ['evt_3', 'crashed', null],
  ]);
  expect(more).toBe(false);
});

it('carries the number of its claim, so that a lost answer can be reported later', () => {
  const numbered = plan([expiredEvent(1)], { number: 5 }).changes[0];
  expect([numbered, plan([expiredEvent(1)]).changes[0]]).toMatchObject([{ foundBy: 5 }, { foundBy: 0 }]);
});

it('a processor renews its own expired lease, under its own fence only', () => {
  const holds = [
    { seq: 1, fence: 1 },
    { seq: 2, fence: 9 },
  ];
  const { changes, crashed } = plan([expiredEvent(1), expiredEvent(2)], { holds });
  expect(changes[0]).toMatchObject({ kind: 'lease renewed', lease: { seq: 1, fence: 1 }, until: 11_000 });
  expect(endings(changes)).toEqual([[2, 'pending', 'crashed']]);
  expect(crashed.map(({ id }) => id)).toEqual(['evt_2']);
});

it('a processed event only loses its lease, and a killed stop is no crash', () => {
  const { changes, crashed } = plan([
    expiredEvent(1, { isProcessed: true }),
    expiredEvent(2, { isClosing: true, crashes: 2 }),
    expiredEvent(3, { hasEffect: true }),
  ]);
  expect(changes.filter(({ kind }) => kind === 'lease ended')).toEqual([{ kind: 'lease ended', seq: 1 }]);
  expect(endings(changes)).toEqual([
    [2, 'pending', 'interrupted'],
    [3, 'dead', 'failed'],
  ]);
  expect(crashed.map(({ id, wasClosing }) => [id, wasClosing])).toEqual([
    ['evt_2', true],
    ['evt_3', undefined],
  ]);
});

it.each([
  ['as of now', {}, 10_000],
  ['as of when this process could last write', { expiredBy: 4_000 }, 4_000],
  ['but never later than now', { expiredBy: 12_000 }, 10_000],
])('leases are judged %s', (_, request, expiredBy) => {
  expect(leasesOf({ ...AT_TEN, ...request }).expiredBy).toBe(expiredBy);
});

it('stops after a mebibyte of bodies, but not before the first event', () => {
  const large = 2 * 1024 * 1024;
  const { changes, more } = plan([expiredEvent(1, { bytes: large }), expiredEvent(2)]);
  expect([endings(changes).length, more]).toEqual([1, true]);
  const next = {
    front: { type: 'order.created', seq: 9, created: { ms: 9, ns: 0 }, bytes: large },
    passed: [],
    yielding: [],
  };
  const one = plan([expiredEvent(1, { next, holdsBack: false }), expiredEvent(2)]);
  expect([endings(one.changes).length, one.more]).toEqual([1, true]);
});

it('a full batch may not be all', () => {
  const { limit } = leasesOf(AT_TEN);
  expect(plan(Array.from({ length: limit }, (_, seq) => expiredEvent(seq))).more).toBe(true);
  expect(plan(Array.from({ length: limit - 1 }, (_, seq) => expiredEvent(seq))).more).toBe(false);
});

it('an event that a lost claim leased is pending again, and counts as no crash', () => {
  const found = {
    endpoint: 'default',
    id: 'evt_9',
    type: 'order.created',
    attempt: 1,
    deadReason: null,
    dueAt: 1,
    error: null,
  };
  const { changes, crashed } = planLeases(
    { lost: [heldEvent({ seq: 1 }), heldEvent({ seq: 2 })], crashed: [found], expired: [] },
    { ...AT_TEN, lostClaims: [7, 8] },
  );
  expect(leasesOf({ ...AT_TEN, lostClaims: [7, 8] }).lostClaims).toEqual([7, 8]);
  expect(changes).toMatchObject(
    [1, 2].map((seq) => ({
      kind: 'attempt ended',
      event: { seq },
      ending: { state: 'pending', dueAt: 10_000, outcome: 'interrupted', crashed: 0, failed: 0, counted: null },
      ranMs: null,
    })),
  );
  expect(crashed).toEqual([found]);
});

it('a lost lease that has expired too ends once, and counts as no crash', () => {
  const { changes, crashed } = planLeases(
    { lost: [heldEvent({ seq: 1, fence: 1 })], crashed: [], expired: [expiredEvent(1), expiredEvent(2)] },
    { ...AT_TEN, lostClaims: [7] },
  );
  expect(endings(changes)).toEqual([
    [1, 'pending', 'interrupted'],
    [2, 'pending', 'crashed'],
  ]);
  expect(crashed.map(({ id }) => id)).toEqual(['evt_2']);
});

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

const HOUR = 3_600_000;

it('is remembered once a second at most, and never goes back', () => {
  expect(latestTime(0, 12_345)).toBe(12_000);
  expect(latestTime(12_000, 12_999)).toBe(12_000);
  expect(latestTime(12_000, 5_000)).toBe(12_000);
});

it.each([
  [HOUR, HOUR, 0],
  [HOUR, HOUR - TOLERATED_MS, 0],
  [HOUR, HOUR - TOLERATED_MS - 1, TOLERATED_MS + 1],
  [HOUR, 2 * HOUR, 0],
])('a clock that has shown %i and shows %i was set back by %i', (latest, now, back) => {
  expect(setBackBy(latest, now)).toBe(back);
});

it.each([
  ['lasts as long as it had left', 2 * HOUR + 500, HOUR, HOUR, HOUR + 500],
  ['is not moved to before the earliest', 2 * HOUR, HOUR, HOUR + 15_000, HOUR + 15_000],
  ['stays where it is when it is not in the future', HOUR - 1, HOUR, HOUR, HOUR - 1],
])('what was written before %s', (_, time, back, earliest, expected) => {
  expect(movedBack(time, back, earliest)).toBe(expected);
});

it('a time is never moved forward, nor before the earliest', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), (time, back, earliest) => {
      const moved = movedBack(time, back, earliest);
      expect(moved).toBeLessThanOrEqual(time);
      expect(moved).toBeGreaterThanOrEqual(Math.min(time, earliest));
    }),
  );
});

it('nothing arrives in the future', () => {
  expect(arrivedBy(HOUR, HOUR)).toBe(HOUR);
  expect(arrivedBy(HOUR + TOLERATED_MS, HOUR)).toBe(HOUR + TOLERATED_MS);
  expect(arrivedBy(HOUR + TOLERATED_MS + 1, HOUR)).toBe(HOUR);
});

it('a transaction takes the first events whose bodies fit, and the one that spends its budget', () => {
  const event = fc.record({ bytes: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(event), fc.integer({ min: 1, max: 50 }), (events, most) => {
      const taken = withinBudget(events, new Budget(most));
      const sum = (some: readonly { bytes: number }[]) => some.reduce((bytes, each) => bytes + each.bytes, 0);
      expect(taken).toEqual(events.slice(0, taken.length));
      expect(sum(taken.slice(0, -1))).toBeLessThan(most);
      if (taken.length < events.length) expect(sum(taken)).toBeGreaterThanOrEqual(most);
    }),
  );
});
