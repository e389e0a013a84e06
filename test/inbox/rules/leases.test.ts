import { expect, it } from 'vitest';
import { leasesOf, planLeases } from '../../../src/inbox/rules/claim.ts';
import type { Change, ExpiredEvent, LeasesToEnd } from '../../../src/inbox/rules/store.ts';
import { EVERYTHING, type ClaimRequest } from '../../../src/inbox/work.ts';
import { expiredEvent, heldEvent } from './plan-events.ts';

const REQUEST: ClaimRequest = { ...EVERYTHING, now: 10_000, leaseMs: 1_000, ordered: true };
const NONE: LeasesToEnd = { lost: [], crashed: [], expired: [] };
const plan = (expired: readonly ExpiredEvent[], request = {}) =>
  planLeases({ ...NONE, expired }, { ...REQUEST, ...request });
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
    // Its function committed by itself, so it must not run again.
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
  expect(leasesOf({ ...REQUEST, ...request }).expiredBy).toBe(expiredBy);
});

it('stops after a mebibyte of bodies, but not before the first event', () => {
  const large = 2 * 1024 * 1024;
  const { changes, more } = plan([expiredEvent(1, { bytes: large }), expiredEvent(2)]);
  expect([endings(changes).length, more]).toEqual([1, true]);
  const next = { front: { seq: 9, created: { ms: 9, ns: 0 }, bytes: large }, passed: [], yielding: [] };
  const one = plan([expiredEvent(1, { next, holdsBack: false }), expiredEvent(2)]);
  expect([endings(one.changes).length, one.more]).toEqual([1, true]);
});

it('a full batch may not be all', () => {
  const { limit } = leasesOf(REQUEST);
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
    { ...REQUEST, lostClaims: [7, 8] },
  );
  expect(leasesOf({ ...REQUEST, lostClaims: [7, 8] }).lostClaims).toEqual([7, 8]);
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
    { ...REQUEST, lostClaims: [7] },
  );
  expect(endings(changes)).toEqual([
    [1, 'pending', 'interrupted'],
    [2, 'pending', 'crashed'],
  ]);
  expect(crashed.map(({ id }) => id)).toEqual(['evt_2']);
});
