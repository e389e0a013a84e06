import type { Bench } from './bench.ts';
import type { Goal } from './goals.ts';

/** A part of the page: one file in tables/ each. */
export interface Table {
  /** as `--only` names it */
  readonly name: string;
  /** the marked section of the page that it is written into, with its goals; that of most tables unless set */
  readonly section?: string;
  readonly measure: (bench: Bench) => Promise<Section>;
}

/** What a table has to say after a run. */
export interface Section {
  readonly text: string;
  readonly goals: readonly Goal[];
  /** Something else ran on the machine, so that a row is missing, or marked where that is allowed. */
  readonly disturbed: boolean;
  /** all that was measured, for `--json` */
  readonly data: unknown;
}
