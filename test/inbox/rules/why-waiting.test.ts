import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { TAKER_MS } from '../../../src/inbox/rules/takers.ts';
import { isBefore } from '../../../src/inbox/rules/entity-order.ts';
import { eventStates } from '../../../src/inbox/state.ts';
import { COUNTED_BEHIND, planWaits, waitsOf, type WaitingEvent } from '../../../src/inbox/rules/why-waiting.ts';
import { summary } from '../../ops/page/stub-visit.ts';

const NOW = 2 * TAKER_MS;
const IDLE = { pauses: [], isSuspectRunning: false };
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
  lastSeen: fc.constantFrom(null, NOW - TAKER_MS, NOW - TAKER_MS + 1),
  running: fc.constantFrom(undefined, { seq: 11, claimedAt: NOW - 2 }),
  front: fc.constantFrom(undefined, front(4, 0), front(4, 2)),
});
const states = fc.record({
  pauses: fc.constantFrom([], [{ endpoint: 'a', type: 'order.ready', since: new Date(0), actor: 'ada', reason: null }]),
  isSuspectRunning: fc.boolean(),
});

it('an event is behind another one only if that comes first, a processor is there and nothing is paused', () => {
  fc.assert(
    fc.property(events, states, (event, state) => {
      const [why] = planWaits([event], state, NOW).reasons;
      const isPaused = state.pauses.some(({ endpoint, type }) => endpoint === event.endpoint && type === event.type);
      const isHandled = event.lastSeen !== null && event.lastSeen > NOW - TAKER_MS;
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
      const counts = (count: number) => Array.from({ length: count }, () => ({ all: 3, handled: 2 }));
      const shown = [summary({ seq: 4 }), summary({ seq: 11 })];
      const plan = planWaits(all, state, NOW);
      const alone = all.flatMap((event) => {
        const own = planWaits([event], state, NOW);
        return waitsOf(own, counts(own.places.length), shown);
      });
      expect(waitsOf(plan, counts(plan.places.length), shown)).toEqual(alone);
      expect(new Set(plan.places.map((place) => JSON.stringify(place))).size).toBe(plan.places.length);
      expect(new Set(plan.blockers).size).toBe(plan.blockers.length);
    }),
  );
});

it('counting the events behind another one has an end', () => {
  const plan = planOf(waiting({ front: front(4, 0) }));
  expect(plan).toMatchObject({ places: [{ entity: 'order', after: { seq: 4 } }], blockers: [4] });
  const [wait] = waitsOf(plan, [{ all: COUNTED_BEHIND, handled: COUNTED_BEHIND }], [summary({ seq: 4 })]);
  expect(wait).toMatchObject({ reason: 'behind', blocker: { waiting: { count: 1_000, more: true } } });
});

it('an event that no processor has looked at does not wait for a newer one', () => {
  expect(planOf(waiting({ seq: 9, front: front(4, 2) })).reasons).toMatchObject([{ reason: 'next' }]);
});

it('the wait of an event whose blocker is gone by now is unknown', () => {
  expect(waitsOf(planOf(waiting({ running: { seq: 4, claimedAt: 1 } })), [{ all: 1, handled: 1 }], [])).toEqual([null]);
});

it('a suspect waits only while another one runs, and nothing waits behind an event that yields', () => {
  const suspect = waiting({ crashes: 1, yields: true });
  expect(planOf(suspect, { ...IDLE, isSuspectRunning: true })).toMatchObject({
    reasons: [{ reason: 'suspect', waiting: null }],
    places: [],
  });
  expect(planOf(suspect).reasons).toMatchObject([{ reason: 'next' }]);
});
