import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { median, percentile } from './median.ts';

const REPEATS = 300;

/** What the disk takes to make 4 KiB durable, in milliseconds. */
export interface FdatasyncTime {
  readonly repeats: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Appends 4 KiB and calls fdatasync, again and again: the least that any durable answer costs. */
export function measureFdatasync(folder: string): FdatasyncTime {
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
