// @module-tag longest
import { afterAll, test } from 'vitest';
import { expectFound } from './found-mutant.ts';
import { mutants } from './mutants.ts';
import { postgresStores } from './postgres-stores.ts';

/** Opening it takes longer than a history. */
const stores = postgresStores();
afterAll(() => stores[Symbol.asyncDispose]());

const cases = mutants.filter(({ only }) => only !== 'sqlite');

test.each(cases)('the histories find the mutant on Postgres: $name', { timeout: 120_000 }, (mutant) =>
  expectFound(mutant, stores, 'postgres', mutant.dearHistory ?? mutant.history),
);
