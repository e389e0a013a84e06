import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { eventStates } from '../../../src/inbox/event.ts';
import { isBefore } from '../../../src/inbox/rules/entity-order.ts';
import { PRESENT_MS } from '../../../src/inbox/rules/processors.ts';
import { COUNTED_BEHIND, planWaits, type WaitingEvent, type WaitState } from '../../../src/inbox/rules/waiting.ts';
import { summary } from '../../ops/page/stub-visit.ts';

const NOW = 2 * PRESENT_MS;
const IDLE = { pauses: [], rates: [], isSuspectRunning: false };
const waiting = (parts: Partial<WaitingEvent> = {}): WaitingEvent => ({
  seq: 5,
  endpoint: 'default',
  entity: 'order',
  type: 'order.ready',
  created: { ms: 5, ns: 1 },
  state: 'pending',
  crashes: 0,
  dueAt: 0,
  claimedAt: null,
  yields: false,
  lastSeen: NOW,
  running: undefined,
  front: undefined,
  ...parts,
});
const front = (seq: number, ns: number) => ({ seq, type: 'order.created', created: { ms: 5, ns } });
const planOf = (event: WaitingEvent, state = IDLE) => planWaits([event], state, NOW);
const waitsOf = (all: readonly WaitingEvent[], state: WaitState = IDLE) => {
  const plan = planWaits(all, state, NOW);
  const counts = plan.places.map(() => ({ all: 3, handled: 2 }));
  return plan.waits(counts, [summary({ seq: 4 }), summary({ seq: 11 })]);
};

const events = fc.record({
  seq: fc.integer({ min: 1, max: 9 }),
  endpoint: fc.constantFrom('a', 'b'),
  entity: fc.constantFrom(null, 'order', 'cart'),
  type: fc.constantFrom('order.ready', 'order.created'),
  created: fc.record({ ms: fc.integer({ min: 4, max: 6 }), ns: fc.integer({ min: 0, max: 2 }) }),
  state: fc.constantFrom(...eventStates),
  crashes: fc.integer({ min: 0, max: 1 }),
  dueAt: fc.constantFrom(NOW - 1, NOW + 1),
  claimedAt: fc.constant(NOW),
  yields: fc.boolean(),
  lastSeen: fc.constantFrom(null, NOW - PRESENT_MS, NOW - PRESENT_MS + 1),
  running: fc.constantFrom(undefined, { seq: 11, claimedAt: NOW - 2 }),
  front: fc.constantFrom(undefined, front(4, 0), front(4, 2)),
});
const states = fc.record({
  pauses: fc.constantFrom([], [{ endpoint: 'a', type: 'order.ready', since: new Date(0), actor: 'ada', reason: null }]),
  rates: fc.constant([]),
  isSuspectRunning: fc.boolean(),
});

it('an event is behind another one only if that comes first, a processor is there and nothing is paused', () => {
  fc.assert(
    fc.property(events, states, (event, state) => {
      const [why] = waitsOf([event], state);
      const isPaused = state.pauses.some(({ endpoint, type }) => endpoint === event.endpoint && type === event.type);
      const isHandled = event.lastSeen !== null && event.lastSeen > NOW - PRESENT_MS;
      const isBehind =
        event.entity !== null &&
        (event.running !== undefined || (event.front !== undefined && isBefore(event.front, event)));
      expect(why?.reason === 'behind').toBe(event.state === 'pending' && !isPaused && isHandled && isBehind);
      expect(why === null).toBe(event.state === 'processed' || event.state === 'dead');
      if (event.state === 'pending' && !isPaused) expect(why?.reason === 'no processor').toBe(!isHandled);
    }),
  );
});

it('why one of many events waits is why it waits alone, and each place is counted once', () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 9 }), states, (all, state) => {
      expect(waitsOf(all, state)).toEqual(all.flatMap((event) => waitsOf([event], state)));
      const { places, blockers } = planWaits(all, state, NOW);
      expect(new Set(places.map((place) => JSON.stringify(place))).size).toBe(places.length);
      expect(new Set(blockers).size).toBe(blockers.length);
    }),
  );
});

it('counting the events behind another one has an end', () => {
  const plan = planOf(waiting({ front: front(4, 0) }));
  expect(plan).toMatchObject({ places: [{ entity: 'order', after: { seq: 4 } }], blockers: [4] });
  const counted = { all: COUNTED_BEHIND, handled: COUNTED_BEHIND };
  const expected = { reason: 'behind', blocker: { waiting: { count: 1_000, more: true } } };
  expect(plan.waits([counted], [summary({ seq: 4 })])).toMatchObject([expected]);
  expect(plan.waits([counted], [])).toEqual([null]);
});

it('an event that no processor has looked at does not wait for a newer one', () => {
  expect(waitsOf([waiting({ seq: 9, front: front(4, 2) })])).toMatchObject([{ reason: 'next' }]);
});

it('a suspect waits only while another one runs, and nothing waits behind an event that yields', () => {
  const suspect = waiting({ crashes: 1, yields: true });
  const none = { count: 0, more: false };
  expect(waitsOf([suspect], { ...IDLE, isSuspectRunning: true })).toEqual([{ reason: 'suspect', waiting: none }]);
  expect(waitsOf([suspect])).toMatchObject([{ reason: 'next', waiting: none }]);
  expect(waitsOf([{ ...suspect, yields: false }])).toMatchObject([{ waiting: { count: 2, more: false } }]);
});
