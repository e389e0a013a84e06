import { describe, expect, it } from 'vitest';
import {
  endingOf,
  type EndOfAttempt,
  countChange,
  planProcessed,
  planSettle,
  crashEnding,
  settlementOfFailure,
  settlementWithoutFile,
  backoffMs,
  DEFAULT_RETRY,
  foundCrash,
} from '../../../src/inbox/rules/attempt.ts';
import { fingerprintOf } from '../../../src/inbox/rules/error-groups.ts';
import type { AttemptOutcome, Change, HeldEvent, Ending } from '../../../src/inbox/rules/store.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import { heldEvent } from './plan-events.ts';

const NOW = 1_000;
const LEASE = { seq: 7, fence: 2 };
const error = { name: 'Error', message: 'fails', stack: null };
const next = { front: { seq: 8, created: { ms: 8, ns: 0 }, bytes: 1 }, passed: [], yielding: [] };
const event = heldEvent({ next });
const ENDS: readonly EndOfAttempt[] = [
  { outcome: 'processed' },
  { outcome: 'retry', error, dueAt: 5_000 },
  { outcome: 'dead', reason: 'failed', error },
  { outcome: 'interrupted' },
];
const settle = (settlement: Settlement, held: HeldEvent | undefined = event, before?: AttemptOutcome) =>
  planSettle(LEASE, held, settlement, NOW, before);
const kindsOf = (changes: readonly Change[]) => changes.map(({ kind }) => kind);

it('a lost lease changes nothing', () => {
  expect(planSettle(LEASE, undefined, { outcome: 'processed' }, NOW)).toEqual({ result: false, changes: [] });
});

it.each(ENDS)('$outcome ends one attempt', (settlement) => {
  const { result, changes } = settle(settlement);
  expect(result).toBe(true);
  expect(changes[0]).toMatchObject({
    kind: 'attempt ended',
    event: { seq: 7, fence: 2, attempt: 3 },
    ending: { outcome: endingOf(settlement, NOW).outcome },
    now: NOW,
    ranMs: settlement.outcome === 'interrupted' ? null : 100,
    keepsLease: false,
  });
});

it('the next event of its entity may be claimed, unless the event stays its front', () => {
  const unparked = (settlement: Settlement, parts: Partial<HeldEvent> = {}) =>
    settle(settlement, heldEvent({ next, ...parts })).changes.flatMap((change) =>
      change.kind === 'unparked' ? change.seqs : [],
    );
  const retry: Settlement = { outcome: 'retry', error, dueAt: 5_000 };
  expect(unparked({ outcome: 'processed' })).toEqual([8]);
  expect(unparked({ outcome: 'dead', reason: 'failed', error })).toEqual([8]);
  expect(unparked(retry)).toEqual([]);
  expect(unparked({ outcome: 'interrupted' })).toEqual([]);
  expect(unparked({ ...retry, yields: true })).toEqual([8]);
  expect(unparked(retry, { holdsBack: false })).toEqual([8]);
  expect(unparked({ outcome: 'interrupted' }, { yields: true })).toEqual([8]);
  expect(unparked(retry, { created: { ms: 9, ns: 0 } })).toEqual([8]);
  const yielding = [{ seq: 9, bytes: 1 }];
  expect(unparked(retry, { next: { ...next, yielding } })).toEqual([9]);
});

it('only a processed event with an entity and a time supersedes older ones', () => {
  const supersedes = (settlement: Settlement, parts: Partial<HeldEvent> = {}) =>
    settle(settlement, heldEvent(parts)).changes.some((change) => change.kind === 'attempt ended' && change.supersedes);
  expect(supersedes({ outcome: 'processed' })).toBe(true);
  expect(supersedes({ outcome: 'processed' }, { entity: null })).toBe(false);
  expect(supersedes({ outcome: 'processed' }, { created: null })).toBe(false);
  expect(supersedes({ outcome: 'processed' }, { created: { ms: NOW + 25 * 60 * 60_000, ns: 0 } })).toBe(false);
  for (const settlement of ENDS.slice(1)) expect(supersedes(settlement)).toBe(false);
});

