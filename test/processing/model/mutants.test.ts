import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { everyHistoryKeepsItsPromises, thisHistoryKeepsItsPromises } from './history.ts';
import { Tally } from './moves.ts';
import { mutants } from './mutants.ts';
import { seed } from './seed.ts';
import { storeKinds } from './stores.ts';
import { Violation } from './violation.ts';

/** A fault that fewer histories than this do not find is a fault of the test. */
const BUDGET = 600;

const cases = mutants.flatMap((mutant) =>
  storeKinds
    .filter(({ name }) => mutant.undone === undefined || name === 'sqlite')
    .map(({ name, open }) => ({ mutant, open, name: `${mutant.name}, ${name}` })),
);

test.each(cases)('the histories find the mutant: $name', { timeout: 120_000 }, async ({ mutant, open, name }) => {
  await using stores = open();
  const tally = new Tally();
  const run = { stores, tally, mutant };
  const { history } = mutant;
  const parameters = { seed, numRuns: BUDGET, endOnFailure: true };
  const { failed, errorInstance, numRuns } =
    history === undefined
      ? await fc.check(everyHistoryKeepsItsPromises(run), parameters)
      : await fc.check(thisHistoryKeepsItsPromises(history, run), parameters);
  expect(failed, `no counterexample in ${numRuns} histories with seed ${seed}`).toBe(true);
  expect(errorInstance, `with seed ${seed}`).toBeInstanceOf(Violation);
  const broken = errorInstance instanceof Violation ? errorInstance : null;
  expect(mutant.breaks).toContain(broken?.promise);
  console.log(`${name}: found in history ${numRuns} with seed ${seed}: ${broken?.message}`);
});
