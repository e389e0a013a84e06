import * as fc from 'fast-check';
import { histories } from './commands.ts';
import type { DirectedHistory } from './directed-histories.ts';
import type { Tally } from './moves.ts';
import type { Mutant } from './mutants.ts';
import { workers, type Role } from './roles.ts';
import type { StoreKind } from './stores.ts';
import { World } from './world.ts';

export interface Run {
  readonly stores: StoreKind;
  readonly tally: Tally;
  readonly mutant?: Mutant;
}

/** Any history, followed by the end of all faults, keeps every promise. */
export function everyHistoryKeepsItsPromises(run: Run) {
  const first = fc.oneof(
    { weight: 3, arbitrary: fc.subarray(workers, { minLength: 1, maxLength: 2 }) },
    { weight: 2, arbitrary: fc.constantFrom<readonly Role[]>(['created'], ['the latest of all']) },
  );
  return fc.asyncProperty(fc.scheduler(), first, histories(), (scheduler, first, commands) =>
    live(scheduler, run, async (world) => {
      for (const role of ['web', 'web of b', ...first] as const) world.start(role);
      await fc.asyncModelRun(() => ({ model: { world }, real: world }), commands);
    }),
  );
}

export function thisHistoryKeepsItsPromises(history: DirectedHistory, run: Run) {
  return fc.asyncProperty(fc.scheduler(), (scheduler) => live(scheduler, run, (world) => history.happen(world)));
}

async function live(
  scheduler: fc.Scheduler,
  { stores, tally, mutant }: Run,
  happen: (world: World) => Promise<void>,
): Promise<void> {
  // The backoff's jitter: a history that failed must fail again.
  const random = Math.random;
  Math.random = () => 0.5;
  const world = new World(
    scheduler,
    await stores.empty(mutant),
    tally,
    mutant && { mutate: mutant.begin(), of: mutant.of },
  );
  try {
    await happen(world);
    await world.heal();
    await world.end();
    tally.commands.push(world.commands);
  } finally {
    Math.random = random;
    world.finish();
  }
}
