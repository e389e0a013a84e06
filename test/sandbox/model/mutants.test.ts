// @module-tag long
import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { seed } from '../../processing/model/seed.ts';
import { everyHistoryKeepsItsPromises, Tally } from './history.ts';
import { mutants } from './mutants.ts';
import { Violation } from './violation.ts';

const BUDGET = 100;

afterEach(() => {
  vi.resetModules();
});

test.each(mutants)('the histories find the mutant: $name', { timeout: 120_000 }, async (mutant) => {
  const path = `../../../src/sandbox/${mutant.module}.ts`;
  vi.resetModules();
  vi.doMock(path, async (importActual) => {
    const actual = await importActual<object>();
    return { ...actual, ...mutant.replace(actual) };
  });
  try {
    const { createSandbox } = await import('../../../src/sandbox/index.ts');
    const parameters = { seed, numRuns: BUDGET, endOnFailure: true };
    const { failed, errorInstance, numRuns } = await fc.check(
      everyHistoryKeepsItsPromises(createSandbox, new Tally()),
      parameters,
    );
    expect(failed, `no counterexample in ${numRuns} histories with seed ${seed}`).toBe(true);
    expect(errorInstance, `with seed ${seed}`).toBeInstanceOf(Violation);
    const broken = errorInstance instanceof Violation ? errorInstance : null;
    expect(mutant.breaks).toContain(broken?.promise);
    console.log(`${mutant.name}: found in history ${numRuns} with seed ${seed}: ${broken?.message}`);
  } finally {
    vi.doUnmock(path);
  }
});
