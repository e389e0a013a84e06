import { expect, it } from 'vitest';
import { giveBackUnheard, releaseRanOut, renewLeases } from '../../../src/inbox/rules/leases.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { EVERYTHING, type ClaimRequest } from '../../../src/inbox/work.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const REQUEST: ClaimRequest = { ...EVERYTHING, now: 10_000, leaseMs: 1_000, ordered: true };

function ranOut(seq: number, crashes = 0) {
  const about = { endpoint: 'default', entity: null, type: 'order.created', created: { ms: 1, ns: 0 } };
  return { seq, fence: 1, ...about, attempt: 1, trigger: 'auto', claimedAt: 0, crashes, bytes: 10 } as const;
}

it('a lease that ran out is a crash, and the third one is the last', () => {
  const { engine, of } = scripted({ ranOut: () => [ranOut(1), ranOut(2, 1), ranOut(3, 2)] });
  expect(atOnce(releaseRanOut(engine, REQUEST, engine.timeSlice()))).toBe(false);
  expect(of('end').map(([, seq, ending]) => [seq, (ending as { state: string }).state])).toEqual([
    [1, 'pending'],
    [2, 'pending'],
    [3, 'dead'],
  ]);
});

it('what the one who claims holds itself is renewed, under its own fence only', () => {
  const { engine, of } = scripted({ ranOut: () => [ranOut(1), ranOut(2)] });
  const holds = [
    { seq: 1, fence: 1 },
    { seq: 2, fence: 9 },
  ];
  atOnce(releaseRanOut(engine, { ...REQUEST, holds }, engine.timeSlice()));
  expect(of('renew')).toMatchObject([['renew', { seq: 1 }, 11_000, false]]);
  expect(of('end').map(([, seq]) => seq)).toEqual([2]);
});

it.each([
  ['as of now', REQUEST, 10_000],
  ['as of when whoever was away could last write', { ...REQUEST, ranOutBy: 4_000 }, 4_000],
  ['but never later than now', { ...REQUEST, ranOutBy: 12_000 }, 10_000],
])('leases are judged %s', (_, request, by) => {
  const { engine, of } = scripted({ ranOut: () => [] });
  atOnce(releaseRanOut(engine, request, engine.timeSlice()));
  expect(of('ranOut')[0]?.[1]).toBe(by);
});

it('stops when the slice is over, but not before the first', () => {
  const { engine, of } = scripted({ ranOut: () => [ranOut(1), ranOut(2)], timeSlice: sliceOf(1) });
  expect(atOnce(releaseRanOut(engine, REQUEST, engine.timeSlice()))).toBe(true);
  expect(of('end').map(([, seq]) => seq)).toEqual([1]);
});

it('a full batch may not be all', () => {
  const { engine } = scripted({
    ranOut: (_: number, limit: number) => Array.from({ length: limit }, (_, n) => ranOut(n)),
  });
  expect(atOnce(releaseRanOut(engine, REQUEST, engine.timeSlice()))).toBe(true);
});

it('of the leases to renew those are told that are still held', () => {
  const { engine, of } = scripted({ renew: ({ seq }: { seq: number }) => seq !== 2 });
  const leases = [1, 2, 3].map((seq) => ({ seq, fence: 1 }));
  expect(atOnce(renewLeases(engine, leases, 5_000, 1_000))).toEqual([leases[0], leases[2]]);
  expect(of('noteTime')).toEqual([['noteTime', 5_000]]);
  expect(of('renew').map(([, , until]) => until)).toEqual([6_000, 6_000, 6_000]);
});

it('what was claimed for nobody is given back, and counts as no crash', () => {
  const { engine, of } = scripted({ claimedUnder: (number: number) => (number === 8 ? [ranOut(1), ranOut(2)] : []) });
  atOnce(giveBackUnheard(engine, { now: 10_000, unheard: [7, 8] }, engine.timeSlice()));
  expect(of('claimedUnder')).toEqual([
    ['claimedUnder', 7],
    ['claimedUnder', 8],
  ]);
  const ending = { state: 'pending', dueAt: 10_000, outcome: 'interrupted', crashed: 0, failed: 0 };
  expect(of('end')).toMatchObject([
    ['end', 1, ending, 10_000],
    ['end', 2, ending, 10_000],
  ]);
  expect(of('addAttempt')).toHaveLength(2);
  expect(of('count')).toEqual([]);
});
