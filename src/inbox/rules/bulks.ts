import { ConfigurationError } from '../../errors.ts';
import type { EntityOf } from '../../events/entity.ts';
import type { DeadReason, EventState } from '../event.ts';
import type { ActResult, Author, Bulk, BulkFate, OutcomePart, StoredBulk } from '../operator/acts.ts';
import { addNames, recordOf, sumsOf, type Sums } from './counted.ts';
import { actedAt, type ActedRow, type Acting } from './operator-acts.ts';
import { requestByFilter, mayBeDone } from './decide-act.ts';

export const MOST_AT_ONCE = 1_000;
const PREVIEW_MS = 3_600_000;
const KEPT_MS = 7 * 24 * 3_600_000;

export interface FillingBulk extends Pick<Bulk, 'id' | 'act' | 'force' | 'filter' | 'breakdown'> {
  /** the start of its preview; `retry-now` selects events whose backoff ends later */
  readonly createdMs: number;
}

export function hasEnded({ state }: Pick<Bulk, 'state'>): boolean {
  return state === 'done' || state === 'cancelled';
}

/** A paused bulk action acts on no event until an operator resumes it. */
export function mayAdvance({ state }: Pick<Bulk, 'state'>): boolean {
  return state === 'previewed' || state === 'running';
}

/**
 * Adds the events that the action applies to now, each once.
 *
 * @param known - the events that the snapshot already has
 * @param rerun - those of these events that an operator has rerun before
 */
export function planSnapshot(
  bulk: FillingBulk,
  rows: readonly (ActedRow | null)[],
  known: ReadonlySet<number>,
  rerun: ReadonlySet<number>,
): { readonly added: readonly number[]; readonly breakdown: Bulk['breakdown'] } {
  const requested = requestByFilter(bulk.act, bulk.force, bulk.filter);
  const sums = new BreakdownSums(bulk.breakdown);
  const added = new Set<number>();
  for (const event of rows) {
    if (event === null || known.has(event.seq) || added.has(event.seq)) continue;
    if (!mayBeDone(requested, actedAt(event, bulk.createdMs))) continue;
    added.add(event.seq);
    sums.add({ ...event, again: rerun.has(event.seq) });
  }
  return { added: [...added], breakdown: sums.toBreakdown() };
}

/** Types are the sender's text, so a breakdown limits their number and length. */
const MOST_NAMES = 100;
const NAME_CHARACTERS = 200;

export class BreakdownSums {
  readonly #states: Sums;
  readonly #types: Sums;
  readonly #deadReasons: Sums;
  readonly #endpoints: Sums;
  #again: number | undefined;

  constructor({ states, types, deadReasons, endpoints, again }: Partial<Bulk['breakdown']> = {}) {
    this.#states = sumsOf(states);
    this.#types = sumsOf(types);
    this.#deadReasons = sumsOf(deadReasons);
    this.#endpoints = sumsOf(endpoints);
    this.#again = again;
  }

