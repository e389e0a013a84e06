import * as fc from 'fast-check';
import type { createSandbox } from '../../../src/sandbox/index.ts';
import { histories } from './commands.ts';
import { World } from './world.ts';

/** How much was tried, so that a test that tries nothing is found out. */
export class Tally {
  commands = 0;
  readonly events = new Map<string, number>();
}

/** Whatever is done to a sandbox, it is like its model after each step. */
export function everyHistoryKeepsItsPromises(create: typeof createSandbox, tally: Tally) {
  return fc.asyncProperty(histories(), async (commands) => {
    await using world = new World(create, (type) => tally.events.set(type, (tally.events.get(type) ?? 0) + 1));
    await fc.asyncModelRun(() => ({ model: { world }, real: world }), commands);
    tally.commands += world.commands;
  });
}
