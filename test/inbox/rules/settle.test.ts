import { describe, expect, it } from 'vitest';
import { endingOf, type EndOfAttempt } from '../../../src/inbox/rules/attempt-end.ts';
import type { RunningEvent } from '../../../src/inbox/rules/engine.ts';
import { settle, settleInTransaction } from '../../../src/inbox/rules/settle.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import type { Attempt, Settlement } from '../../../src/inbox/work.ts';
import { scripted } from './scripted-engine.ts';

const NOW = 1_000;
const event: RunningEvent = {
  seq: 7,
  fence: 2,
  endpoint: 'default',
  entity: 'order',
  type: 'order.created',
  created: { ms: 1, ns: 0 },
  attempt: 3,
  trigger: 'manual',
  claimedAt: 900,
};
const error = { name: 'Error', message: 'fails', stack: null };

function settled(settlement: Settlement, held: RunningEvent | undefined = event) {
  const { engine, asked, of } = scripted({ held: () => held });
  return { result: atOnce(settle(engine, event, settlement, NOW)), asked, of };
}

it('who has lost the lease changes nothing', () => {
  const { engine, asked } = scripted();
  expect(atOnce(settle(engine, event, { outcome: 'processed' }, NOW))).toBe(false);
  expect(asked.map(([name]) => name)).toEqual(['held']);
});

it('whatever the end, it is one ending, one attempt, and the next of its entity', () => {
  const settlements: Settlement[] = [
    { outcome: 'processed' },
    { outcome: 'retry', error, dueAt: 5_000 },
    { outcome: 'dead', reason: 'failed', error },
    { outcome: 'interrupted' },
  ];
  for (const settlement of settlements) {
    const { result, of } = settled(settlement);
    expect(result).toBe(true);
    expect(of('end', 'addAttempt', 'nextOf').map(([name]) => name)).toEqual(['end', 'addAttempt', 'nextOf']);
    expect(of('addAttempt')[0]).toMatchObject(['addAttempt', event, {}, NOW]);
    expect(of('noteTime')).toEqual([['noteTime', NOW]]);
  }
});

it('only what was processed raises the mark of its entity', () => {
  expect(settled({ outcome: 'processed' }).of('raiseHighWater')).toEqual([['raiseHighWater', event]]);
  expect(settled({ outcome: 'processed' }, { ...event, entity: null }).of('raiseHighWater')).toEqual([]);
  expect(settled({ outcome: 'retry', error, dueAt: 5_000 }).of('raiseHighWater')).toEqual([]);
});

it.each<[Settlement, readonly unknown[]]>([
  [{ outcome: 'processed' }, [100, 'processed']],
  [{ outcome: 'retry', error, dueAt: 5_000 }, [100, 'failed']],
  [{ outcome: 'dead', reason: 'failed', error }, [100, 'dead']],
  // It does not count, not even how long it took.
  [{ outcome: 'interrupted' }, []],
])('is counted: %j', (settlement, expected) => {
  const counted = settled(settlement).of('count');
  expect(counted.map(([, what, detail]) => (what === 'handler-ms' ? detail : what))).toEqual(expected);
});

describe('asked for again, as nobody knows what became of it', () => {
  const settlements: readonly EndOfAttempt[] = [
    { outcome: 'processed' },
    { outcome: 'retry', error, dueAt: 5_000 },
    { outcome: 'dead', reason: 'failed', error },
    { outcome: 'interrupted' },
  ];
  it.each<[EndOfAttempt, Attempt['outcome'] | undefined, boolean]>(
    settlements.flatMap((settlement) => {
      const own = endingOf(settlement, NOW).outcome;
      return ([undefined, 'processed', 'failed', 'crashed', 'interrupted'] as const).map(
        (outcome): [EndOfAttempt, typeof outcome, boolean] => [settlement, outcome, outcome === own],
      );
    }),
  )('%j after an attempt that is %s: %s, and nothing is changed', (settlement, outcome, expected) => {
    const { engine, asked } = scripted({ outcomeUnder: () => outcome });
    expect(atOnce(settle(engine, event, settlement, NOW, true))).toBe(expected);
    expect(asked).toEqual([
      ['held', event],
      ['outcomeUnder', event],
    ]);
  });

  it('it is done when it was not', () => {
    const { engine, of } = scripted({ held: () => event });
    expect(atOnce(settle(engine, event, { outcome: 'processed' }, NOW, true))).toBe(true);
    expect(of('end', 'addAttempt')).toHaveLength(2);
  });
});

describe('a transaction of its handler', () => {
  const processed: RunningEvent = { ...event, isProcessed: true };

  it('has its event processed, and leaves the lease and the next of its entity as they are', () => {
    const { engine, of } = scripted({ held: () => event });
    expect(atOnce(settleInTransaction(engine, event, { outcome: 'processed', skipped: 'not ours' }, NOW))).toBe(true);
    expect(of('processedUnderLease', 'end', 'endLease', 'nextOf')).toEqual([['processedUnderLease', 7, NOW]]);
    expect(of('raiseHighWater')).toEqual([['raiseHighWater', event]]);
    expect(of('addAttempt')).toMatchObject([['addAttempt', event, { outcome: 'processed', skipped: 'not ours' }, NOW]]);
    expect(of('count').map(([, what]) => what)).toEqual(['handler-ms', 'processed']);
  });

  it.each([undefined, processed])('commits nothing where the lease is lost, or the event is processed', (held) => {
    const { engine, asked } = scripted({ held: () => held });
    expect(atOnce(settleInTransaction(engine, event, { outcome: 'processed' }, NOW))).toBe(false);
    expect(asked.map(([name]) => name)).toEqual(['held']);
  });

  it('once its handler has ended, the lease ends, and the next of its entity has its turn; nothing is counted again', () => {
    const { result, of } = settled({ outcome: 'committed', error }, processed);
    expect(result).toBe(true);
    expect(of('noteLateError', 'endLease', 'nextOf')).toEqual([
      ['noteLateError', event, error],
      ['endLease', 7],
      ['nextOf', processed],
    ]);
    expect(of('end', 'addAttempt', 'count')).toEqual([]);
  });

  it.each([undefined, event])('that has not committed, or whose lease is lost, ends no lease', (held) => {
    const { engine, of } = scripted({ held: () => held });
    expect(atOnce(settle(engine, event, { outcome: 'committed' }, NOW))).toBe(false);
    expect(of('endLease', 'end')).toEqual([]);
  });

  it('ends its attempt no second time', () => {
    for (const outcome of ['processed', 'interrupted'] as const) {
      const { result, of } = settled({ outcome }, processed);
      expect([result, of('end', 'endLease', 'addAttempt')]).toEqual([false, []]);
    }
  });
});
