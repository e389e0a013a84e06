import { expect, it } from 'vitest';
import type { PruneCriteria } from '../../../src/inbox/operator/removal.ts';
import { isMeant, isPrunable, pruneFound, statesToPrune, type SettledEvent } from '../../../src/inbox/rules/pruning.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import type { EventState, PrunableState } from '../../../src/inbox/state.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const BEFORE = 1_000;
const BODY = Buffer.from('{}');
const old: SettledEvent = { state: 'processed', settledAt: BEFORE - 1, body: BODY };
const endless = { add: () => false, isOver: () => false };

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
  ['that is a tombstone', { body: null }, false],
])('an event %s may be pruned: %s', (_, changes, expected) => {
  expect(isPrunable({ ...old, ...changes }, 'processed', BEFORE)).toBe(expected);
});

it('what has changed since it was found is passed over, and what is pruned is counted', () => {
  const states: { readonly [seq: number]: EventState } = { 1: 'processed', 2: 'pending', 4: 'processed' };
  const { engine, of } = scripted({
    settled: (seq: number) => states[seq] && { ...old, state: states[seq] },
    auditCounts: () => ({ pruned: 5 }),
  });
  const found = [1, 2, 3, 4].map((seq) => ({ seq, state: 'processed' as const }));
  expect(atOnce(pruneFound(engine, found, BEFORE, 8, endless))).toEqual({ pruned: 2, worked: 4 });
  expect(of('prune').map(([, seq]) => seq)).toEqual([1, 4]);
  expect(of('pruneErrors', 'forgetConflict')).toHaveLength(4);
  expect(of('recountAuditLine')).toEqual([['recountAuditLine', 8, { pruned: 7 }]]);
});

it('a transaction ends with its slice, and says how far it has come', () => {
  const { engine, of } = scripted({ settled: (seq: number) => (seq === 1 ? undefined : old) });
  const found = [1, 2, 3].map((seq) => ({ seq, state: 'processed' as const }));
  expect(atOnce(pruneFound(engine, found, BEFORE, undefined, sliceOf(2)()))).toEqual({ pruned: 1, worked: 2 });
  expect(of('auditCounts')).toEqual([]);
});
