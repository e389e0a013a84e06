import { endProcess } from './end-process.ts';
import { tellFailure } from './tell-failure.ts';

/** Does what loads a module of the user's, and then ends the process, since the module may hold something open; without one it does no more. */
export async function withOwnModule(module: string | undefined, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (module === undefined) throw failure;
    tellFailure(failure);
  }
  if (module !== undefined) await endProcess();
}
