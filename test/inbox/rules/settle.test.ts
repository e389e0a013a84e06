import { describe, expect, it } from 'vitest';
import {
  endingOf,
  type EndOfAttempt,
  countChange,
  planProcessed,
  planSettle,
} from '../../../src/inbox/rules/attempt.ts';
import type { AttemptOutcome, Change, HeldEvent } from '../../../src/inbox/rules/store.ts';
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
  // It lets others pass, no processor handles its type, or an older event arrived meanwhile.
  expect(unparked({ ...retry, yields: true })).toEqual([8]);
  expect(unparked(retry, { holdsBack: false })).toEqual([8]);
  expect(unparked({ outcome: 'interrupted' }, { yields: true })).toEqual([8]);
  expect(unparked(retry, { created: { ms: 9, ns: 0 } })).toEqual([8]);
  // Events that yield waited only for its lease.
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
  // It does not count, not even how long it took.
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
