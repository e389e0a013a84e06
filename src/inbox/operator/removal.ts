import type { PrunableState } from '../state.ts';
import type { By } from './acts.ts';

export { prunableStates, type PrunableState } from '../state.ts';

/** What pruning takes: the body, what errors said and other bodies under the id; the tombstone stays. */
export interface PruneCriteria {
  /** only events that were settled before then */
  readonly settledBefore: Date;
  /** in one of these states; `processed` alone unless given */
  readonly states?: readonly PrunableState[];
  readonly types?: readonly string[];
  readonly endpoint?: string;
}

/** How far pruning has come. */
export interface PrunePosition {
  readonly state: PrunableState;
  readonly settledMs: number;
  readonly seq: number;
}

export interface PruneStep {
  readonly pruned: number;
  /** where to go on; `null` when everything was looked at */
  readonly next: PrunePosition | null;
  /** for how long it worked while deliveries waited; milliseconds. A part of that where they hardly do, as on Postgres */
  readonly workMs: number;
  /** for how long it held the writer, its commit included; milliseconds. A part of that where there is no one writer */
  readonly heldMs: number;
}

export interface EraseReport {
  /**
   * events whose bodies and errors are gone, pending ones included; and events about another entity, beside which a body
   * about this one was kept that is gone
   */
  readonly erased: number;
  /** events whose handler runs at the moment: erase again when it has ended */
  readonly inProcessing: number;
  /** its line in the audit, which names the entity only by a hash; `null` for a dry run, and when it was stopped before it had begun */
  readonly audit: number | null;
  /**
   * the write-ahead log was emptied too; `false` when another process was reading just then: what was erased leaves the
   * log with a later checkpoint, so erase again. A dry run does this only when it finds nothing, and says `false` otherwise.
   * `null` on Postgres, whose log is not the inbox's: what was erased leaves the tables with VACUUM, and the log, standbys
   * and archives as the database's own settings have it
   */
  readonly logEmptied: boolean | null;
}

/** How far erasing has come: it enters new events into the index, looks which ones are meant, and takes these. */
export type EraseProgress =
  | { readonly step: 'indexing'; readonly left: number }
  | { readonly step: 'looking'; readonly examined: number; readonly found: number }
  | { readonly step: 'erasing'; readonly worked: number; readonly total: number };

export interface EraseOptions {
  /** only counts */
  readonly dryRun?: boolean;
  /** stops after the batch under way: the report says how far it came, and erasing again goes on */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: EraseProgress) => void;
}

export interface CountOptions {
  /** stops after the batch under way */
  readonly signal?: AbortSignal | undefined;
  /** told how many fit so far */
  readonly onProgress?: ((found: number) => void) | undefined;
}

export interface Removal {
  /** How many events the criteria fit; counting stops at `limit`, which may be `Infinity`. */
  prunable(criteria: PruneCriteria, limit: number, options?: CountOptions): Promise<number>;
  /**
   * Makes tombstones of up to `limit` events, in one transaction that ends early rather than hold the writer for long.
   *
   * @param progress - where the step before has ended, and the line of the audit whose count of `pruned` grows with it
   */
  pruneSome(
    criteria: PruneCriteria,
    limit: number,
    progress?: { readonly after?: PrunePosition | null; readonly audit?: number },
  ): Promise<PruneStep>;
  /**
   * Removes everything that is kept about an entity (see `EventFilter.entity`). What the index of entities does not know
   * yet is not found: call `indexNew` first.
   */
  erase(entity: string, by: By, options: EraseOptions): Promise<EraseReport>;
}
