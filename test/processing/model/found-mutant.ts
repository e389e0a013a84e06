import * as fc from 'fast-check';
import { expect } from 'vitest';
import { everyHistoryKeepsItsPromises, thisHistoryKeepsItsPromises } from './history.ts';
import { Tally } from './moves.ts';
import type { Mutant } from './mutants.ts';
import { seed } from './seed.ts';
import type { StoreKind } from './stores.ts';
import { Violation } from './violation.ts';

/** If a fault needs more histories than this, the test is too weak. */
const BUDGET = 600;

export async function expectFound(
  mutant: Mutant,
  stores: StoreKind,
  kind: string,
  history = mutant.history,
): Promise<void> {
  const tally = new Tally();
  const run = { stores, tally, mutant };
  const parameters = { seed, numRuns: BUDGET, endOnFailure: true };
  const { failed, errorInstance, numRuns } =
    history === undefined
      ? await fc.check(everyHistoryKeepsItsPromises(run), parameters)
      : await fc.check(thisHistoryKeepsItsPromises(history, run), parameters);
  expect(failed, `no counterexample in ${numRuns} histories with seed ${seed}`).toBe(true);
  expect(errorInstance, `with seed ${seed}`).toBeInstanceOf(Violation);
  const broken = errorInstance instanceof Violation ? errorInstance : null;
  expect(mutant.breaks).toContain(broken?.promise);
  console.log(`${mutant.name}, ${kind}: found in history ${numRuns} with seed ${seed}: ${broken?.message}`);
}