it.each<[EndOfAttempt, readonly unknown[]]>([
  [{ outcome: 'processed' }, [100, 'processed']],
  [{ outcome: 'retry', error, dueAt: 5_000 }, [100, 'failed']],
  [{ outcome: 'dead', reason: 'failed', error }, [100, 'dead']],
  [{ outcome: 'interrupted' }, []],
])('is counted: %j', (settlement, expected) => {
  const counted: unknown[] = [];
  const counts = {
    count: () => {},
    countType: (what: string) => void counted.push(what),
    countMs: (_: string, ms: number) => void counted.push(ms),
  };
  for (const change of settle(settlement).changes) countChange(counts, change);
  expect(counted).toEqual(expected);
});

it('an event whose function committed by itself is dead, whatever its attempt asks for', () => {
  for (const settlement of ENDS) {
    const { result, changes } = settle(settlement, heldEvent({ hasEffect: true }));
    expect(result).toBe('committed alone');
    expect(changes[0]).toMatchObject({ ending: { state: 'dead', error: { name: 'TransactionError' } } });
  }
});

describe('after an earlier call without an answer', () => {
  it.each(
    ENDS.flatMap((settlement) => {
      const own = endingOf(settlement, NOW).outcome;
      return ([undefined, 'processed', 'failed', 'crashed', 'interrupted'] as const).map(
        (outcome): [EndOfAttempt, typeof outcome, boolean] => [settlement, outcome, outcome === own],
      );
    }),
  )('%j, the attempt being %s: %s, and nothing changes', (settlement, outcome, expected) => {
    expect(planSettle(LEASE, undefined, settlement, NOW, outcome)).toEqual({ result: expected, changes: [] });
  });

  it('it is told that its function committed by itself', () => {
    expect(planSettle(LEASE, undefined, { outcome: 'processed' }, NOW, 'committed alone').result).toBe(
      'committed alone',
    );
  });
});

describe('a transaction of its handler', () => {
  const processed = heldEvent({ isProcessed: true, next });

  it('ends the attempt, and leaves the lease and the next event of its entity as they are', () => {
    const changes = planProcessed(event, { outcome: 'processed', skipped: 'not ours' }, NOW);
    expect(changes).toMatchObject([
      { kind: 'attempt ended', keepsLease: true, ranMs: 100, supersedes: true, ending: { skipped: 'not ours' } },
    ]);
  });

  it.each([undefined, processed])('commits nothing if the lease is lost, or the event is processed', (held) => {
    expect(planProcessed(held, { outcome: 'processed' }, NOW)).toBeNull();
  });

  it('once its handler ends, the lease ends, and the next event of its entity may be claimed', () => {
    expect(settle({ outcome: 'committed', error }, processed)).toEqual({
      result: true,
      changes: [
        { kind: 'late error', lease: LEASE, error },
        { kind: 'lease ended', seq: 7 },
        { kind: 'unparked', seqs: [8] },
      ],
    });
  });

  it.each([undefined, event])('that has not committed, or whose lease is lost, ends no lease', (held) => {
    expect(planSettle(LEASE, held, { outcome: 'committed' }, NOW)).toEqual({ result: false, changes: [] });
    expect(kindsOf(planSettle(LEASE, held, { outcome: 'committed', error }, NOW).changes)).toEqual(['late error']);
  });

  it('ends its attempt only once', () => {
    for (const settlement of ENDS) expect(settle(settlement, processed)).toEqual({ result: false, changes: [] });
  });
});

const lastError = { name: 'Error', message: 'no order ord_42', stack: 'at …' };
const none = { failed: 0, crashed: 0, error: null } as const;
const failed = { outcome: 'failed', failed: 1, crashed: 0, error: lastError } as const;

