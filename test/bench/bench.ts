import type { Disturbance } from './disturbance/disturbance.ts';
import type { Generator } from './load/generator.ts';
import type { RequestPools } from './load/request-pool.ts';
import type { Options } from './options.ts';
import type { SyncDelay } from './sync-delay/sync-delay.ts';
import type { FilledFile } from './filled-file/filled-file.ts';

/** What all tables of a run share. */
export interface Bench {
  readonly options: Options;
  readonly generator: Generator;
  readonly disturbance: Disturbance;
  readonly pools: RequestPools;
  /** of this run, on a real disk */
  readonly folder: string;
  readonly progress: (line: string) => void;
  /** a slower disk, or why there is none here */
  readonly syncDelay: SyncDelay | string;
  /** a file with a million events */
  readonly filled: FilledFile;
}
