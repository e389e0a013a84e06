// What the disk takes to make 4 KiB durable; node fdatasync.ts FOLDER prints it as a line of JSON.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { median, percentile } from './median.ts';
import { runProcess } from './run-process.ts';

const REPEATS = 300;

const fdatasyncTime = z.object({ repeats: z.number(), medianMs: z.number(), p99Ms: z.number() });

/** In milliseconds. */
export type FdatasyncTime = z.infer<typeof fdatasyncTime>;

/** In a process of its own, which may have a slower disk. */
export async function measureFdatasyncApart(folder: string, env: NodeJS.ProcessEnv = {}): Promise<FdatasyncTime> {
  return fdatasyncTime.parse(await runProcess(new URL(import.meta.url), [folder], { env }));
}

/** Appends 4 KiB and calls fdatasync, again and again: the least that any durable answer costs. */
function measure(folder: string): FdatasyncTime {
  const file = join(folder, 'fdatasync.bin');
  const page = Buffer.alloc(4096, 1);
  const times: number[] = [];
  const descriptor = openSync(file, 'w');
  try {
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const startedAt = performance.now();
      writeSync(descriptor, page);
      fdatasyncSync(descriptor);
      times.push(performance.now() - startedAt);
    }
  } finally {
    closeSync(descriptor);
    rmSync(file, { force: true });
  }
  return { repeats: REPEATS, medianMs: median(times), p99Ms: percentile(times, 0.99) };
}

const [folder] = process.argv.slice(2);
if (import.meta.main && folder !== undefined) process.stdout.write(`${JSON.stringify(measure(folder))}\n`);