it.each<[EndOfAttempt, Ending]>([
  [{ outcome: 'processed' }, { ...none, state: 'processed', outcome: 'processed', counted: 'processed' }],
  [
    { outcome: 'processed', skipped: 'not ours' },
    { ...none, state: 'processed', outcome: 'processed', counted: 'processed', skipped: 'not ours' },
  ],
  [
    { outcome: 'retry', error: lastError, dueAt: 5_000 },
    { ...failed, state: 'pending', dueAt: 5_000, yields: false, counted: 'failed' },
  ],
  [
    { outcome: 'retry', error: lastError, dueAt: 5_000, yields: true },
    { ...failed, state: 'pending', dueAt: 5_000, yields: true, counted: 'failed' },
  ],
  [
    { outcome: 'dead', reason: 'failed', error: lastError },
    { ...failed, state: 'dead', deadReason: 'failed', fingerprint: fingerprintOf(lastError), counted: 'dead' },
  ],
  [
    { outcome: 'dead', reason: 'invalid', error: lastError },
    { ...failed, state: 'dead', deadReason: 'invalid', fingerprint: fingerprintOf(lastError), counted: 'dead' },
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
  [0, false, { outcome: 'retry', error: lastError, dueAt: NOW + 100 }],
  [1, false, { outcome: 'retry', error: lastError, dueAt: NOW + 150 }],
  [2, false, { outcome: 'dead', reason: 'failed', error: lastError }],
  [7, false, { outcome: 'dead', reason: 'failed', error: lastError }],
  [0, true, { outcome: 'dead', reason: 'failed', error: lastError }],
])('a failure after %i others (permanent: %s) is settled with %j', (before, isPermanent, settlement) => {
  expect(settlementOfFailure(before, { error: lastError, isPermanent }, retry, NOW, () => 1)).toEqual(settlement);
});

it.each<[afterMs: number, dueAt: number]>([
  [60_000, NOW + 60_000],
  [99, NOW + 100],
])('a failure that asks for %i ms is due then, and not sooner than usual', (afterMs, dueAt) => {
  const failure = { error: lastError, isPermanent: false, afterMs };
  expect(settlementOfFailure(0, failure, retry, NOW, () => 1)).toEqual({ outcome: 'retry', error: lastError, dueAt });
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

it.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [12, 2_048_000],
  [13, 3_600_000],
  [20, 3_600_000],
  [5_000, 3_600_000],
])('after failure %i it is at most %i ms', (failures, most) => {
  expect(backoffMs(failures, DEFAULT_RETRY, () => 1)).toBe(most);
  expect(backoffMs(failures, DEFAULT_RETRY, () => 0)).toBe(0);
});

const found = {
  endpoint: 'default',
  id: 'evt_1',
  type: 'order.created',
  attempt: 3,
  outcome: 'crashed',
  ended_ms: 2_000,
  error_name: null,
  error_message: null,
  error_stack: null,
  due_ms: 2_500,
  state: 'pending',
  dead_reason: null,
} as const;
const told = { endpoint: 'default', id: 'evt_1', type: 'order.created', attempt: 3, error: null };

it.each([
  ['waits', found, { ...told, deadReason: null, dueAt: 2_500 }],
  ['is dead', { ...found, state: 'dead', dead_reason: 'crashed' }, { ...told, deadReason: 'crashed', dueAt: null }],
  [
    'was interrupted',
    { ...found, outcome: 'interrupted' },
    { ...told, deadReason: null, dueAt: 2_500, wasClosing: true },
  ],
  ['has gone on since', { ...found, state: null }, { ...told, deadReason: null, dueAt: 2_000 }],
  [
    'is dead, as its function had committed by itself',
    { ...found, state: 'dead', dead_reason: 'failed', error_name: 'TransactionError', error_message: 'COMMIT' },
    {
      ...told,
      deadReason: 'failed',
      dueAt: null,
      error: { name: 'TransactionError', message: 'COMMIT', stack: null },
    },
  ],
] as const)('what was found crashed is told as of its event, which %s', (_, row, expected) => {
  expect(foundCrash(row)).toEqual(expected);
});
