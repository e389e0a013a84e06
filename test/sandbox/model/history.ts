import * as fc from 'fast-check';
import type { createSandbox } from '../../../src/sandbox/index.ts';
import { histories } from './commands.ts';
import { World } from './world.ts';

/** A history that tries nothing must not pass. */
export class Tally {
  commands = 0;
  readonly events = new Map<string, number>();
}

export function everyHistoryKeepsItsPromises(create: typeof createSandbox, tally: Tally) {
  return fc.asyncProperty(histories(), async (commands) => {
    await using world = new World(create, (type) => tally.events.set(type, (tally.events.get(type) ?? 0) + 1));
    await fc.asyncModelRun(() => ({ model: { world }, real: world }), commands);
    tally.commands += world.commands;
  });
}
