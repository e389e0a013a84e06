import { describe, expect, it } from 'vitest';
import { endingOf } from '../../../src/inbox/rules/attempt-end.ts';
import type { RunningEvent } from '../../../src/inbox/rules/engine.ts';
import { settle } from '../../../src/inbox/rules/settle.ts';
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
  const settlements: readonly Settlement[] = [
    { outcome: 'processed' },
    { outcome: 'retry', error, dueAt: 5_000 },
    { outcome: 'dead', reason: 'failed', error },
    { outcome: 'interrupted' },
  ];
  it.each<[Settlement, Attempt['outcome'] | undefined, boolean]>(
    settlements.flatMap((settlement) => {
      const own = endingOf(settlement, NOW).outcome;
      return ([undefined, 'processed', 'failed', 'crashed', 'interrupted'] as const).map(
        (outcome): [Settlement, typeof outcome, boolean] => [settlement, outcome, outcome === own],
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
