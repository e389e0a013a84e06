import { delay } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import { prunableStates } from '../inbox/event.ts';
import type { PruneCriteria, PrunePosition } from '../inbox/rules/pruning.ts';
import type { PruneStep } from '../inbox/operator/pruning.ts';
import { assertOption, assertOptions, listOf, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

/** The result of {@link pruneEvents}. */
export interface PruneReport {
  /** How many events became tombstones or, in a dry run, would become tombstones. */
  readonly pruned: number;
  /** The `seq` of the audit line; `null` for a dry run. */
  readonly audit: number | null;
}

/** The options of {@link pruneEvents}. */
export interface PruneOptions {
  /**
   * `true` counts the events and changes nothing.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /** Stops after the current batch. The report then contains the number of events pruned so far. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (pruned: number) => void;
}

const OPTIONS: RulesFor<PruneOptions> = { dryRun: 'boolean', signal: true, onProgress: 'function' };
const CRITERIA: RulesFor<PruneCriteria> = {
  settledBefore: 'date',
  states: listOf(prunableStates, 1),
  types: 'list',
  endpoint: true,
};

const FIRST_BATCH = 20;
const SMALLEST_BATCH = 5;
const LARGEST_BATCH = 1_000;
/** How long a batch should hold the writer, while deliveries wait. */
const GOAL_MS = 2;
/** The pause after a batch, in multiples of its time. */
const REST = 4;

/**
 * Turns settled events into tombstones. Their bodies, error messages and conflicting bodies are removed. Their ids
 * remain known, so redeliveries are still recognised as duplicates.
 *
 * `pruneEvents` works in small batches and pauses after each one, so deliveries are hardly affected. The counts of the
 * audit line grow with each batch, so the line is correct even if the process is killed. To continue after an
 * interruption, call `pruneEvents` again. At the end, `pruneEvents` also sums up counts and indexes new events, because
 * serverless receivers do neither.
 *
 * @param criteria - the events to prune; only `processed` ones unless `states` is set
 * @throws ConfigurationError `INVALID_OPTION` for invalid criteria
 * @example
 * ```ts
 * import { pruneEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const monthAgo = new Date(Date.now() - 30 * 86_400_000);
 * const { pruned } = await pruneEvents(inbox, { settledBefore: monthAgo }, { actor: 'nightly job' });
 * console.log(`${pruned} events are tombstones now`);
 * ```
 */
export async function pruneEvents(
  inbox: AnyInbox,
  criteria: PruneCriteria,
  by: By,
  options: PruneOptions = {},
): Promise<PruneReport> {
  assertOptions('pruneEvents', options, OPTIONS);
  assertOptions('pruneEvents, criteria', criteria, CRITERIA);
  assertOption('settledBefore', criteria.settledBefore, 'date');
  const { dryRun = false, signal, onProgress } = options;
  const operations = operationsOf(inbox);
  if (dryRun) return { pruned: await operations.prunable(criteria, Infinity, { signal, onProgress }), audit: null };

  const audit = await operations.note('prune', by, criteria, { pruned: 0 });
  let pruned = 0;
  let batch = FIRST_BATCH;
  let after: PrunePosition | null = null;
  for (;;) {
    const step: PruneStep = await operations.pruneSome(criteria, batch, { after, audit });
    pruned += step.pruned;
    onProgress?.(pruned);
    after = step.next;
    if (after === null || signal?.aborted === true) break;
    batch = nextBatch(batch, step);
    await delay(REST * step.heldMs);
  }
  await keepUp(inbox, by, signal);
  return { pruned, audit };
}

export async function keepUp(inbox: AnyInbox, by: By, signal?: AbortSignal): Promise<void> {
  if (inbox.upkeep === undefined) return;
  const [newest] = (await operationsOf(inbox).search({}, { limit: 1 })).events;
  const isOpen = (): boolean => signal?.aborted !== true;
  await inbox.upkeep({ now: () => by.now ?? Date.now(), isOpen, upTo: newest?.seq ?? 0 });
}

/** At most twice as many as before, because one quick step may be chance. */
function nextBatch(batch: number, { pruned, workMs }: PruneStep): number {
  if (pruned === 0) return batch;
  // The commit takes the same time for a smaller batch.
  const fitting = Math.floor((pruned * GOAL_MS) / workMs);
  return Math.min(Math.max(fitting, SMALLEST_BATCH), 2 * batch, LARGEST_BATCH);
}
