import { expect, it } from 'vitest';
import type { PruneCriteria } from '../../../src/inbox/rules/pruning.ts';
import { Budget } from '../../../src/inbox/rules/budget.ts';
import { isMeant, isPrunable, planPrune, statesToPrune, type SettledEvent } from '../../../src/inbox/rules/pruning.ts';
import type { PrunableState } from '../../../src/inbox/event.ts';

const BEFORE = 1_000;
const old: SettledEvent = { state: 'processed', settledAt: BEFORE - 1, bytes: 2 };
const found = [1, 2, 3, 4].map((seq) => ({ seq, state: 'processed' as const }));

it.each<[PruneCriteria['states'], readonly PrunableState[]]>([
  [undefined, ['processed']],
  [
    ['ignored', 'processed'],
    ['processed', 'ignored'],
  ],
  [
    ['dead', 'discarded', 'ignored', 'processed'],
    ['processed', 'dead', 'ignored', 'discarded'],
  ],
  [[], []],
])('asked for the states %j it goes through %j', (states, expected) => {
  expect(statesToPrune(states === undefined ? {} : { states })).toEqual(expected);
});

it.each<[Pick<PruneCriteria, 'types' | 'endpoint'>, type: string | null, expected: boolean]>([
  [{}, 'order.created', true],
  [{}, null, true],
  [{ types: ['order.created'] }, 'order.created', true],
  [{ types: ['order.created'] }, 'order.ready', false],
  [{ types: ['order.created'] }, null, false],
  [{ types: [] }, 'order.created', false],
  [{ endpoint: 'default' }, 'order.created', true],
  [{ endpoint: 'shop-b' }, 'order.created', false],
  [{ endpoint: 'default', types: ['order.ready'] }, 'order.created', false],
])('the criteria %j mean an event of the type %j: %s', (criteria, type, expected) => {
  expect(isMeant(criteria, { type, endpoint: 'default' })).toBe(expected);
});

it.each<[string, Partial<SettledEvent>, boolean]>([
  ['that was settled before', {}, true],
  ['that was settled just then', { settledAt: BEFORE }, false],
  ['that has been rerun', { state: 'pending', settledAt: null }, false],
  ['that is in another state', { state: 'dead' }, false],
  ['that is a tombstone', { bytes: null }, false],
  ['whose body is empty', { bytes: 0 }, true],
])('an event %s may be pruned: %s', (_, changes, expected) => {
  expect(isPrunable({ ...old, ...changes }, 'processed', BEFORE)).toBe(expected);
});

it('what has changed since it was found is passed over', () => {
  const settled = new Map([
    [4, old],
    [2, { ...old, state: 'pending' as const }],
    [1, old],
  ]);
  expect(planPrune(found, settled, BEFORE)).toEqual({ prune: [1, 4], worked: 4 });
});

it('a transaction ends when its budget is spent, and says how far it has come', () => {
  const settled = new Map(found.map(({ seq }) => [seq, seq === 1 ? { ...old, bytes: null } : old]));
  expect(planPrune(found, settled, BEFORE, new Budget(3))).toEqual({ prune: [2, 3], worked: 3 });
  expect(planPrune(found, settled, BEFORE, new Budget(1))).toEqual({ prune: [2], worked: 2 });
});
