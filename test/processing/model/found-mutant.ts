import * as fc from 'fast-check';
import { expect } from 'vitest';
import { everyHistoryKeepsItsPromises, thisHistoryKeepsItsPromises } from './history.ts';
import { Tally } from './moves.ts';
import type { Mutant } from './mutants.ts';
import { seed } from './seed.ts';
import type { StoreKind } from './stores.ts';
import { Violation } from './violation.ts';

/** A fault that fewer histories than this do not find is a fault of the test. */
const BUDGET = 600;

/** Looks for a mutant in stores of one kind, up to the first history that finds it. */
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
