import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  MAX_CRASHES,
  crashEnding,
  endingOf,
  settlementOfFailure,
  settlementWithoutFile,
  type EndOfAttempt,
} from '../../../src/inbox/rules/attempt.ts';
import { type Ending } from '../../../src/inbox/rules/store.ts';
import { fingerprintOf } from '../../../src/inbox/rules/error-groups.ts';

const NOW = 1_000;
const error = { name: 'Error', message: 'no order ord_42', stack: 'at …' };
const none = { failed: 0, crashed: 0, error: null } as const;
const failed = { outcome: 'failed', failed: 1, crashed: 0, error } as const;

it.each<[EndOfAttempt, Ending]>([
  [{ outcome: 'processed' }, { ...none, state: 'processed', outcome: 'processed', counted: 'processed' }],
  [
    { outcome: 'processed', skipped: 'not ours' },
    { ...none, state: 'processed', outcome: 'processed', counted: 'processed', skipped: 'not ours' },
  ],
  [
    { outcome: 'retry', error, dueAt: 5_000 },
    { ...failed, state: 'pending', dueAt: 5_000, yields: false, counted: 'failed' },
  ],
  [
    { outcome: 'retry', error, dueAt: 5_000, yields: true },
    { ...failed, state: 'pending', dueAt: 5_000, yields: true, counted: 'failed' },
  ],
  [
    { outcome: 'dead', reason: 'failed', error },
    { ...failed, state: 'dead', deadReason: 'failed', fingerprint: fingerprintOf(error), counted: 'dead' },
  ],
  [
    { outcome: 'dead', reason: 'invalid', error },
    { ...failed, state: 'dead', deadReason: 'invalid', fingerprint: fingerprintOf(error), counted: 'dead' },
  ],
  [
    { outcome: 'interrupted', dueAt: NOW + 5 },
    { ...none, state: 'pending', dueAt: NOW + 5, outcome: 'interrupted', counted: null },
  ],
  [{ outcome: 'interrupted' }, { ...none, state: 'pending', dueAt: NOW, outcome: 'interrupted', counted: null }],
])('an attempt that ends so leaves its event so: %j', (settlement, ending) => {
  expect(endingOf(settlement, NOW)).toEqual(ending);
});

const retry = { attempts: 3, baseMs: 100, maxMs: 150 };

it.each<[failuresBefore: number, isPermanent: boolean, EndOfAttempt]>([
  [0, false, { outcome: 'retry', error, dueAt: NOW + 100 }],
  [1, false, { outcome: 'retry', error, dueAt: NOW + 150 }],
  [2, false, { outcome: 'dead', reason: 'failed', error }],
  [7, false, { outcome: 'dead', reason: 'failed', error }],
  [0, true, { outcome: 'dead', reason: 'failed', error }],
])('a failure after %i others (permanent: %s) is settled with %j', (before, isPermanent, settlement) => {
  expect(settlementOfFailure(before, { error, isPermanent }, retry, NOW, () => 1)).toEqual(settlement);
});

it.each<[afterMs: number, dueAt: number]>([
  [60_000, NOW + 60_000],
  [99, NOW + 100],
])('a failure that asks for %i ms is due then, and not sooner than usual', (afterMs, dueAt) => {
  const failure = { error, isPermanent: false, afterMs };
  expect(settlementOfFailure(0, failure, retry, NOW, () => 1)).toEqual({ outcome: 'retry', error, dueAt });
  expect(settlementOfFailure(2, failure, retry, NOW, () => 1)).toMatchObject({ outcome: 'dead' });
});

it.each<[attempts: number, dueAt: number]>([
  [1, NOW + 100],
  [2, NOW + 150],
  [50, NOW + 150],
])('attempt %i without the file of the inbox does not count, and the next is due at %i', (attempts, dueAt) => {
  expect(settlementWithoutFile(attempts, retry, NOW, () => 1)).toEqual({ outcome: 'interrupted', dueAt });
});

const crash = { outcome: 'crashed', error: null, failed: 0, crashed: 1 } as const;

it.each<[number, Ending]>([
  [0, { ...crash, state: 'pending', dueAt: NOW, counted: 'failed' }],
  [1, { ...crash, state: 'pending', dueAt: NOW, counted: 'failed' }],
  [2, { ...crash, state: 'dead', deadReason: 'crashed', fingerprint: null, counted: 'dead' }],
  [3, { ...crash, state: 'dead', deadReason: 'crashed', fingerprint: null, counted: 'dead' }],
])('a crash after %i others', (before, ending) => {
  expect(crashEnding(before, NOW)).toEqual(ending);
});

it('an event that only crashes is dead after exactly so many crashes', () => {
  fc.assert(
    fc.property(fc.nat(10), (before) => {
      expect(crashEnding(before, NOW).state).toBe(before + 1 >= MAX_CRASHES ? 'dead' : 'pending');
    }),
  );
});
