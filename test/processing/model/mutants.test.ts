// @module-tag long
// @module-tag dear
import { test } from 'vitest';
import { expectFound } from './found-mutant.ts';
import { mutants } from './mutants.ts';
import { storeKinds } from './stores.ts';

const cases = mutants.flatMap((mutant) =>
  storeKinds
    .filter(() => mutant.rewritten === undefined && mutant.only !== 'postgres')
    .filter(({ name }) => mutant.undone === undefined || name === 'sqlite')
    .map(({ name, open }) => ({ mutant, open, kind: name, name: `${mutant.name}, ${name}` })),
);

test.each(cases)('the histories find the mutant: $name', { timeout: 120_000 }, async ({ mutant, open, kind }) => {
  await using stores = open();
  await expectFound(mutant, stores, kind);
});
