import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClaimPlan, planOne } from '../../../src/inbox/rules/claim.ts';
import type { ClaimState, DueEvent, EventToRun } from '../../../src/inbox/rules/store.ts';
import { EVERYTHING, type ClaimRequest, type Scope } from '../../../src/inbox/work.ts';
import { PRESENT_MS } from '../../../src/inbox/rules/processors.ts';
import { dueEvent } from './plan-events.ts';

const NOW = 2 * PRESENT_MS;
const REQUEST: ClaimRequest = { ...EVERYTHING, now: NOW, leaseMs: 1_000, ordered: true };
const STATE: ClaimState = { pauses: [], isSuspectRunning: false };
const planOf = (limit = 10, request: Partial<ClaimRequest> = {}, state: Partial<ClaimState> = {}) =>
  new ClaimPlan({ ...REQUEST, ...request }, limit, { ...STATE, ...state });
const round = (plan: ClaimPlan, events: readonly DueEvent[]) => plan.choose({ events, isAll: false });
const seqsOf = ({ claimed, parked }: ReturnType<ClaimPlan['choose']>) => [claimed.map(({ seq }) => seq), parked];

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
    ['has an older event that holds it back', { front: { seq: 9, created: { ms: 0, ns: 0 } } }, true],
    ['has an event of the same instant that arrived earlier', { front: { seq: 4, created: { ms: 5, ns: 0 } } }, true],
    ['has an event that is older by a nanosecond', { front: { seq: 9, created: { ms: 4, ns: 999_999 } } }, true],
    ['has this event as its front', { front: { seq: 5, created: { ms: 5, ns: 0 } } }, false],
    ['has a newer front, because this event yields', { front: { seq: 6, created: { ms: 6, ns: 0 } } }, false],
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
      expect(round(plan, due).parked).toHaveLength(parked);
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
        fc.integer({ min: 1, max: 12 }).map((seq) => ({ seq, created: { ms: seq, ns: 0 } })),
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
          const { claimed: claim, parked: park } = round(
            plan,
            due.map((parts) => dueEvent(parts.seq, parts)),
          );
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
    planOne(found, { ...scope, ordered }, []);

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
    expect(planOne(event, { ...EVERYTHING, ordered: true }, [pause])).toBe('settled');
    expect(planOne(event, { ...EVERYTHING, ordered: true }, [{ ...pause, endpoint: 'b' }])).toBe('run');
  });
});
