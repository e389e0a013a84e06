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
   * The number of events whose bodies and errors were erased. This number includes pending events, and events of other
   * entities if their conflicting bodies were about this entity.
   */
  readonly erased: number;
  /** The number of events whose handlers are running. Call `eraseEntity` again when these handlers have finished. */
  readonly inProcessing: number;
  /**
   * The `seq` of the audit line, which contains only a hash of the entity's name. `null` for a dry run, or if the
   * erasure was stopped before it began.
   */
  readonly audit: number | null;
  /**
   * `true` if the write-ahead log was emptied. `false` if another process was reading the log; in that case, call
   * `eraseEntity` again or wait for a later checkpoint. A dry run empties the log only if it finds no events, and
   * otherwise returns `false`. `null` on Postgres: there, VACUUM removes the rows, and the settings of the database
   * determine how long logs, standbys and archives keep the data.
   */
  readonly logEmptied: boolean | null;
}

/** The progress of {@link eraseEntity}, which first indexes new events, then examines events, and then erases them. */
export type EraseProgress =
  | { readonly step: 'indexing'; readonly left: number }
  | { readonly step: 'looking'; readonly examined: number; readonly found: number }
  | { readonly step: 'erasing'; readonly worked: number; readonly total: number };

/** The options of {@link eraseEntity}. */
export interface EraseOptions {
  /**
   * With `true`, hookbox only counts the events.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /**
   * Stops after the current batch. The report then contains the numbers so far. To continue, call `eraseEntity` again.
   */
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
  /** Counts the events that match the criteria, up to `limit`, which may be `Infinity`. */
  prunable(criteria: PruneCriteria, limit: number, options?: CountOptions): Promise<number>;
  /**
   * Turns up to `limit` events into tombstones in one transaction. The transaction ends early if it would otherwise
   * block the writer for long.
   *
   * @param progress - where the previous step ended, and the audit line whose count of `pruned` grows
   */
  pruneSome(
    criteria: PruneCriteria,
    limit: number,
    progress?: { readonly after?: PrunePosition | null; readonly audit?: number },
  ): Promise<PruneStep>;
  /**
   * Erases all data about an entity (see `EventFilter.entity`). Call `indexNew` first, because `erase` does not find
   * events that are not indexed.
   */
  erase(entity: string, by: By, options: EraseOptions): Promise<EraseReport>;
}
