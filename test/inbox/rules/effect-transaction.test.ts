import { expect, it } from 'vitest';
import { afterEffect, beforeEffect } from '../../../src/inbox/rules/effect-transaction.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { scripted } from './scripted-engine.ts';

const NOW = 1_000;
const lease = { seq: 7, fence: 2 };
const event = { seq: 7, endpoint: 'default', type: 'order.created', created: { ms: 1, ns: 0 }, attempt: 3 };

it('until the function has returned, its event is dead and says why', () => {
  const running = { ...event, ...lease, entity: 'order', trigger: 'auto', claimedAt: 900 };
  const { engine, of } = scripted({ held: () => running });
  expect(atOnce(beforeEffect(engine, lease, NOW))).toBe(true);
  expect(of('end')).toMatchObject([['end', 7, { state: 'dead', deadReason: 'failed', outcome: 'failed' }, NOW]]);
  expect(of('addAttempt')).toMatchObject([
    [
      'addAttempt',
      running,
      { error: { name: 'TransactionError', message: expect.stringMatching(/with COMMIT/) } },
      NOW,
    ],
  ]);
  expect(of('count')).toContainEqual(['count', 'dead', 'order.created']);
});

it('who has lost the lease says nothing', () => {
  const { engine, asked } = scripted();
  expect(atOnce(beforeEffect(engine, lease, NOW))).toBe(false);
  expect(asked.map(([name]) => name)).toEqual(['held']);
});

it.each<[entity: string | null, marks: number]>([
  ['order', 1],
  [null, 0],
])('once it has, all of that is taken back, and an event of the entity %j raises %i marks', (entity, marks) => {
  const { engine, asked, of } = scripted({ deadToProcessed: () => ({ ...event, entity }) });
  atOnce(afterEffect(engine, lease));
  expect(asked.slice(0, 4)).toEqual([
    ['deadToProcessed', lease],
    ['count', 'dead', 'order.created', -1],
    ['count', 'processed', 'order.created'],
    ['attemptProcessed', 7, 3, undefined],
  ]);
  expect(of('raiseHighWater')).toEqual(Array.from({ length: marks }, () => ['raiseHighWater', { ...event, entity }]));
});
