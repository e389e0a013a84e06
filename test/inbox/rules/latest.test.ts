import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Budget } from '../../../src/inbox/rules/budget.ts';
import { othersOf, OTHERS_TO_LOAD, planBurst, quietOf } from '../../../src/inbox/rules/latest.ts';
import type { Burst, WaitingEvent } from '../../../src/inbox/rules/store.ts';
import { dueEvent } from './plan-events.ts';

const NOW = 100_000;
const waiting = (seq: number, parts: Partial<WaitingEvent> = {}): WaitingEvent => {
  return { seq, bytes: 10, attempts: 0, receivedAt: NOW - 1_000 + seq, ...parts };
};

function burst(others: readonly WaitingEvent[], newest: Partial<Burst['newest']> = {}): Burst {
  const event = { ...dueEvent(500, { entity: 'o' }), ...waiting(500), id: 'evt_500', dueAt: NOW - 1, ...newest };
  return { newest: event, ...othersOf(others, others.at(-1)), isNext: true };
}

it('supersedes within its budget, and the oldest of a long burst last', () => {
  const plan = (others: readonly WaitingEvent[], bytes?: number) =>
    planBurst(dueEvent(1), burst(others), { quietMs: 0, maxMs: 0 }, { now: NOW, ordered: true }, new Budget(bytes));
  const many = Array.from({ length: OTHERS_TO_LOAD }, (_, n) => waiting(400 - n));
  expect(plan(many.slice(1))).toMatchObject({ kind: 'supersede', older: { length: 200 }, more: false });
  const long = plan(many);
  expect(long).toMatchObject({ kind: 'supersede', older: { length: 200 }, more: true, runsNewest: false });
  expect(long.kind === 'supersede' && long.older.some(({ seq }) => seq === 200)).toBe(false);
  expect(plan(many.slice(1), 25)).toMatchObject({ older: { length: 3 }, more: true, runsNewest: false });
});

it('never waits longer than quietMs after the newest, nor than maxMs after the oldest', () => {
  const event = fc.record({ attempts: fc.nat(1), receivedAt: fc.integer({ min: NOW - 9_000, max: NOW + 9_000 }) });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 5 }),
      event,
      fc.nat(3_000),
      fc.nat(6_000),
      (events, last, quietMs, more) => {
        const others = events.map((parts, n) => waiting(n + 1, parts));
        const quiet = { quietMs, maxMs: quietMs + more };
        const step = planBurst(dueEvent(1), burst(others, last), quiet, { now: NOW, ordered: true }, new Budget());
        if (step.kind !== 'wait') return;
        expect(step.until).toBeGreaterThan(NOW);
        expect(step.until).toBeLessThanOrEqual(NOW + 2 * quietMs);
        expect(step.until).toBeLessThanOrEqual(last.receivedAt + quietMs);
        const untried = events.filter(({ attempts }) => attempts === 0);
        for (const { receivedAt } of untried) expect(step.until).toBeLessThanOrEqual(receivedAt + quiet.maxMs);
        expect(last.attempts).toBe(0);
      },
    ),
  );
});

it('a type with a name of Object.prototype has no option', () => {
  expect(quietOf({ 'order.ready': { quietMs: 0, maxMs: 0 } }, 'constructor')).toBeNull();
  expect(quietOf({ '*': { quietMs: 0, maxMs: 0 }, 'order.ready': null }, 'order.ready')).toBeNull();
});
