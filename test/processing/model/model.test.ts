// @module-tag long
// @module-tag repeated
// @module-tag dear
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { times } from '../../helpers/times.ts';
import { directedHistories } from './directed-histories.ts';
import { everyHistoryKeepsItsPromises, thisHistoryKeepsItsPromises } from './history.ts';
import { calls, moves, table, Tally } from './moves.ts';
import { seed } from './seed.ts';
import { postgresStores } from './postgres-stores.ts';
import { storeKinds, threaded, type StoreKind } from './stores.ts';

/** A history in SQLite costs twice as much, one in threads ten times, and one in Postgres forty times. */
const HISTORIES = {
  memory: times(1_300, 200),
  sqlite: times(1_300, 200),
  threads: times(80, 10),
  postgres: times(40, 5),
};
const DIRECTED = { memory: 5, sqlite: 5, threads: 1, postgres: 1 };
const kinds = [...storeKinds, threaded, { name: 'postgres', open: postgresStores } as const].map(({ name, open }) => ({
  name,
  stores: openedOnce(open),
}));
const tallies = new Map<string, Tally>();

/** Opening it takes longer than a history. */
function openedOnce(open: () => StoreKind): () => StoreKind {
  let opened: StoreKind | undefined;
  afterAll(() => opened?.[Symbol.asyncDispose]());
  return () => (opened ??= open());
}

afterAll(() => {
  console.log(`model histories with seed ${seed}\n${table(tallies)}`);
});

test.each(kinds)('every history keeps every promise: $name', { timeout: 300_000 }, async ({ name, stores }) => {
  const tally = new Tally();
  tallies.set(name, tally);
  await fc.assert(everyHistoryKeepsItsPromises({ stores: stores(), tally }), {
    seed,
    numRuns: HISTORIES[name],
    interruptAfterTimeLimit: 240_000,
  });
});

const directed = directedHistories.flatMap((history) =>
  kinds.map(({ name, stores }) => ({ history, stores, numRuns: DIRECTED[name], name: `${history.name}, ${name}` })),
);

test.each(directed)('every promise is kept: $name', async ({ history, stores, numRuns }) => {
  const run = { stores: stores(), tally: new Tally() };
  await fc.assert(thisHistoryKeepsItsPromises(history, run), { seed, numRuns });
});

test('the histories of each inbox went everywhere', () => {
  expect(Tally.sum(tallies.values(), ({ commands }) => commands.length)).toBeGreaterThanOrEqual(times(2_000, 300));
  for (const { name } of storeKinds) {
    const tally = tallies.get(name) ?? new Tally();
    expect(tally.medianCommands).toBeGreaterThanOrEqual(40);
    const here = moves.filter((move) => name !== 'memory' || !move.includes('discarded'));
    for (const move of here) expect(tally.moves.get(move), move).toBeGreaterThanOrEqual(times(100, 5));
    for (const call of calls)
      for (const at of [call, `${call} returns`])
        expect(tally.crashes.get(at), at).toBeGreaterThanOrEqual(times(10, 1));
  }
});