  add(event: {
    readonly endpoint: string;
    readonly state: EventState;
    readonly type: string | null;
    readonly deadReason: DeadReason | null;
    readonly again?: boolean;
  }): void {
    if (event.again !== undefined) {
      this.#again = (this.#again ?? 0) + Number(event.again && event.state === 'dead');
    }
    addNames(this.#states, event.state);
    addNames(this.#types, event.type === null ? 'invalid' : nameAmong(this.#types, event.type));
    if (event.deadReason !== null) addNames(this.#deadReasons, event.deadReason);
    addNames(this.#endpoints, nameAmong(this.#endpoints, event.endpoint));
  }

  toBreakdown(): Bulk['breakdown'] {
    return {
      states: recordOf(this.#states),
      types: recordOf(this.#types),
      deadReasons: recordOf(this.#deadReasons),
      endpoints: recordOf(this.#endpoints),
      ...(this.#again !== undefined && { again: this.#again }),
    };
  }
}

function nameAmong(sums: Sums, named: string): string {
  const name = named.slice(0, NAME_CHARACTERS).toWellFormed();
  return sums.has(name) || sums.size < MOST_NAMES ? name : 'other';
}

/** The first batch of a bulk writes this line of the audit; its counts grow with the other batches. */
export function planStart(bulk: StoredBulk, author: Author): { readonly author: Author; readonly target: object } {
  const { id, filter, total, force } = bulk;
  return { author: runnerOf(bulk, author), target: { bulk: id, filter, total, ...(force && { force }) } };
}

function runnerOf({ reason }: StoredBulk, author: Author): Author {
  return { ...author, reason: author.reason ?? reason };
}

export function actingOf({ act, force, filter }: StoredBulk, { now }: Author, entity: EntityOf | undefined): Acting {
  return { requested: requestByFilter(act, force, filter), now, entity };
}

interface BulkProgress extends Pick<StoredBulk, 'actor' | 'reason' | 'worked' | 'counts'> {
  readonly state: 'running' | 'done';
  readonly started: number;
  readonly ended: number | null;
}

/**
 * The first batch makes its author the operator of the bulk action; the last batch ends the bulk action.
 *
 * @param open - events without a result, with one more than the batch may work if there are more
 * @param results - of the first of them; a batch may end early
 */
export function planProgress(
  bulk: StoredBulk,
  author: Author,
  open: readonly number[],
  results: readonly ActResult[],
): BulkProgress {
  const isLast = results.length === open.length;
  const { actor, reason } = bulk.startedAt === null ? runnerOf(bulk, author) : bulk;
  return {
    actor,
    reason,
    started: bulk.startedAt?.getTime() ?? author.now,
    worked: bulk.worked + results.length,
    counts: recordOf(addNames(sumsOf(bulk.counts), ...results)),
    state: isLast ? 'done' : 'running',
    ended: isLast ? author.now : null,
  };
}

export interface BulkStep {
  readonly bulk: StoredBulk | null;
  readonly moved: boolean;
}

/** A slow process, such as one whose disk hangs, reports again within this time. */
export const SILENT_MS = 60_000;
const TOLERATED_MS = 1_000;

/** Why a running bulk has no process: the process reported that it stops, or its heartbeats ended. */
export function runOf({ state, heartbeat }: Pick<StoredBulk, 'state' | 'heartbeat'>): 'reported' | 'silent' | null {
  if (state !== 'running' || heartbeat === null) return null;
  if (heartbeat.stopped) return 'reported';
  // A heartbeat in the future came before the clock was set back.
  return heartbeat.silentMs > SILENT_MS || heartbeat.silentMs < -TOLERATED_MS ? 'silent' : null;
}

/**
 * A preview that has been filling since `fillingSince` gets no more events. A preview from before `previewedBefore`
 * that never ran is cancelled. The snapshot of a bulk that ended before `endedBefore` is cleared; the bulk stays, so
 * that no id is given twice.
 */
export function oldBulks(now: number): {
  readonly fillingSince: number;
  readonly previewedBefore: number;
  readonly endedBefore: number;
} {
  return { fillingSince: now - PREVIEW_MS, previewedBefore: now - KEPT_MS, endedBefore: now - KEPT_MS };
}

export const CLEARED_AT_ONCE = 2_000;
export const MOST_CLEARINGS = 20;

export interface AlikeEvents {
  readonly state: EventState;
  readonly failed: boolean | 0 | 1;
  readonly erased: boolean | 0 | 1;
  /** a later action has changed them */
  readonly again: boolean | 0 | 1;
  readonly count: number;
}

export interface WorkedEvent {
  readonly seq: number;
  readonly result: ActResult;
}

export function changedBy(worked: readonly WorkedEvent[]): readonly number[] {
  return worked.filter(({ result }) => result === 'done').map(({ seq }) => seq);
}

/**
 * @param worked - some of its events, in their order
 * @param changed - the events of `changedBy`, in their current states
 * @param limit - how many events were requested
 */
export function outcomeOf(worked: readonly WorkedEvent[], changed: readonly AlikeEvents[], limit: number): OutcomePart {
  const counts: Partial<Record<BulkFate, number>> = {};
  let again = 0;
  for (const alike of changed) {
    const fate = fateOf(alike);
    counts[fate] = (counts[fate] ?? 0) + alike.count;
    if (alike.again) again += alike.count;
  }
  return { counts, again, next: worked.length === limit ? (worked.at(-1)?.seq ?? null) : null };
}

function fateOf({ state, failed, erased }: AlikeEvents): BulkFate {
  if (erased) return 'erased';
  if (state === 'pending') return failed ? 'retrying' : 'waiting';
  return state;
}

export function refuseTooMany(seqs: readonly number[]): void {
  if (seqs.length > MOST_AT_ONCE)
    throw invalid(`A bulk action accepts at most ${MOST_AT_ONCE} events at once, not ${seqs.length}.`);
}

export function unknownBulk(id: number): ConfigurationError {
  return invalid(`Bulk action ${id} does not exist.`);
}

export function notFilling(id: number): ConfigurationError {
  return invalid(`The preview of bulk action ${id} has already ended, or took more than an hour. Preview again.`);
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}
