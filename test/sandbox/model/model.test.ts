// @module-tag repeated
// @module-tag dear
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.ts';
import { times } from '../../helpers/times.ts';
import { seed } from '../../processing/model/seed.ts';
import { everyHistoryKeepsItsPromises, Tally } from './history.ts';

const HISTORIES = times(300, 40);

test('every history of carts, orders, stock and payments keeps every promise', { timeout: 240_000 }, async () => {
  const tally = new Tally();
  await fc.assert(everyHistoryKeepsItsPromises(createSandbox, tally), { seed, numRuns: HISTORIES });
  console.log(`${tally.commands} commands with seed ${seed}: ${JSON.stringify(Object.fromEntries(tally.events))}`);
  expect(tally.commands).toBeGreaterThan(10 * HISTORIES);
  // All of interface 6.1.
  expect(tally.events.size).toBe(11);
  for (const [type, count] of tally.events) expect(count, type).toBeGreaterThanOrEqual(times(20, 3));
});
