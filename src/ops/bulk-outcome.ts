import type { AnyInbox } from '../inbox/contract.ts';
import { type Bulk, bulkFates, type BulkFate, type OutcomePart } from '../inbox/operator/acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

/** So many events of a bulk are looked at in one step. */
const STEP = 1_000;

/** The current states of a bulk action's events. */
export interface BulkOutcome {
  /** How many events the bulk action acted on. The number grows during the run. */
  readonly acted: number;
  /**
   * How many events are in each state now. `waiting` and `retrying` events are pending; `retrying` ones have failed
   * before. Nothing else is known about `erased` events.
   */
  readonly counts: Readonly<Record<BulkFate, number>>;
  /**
   * How many of these events an operator has changed since the bulk action acted on them. Such events are included in
   * `counts`, in their current state.
   */
  readonly again: number;
  /** How many events are no longer known. The inbox keeps the list of events for a week after the bulk action ends. */
  readonly forgotten: number;
}

/** The options of {@link bulkOutcome}. */
export interface BulkOutcomeOptions {
  /** Called after each thousand events with the counts so far. `forgotten` is 0 until the end. */
  readonly onProgress?: (soFar: BulkOutcome) => void;
  /** Aborts the count. */
  readonly signal?: AbortSignal;
}

const OPTIONS: KnownOptions<BulkOutcomeOptions> = { onProgress: 'function', signal: true };

/**
 * Counts a bulk action's events by their current state, because a rerun of 523 events does not mean that 523 handlers
 * succeeded. The function counts a thousand events at a time. `listEvents` with the filter `{ bulk: id }` lists the
 * events.
 *
 * @returns `null` if there is no bulk action with this id
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
 * @throws `signal.reason` if the signal is aborted
 * @example
 * ```ts
 * import { bulkOutcome } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const outcome = await bulkOutcome(inbox, 1);
 * if (outcome !== null) console.log(`${outcome.counts.dead} of ${outcome.acted} are dead`);
 * ```
 */
export async function bulkOutcome(
  inbox: AnyInbox,
  id: number,
  options: BulkOutcomeOptions = {},
): Promise<BulkOutcome | null> {
  assertOptions('bulkOutcome', options, OPTIONS);
  const { onProgress, signal } = options;
  const operations = operationsOf(inbox);
  const bulk = await operations.bulk(id);
  if (bulk === null) return null;
  const tally = new Tally(bulk);
  for (let after: number | null = 0; after !== null;) {
    signal?.throwIfAborted();
    const part = await operations.outcomePart(id, after, STEP);
    if (part === null) return null;
    tally.add(part);
    after = part.next;
    if (after !== null) onProgress?.({ ...tally.outcome(), forgotten: 0 });
  }
  return tally.outcome();
}

/** What became of a bulk's events, as far as one step counts them. */
export interface OutcomeAtFirst {
  readonly outcome: BulkOutcome;
  /** that many, or `null` for all of them */
  readonly ofFirst: number | null;
}

/** The same for a list of bulks: of each the first thousand events, in one step. `null` for one that was never run. */
export async function outcomeAtFirst(inbox: AnyInbox, bulk: Bulk): Promise<OutcomeAtFirst | null> {
  if (bulk.startedAt === null) return null;
  const part = await operationsOf(inbox).outcomePart(bulk.id, 0, STEP);
  if (part === null) return null;
  const tally = new Tally(bulk);
  tally.add(part);
  const outcome = tally.outcome();
  return part.next === null ? { outcome, ofFirst: null } : { outcome: { ...outcome, forgotten: 0 }, ofFirst: STEP };
}

/** Adds up the parts of an outcome. */
class Tally {
  readonly #done: number;
  readonly #counts = Object.fromEntries(bulkFates.map((fate) => [fate, 0])) as Record<BulkFate, number>; // one for each
  #again = 0;
  #found = 0;

  constructor({ counts }: Pick<Bulk, 'counts'>) {
    this.#done = counts.done ?? 0;
  }

  add(part: OutcomePart): void {
    for (const fate of bulkFates) {
      this.#counts[fate] += part.counts[fate] ?? 0;
      this.#found += part.counts[fate] ?? 0;
    }
    this.#again += part.again;
  }

  outcome(): BulkOutcome {
    // While it runs there are more of them than it began with.
    const acted = Math.max(this.#found, this.#done);
    return { acted, counts: { ...this.#counts }, again: this.#again, forgotten: acted - this.#found };
  }
}
