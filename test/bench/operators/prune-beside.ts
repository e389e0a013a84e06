import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** A prune that has ended. */
export type Pruned = z.infer<typeof pruned>;

const pruned = z.object({ pruned: z.number(), seconds: z.number() });

/** A prune of half of a file, by another process. */
export interface Pruning {
  ended(): Promise<Pruned>;
  kill(): Promise<unknown>;
}

/** Resolves when the first events are tombstones. */
export async function startPruning(file: string): Promise<Pruning> {
  const script = fileURLToPath(new URL('pruning-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  return {
    async ended() {
      await closed;
      return pruned.parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? ''));
    },
    kill() {
      child.kill('SIGKILL');
      return closed;
    },
  };
}
