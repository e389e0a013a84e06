import * as fc from 'fast-check';
import { histories } from './commands.ts';
import type { Tally } from './moves.ts';
import { workers, type Role } from './roles.ts';
import type { StoreKind } from './stores.ts';
import { World } from './world.ts';
import type { Mutant } from './mutants.ts';

/** What a run of many histories needs. */
export interface Run {
  readonly stores: StoreKind;
  readonly tally: Tally;
  readonly mutant?: Mutant;
}

/** Any history, followed by the end of all faults, keeps every promise. */
export function everyHistoryKeepsItsPromises({ stores, tally, mutant }: Run) {
  // A type that nobody handles for a long time is put away: that takes a machine where nobody does.
  const first = fc.oneof(
    { weight: 3, arbitrary: fc.subarray(workers, { minLength: 1, maxLength: 2 }) },
    { weight: 2, arbitrary: fc.constant<readonly Role[]>(['created']) },
  );
  return fc.asyncProperty(fc.scheduler(), first, histories(), async (scheduler, first, commands) => {
    // The backoff's jitter: a history that failed must fail again.
    const random = Math.random;
    Math.random = () => 0.5;
    const world = new World(scheduler, stores.empty(), tally, mutant?.begin());
    try {
      for (const role of ['web', 'web of b', ...first] as const) world.start(role);
      await fc.asyncModelRun(() => ({ model: { world }, real: world }), commands);
      await world.heal();
      await world.end();
      tally.commands.push(world.commands);
    } finally {
      Math.random = random;
      world.finish();
    }
  });
}
