import { Session, type Profiler } from 'node:inspector';

// From the beginning on: of what was compiled before, the engine counts calls only.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/**
 * How often the blocks of some files run while work is done, as the engine itself counts them: a bound on steps holds on
 * a busy machine too, and nothing in the files has to count along. Import this before what is counted is called.
 *
 * @param files - whose blocks are counted
 */
export function stepsOf(files: RegExp, work: () => void): number {
  const steps = countSteps(files);
  work();
  return steps();
}

/** As `stepsOf`, from now until what it returns is called. */
export function countSteps(files: RegExp): () => number {
  blocksSince(files);
  return () => {
    const steps = blocksSince(files);
    if (steps === 0) throw new Error(`nothing of ${String(files)} ran`);
    return steps;
  };
}

/** Since it was asked before. */
function blocksSince(files: RegExp): number {
  let blocks = 0;
  session.post('Profiler.takePreciseCoverage', (failure, { result }) => {
    if (failure !== null) throw new Error(failure.message);
    blocks = result.filter(({ url }) => files.test(url)).reduce((sum, script) => sum + blocksOf(script), 0);
  });
  return blocks;
}

function blocksOf({ functions }: Profiler.ScriptCoverage): number {
  return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
}
