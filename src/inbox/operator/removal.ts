import type { PrunableState } from '../state.ts';
import type { By } from './acts.ts';

export { prunableStates, type PrunableState } from '../state.ts';

/** The events to prune. */
export interface PruneCriteria {
  /** Settled before this time. */
  readonly settledBefore: Date;
  /**
   * In one of these states.
   *
   * @defaultValue `['processed']`
   */
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

/** The result of {@link eraseEntity}. */
export interface EraseReport {
  /**
   * Events whose bodies and errors are gone, including pending ones. Also events of another entity, if a conflicting
   * body about this entity is gone.
   */
  readonly erased: number;
  /** Events whose handlers are running. Erase again when they have ended. */
  readonly inProcessing: number;
  /**
   * The `seq` of its audit line, which has only a hash of the entity. `null` for a dry run, or if it was stopped before
   * it began.
   */
  readonly audit: number | null;
  /**
   * `true` if the write-ahead log was emptied. `false` if another process was reading; erase again, or wait for a later
   * checkpoint. A dry run empties it only if it finds nothing, and otherwise returns `false`. `null` on Postgres, where
   * VACUUM removes the rows, and settings of the database decide about logs, standbys and archives.
   */
  readonly logEmptied: boolean | null;
}

/** The progress of {@link eraseEntity}: it indexes new events, examines events, then erases them. */
export type EraseProgress =
  | { readonly step: 'indexing'; readonly left: number }
  | { readonly step: 'looking'; readonly examined: number; readonly found: number }
  | { readonly step: 'erasing'; readonly worked: number; readonly total: number };

/** The options of {@link eraseEntity}. */
export interface EraseOptions {
  /**
   * `true` only counts.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /** Stops after the current batch. The report has the numbers so far. Erase again to continue. */
  readonly signal?: AbortSignal;
  /** Called with the progress. */
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
  /** Takes what an older hookbox has left of up to `limit` events that it has erased; answers with how many it has looked at. */
  clearErased(limit: number): Promise<number>;
}
