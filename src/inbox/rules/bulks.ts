import type { EntityOf } from '../../events/entity.ts';
import { ConfigurationError } from '../../errors.ts';
import type { ActResult, Bulk, StoredBulk } from '../operator/acts.ts';
import { actedAt, actOnEvents, type ActEngine } from './act-on-events.ts';
import type { AuditLines, Author } from './audit-line.ts';
import { BreakdownSums } from './breakdown.ts';
import type { TimeSlice } from './engine.ts';
import { askedByFilter, mayBeDone } from './operator-acts.ts';
import type { Steps } from './steps.ts';
import { Sums } from './sums.ts';

/** So many events are added or worked at once, at most. */
export const MOST_AT_ONCE = 1_000;
/** A preview that takes longer has died. */
const PREVIEW_MS = 3_600_000;
/** What nobody runs is kept for so long, and what a bulk came to event by event. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** So many events of snapshots are cleared away at once. */
const CLEARED_AT_ONCE = 2_000;

/** A bulk whose snapshot is being taken: nobody sees it yet. */
export interface FillingBulk extends Pick<Bulk, 'id' | 'act' | 'force' | 'filter' | 'breakdown'> {
  /** when its preview began; what an event is then, as far as that depends on the time, it is in the snapshot */
  readonly createdMs: number;
}

/** What an engine is asked for that keeps bulk actions, beside what these do to events. */
export interface BulkEngine extends ActEngine, AuditLines, OldBulks {
  /** One whose snapshot is being taken, unless that was given up; `null` for any other. */
  filling(id: number): Steps<FillingBulk | null>;
  /** Adds an event to a snapshot; `false` when it was there. */
  addToSnapshot(id: number, seq: number): Steps<boolean>;
  /** What a snapshot has: so many events more, which together are of these kinds. */
  saveSnapshot(id: number, added: number, breakdown: Bulk['breakdown']): Steps<void>;
  /** Its snapshot is complete: it may be run. */
  seal(id: number): Steps<void>;
  /** One whose snapshot is complete; `null` for any other. */
  bulk(id: number): Steps<StoredBulk | null>;
  /** From here on it is somebody's who runs it, and why. */
  startBulk(id: number, audit: number, author: Pick<Author, 'actor' | 'reason' | 'now'>): Steps<void>;
  /** The events of its snapshot without a result, in the order of arrival. */
  openEvents(id: number, limit: number): Steps<readonly number[]>;
  noteResult(id: number, seq: number, result: ActResult): Steps<void>;
  saveWorked(id: number, worked: number, counts: Bulk['counts']): Steps<void>;
  /** Its process reports, also whether it stops. */
  noteHeartbeat(id: number, stops: boolean): Steps<void>;
  endBulk(id: number, state: 'done' | 'cancelled', now: number): Steps<void>;
}

/** Bulks that nobody needs any more. */
export interface OldBulks {
  /** Gives up snapshots that are being taken since then or longer: no event is added any more. */
  giveUpFilling(since: number): Steps<void>;
  /** Cancels what was previewed before and never run. */
  cancelPreviewed(before: number, now: number): Steps<void>;
  /**
   * Forgets events of snapshots that were given up, or cancelled before they were run, or whose bulk ended before. The bulk
   * itself stays, so that an id is never given twice. Answers with how many events.
   */
  forgetSnapshots(endedBefore: number, limit: number): Steps<number>;
}

/** Nothing more becomes of one that is done or cancelled. */
export function hasEnded({ state }: Pick<Bulk, 'state'>): boolean {
  return state === 'done' || state === 'cancelled';
}

/**
 * Adds events to a snapshot and to what is said of it: those that the action applies to now, each once.
 *
 * @returns `false` when the snapshot is not being taken any more
 */
export function* addToBulk(engine: BulkEngine, id: number, seqs: readonly number[]): Steps<boolean> {
  const bulk = yield* engine.filling(id);
  if (bulk === null) return false;
  const asked = askedByFilter(bulk.act, bulk.force, bulk.filter);
  const sums = new BreakdownSums(bulk.breakdown);
  let added = 0;
  for (const seq of seqs) {
    const event = yield* engine.acted(seq);
    if (event === null || !mayBeDone(asked, actedAt(event, bulk.createdMs)) || !(yield* engine.addToSnapshot(id, seq)))
      continue;
    added += 1;
    sums.add(event);
  }
  yield* engine.saveSnapshot(id, added, sums.toBreakdown());
  return true;
}

/** From here on it may be run; `null` when its snapshot is not being taken any more. */
export function* sealBulk(engine: BulkEngine, id: number): Steps<StoredBulk | null> {
  if ((yield* engine.filling(id)) === null) return null;
  yield* engine.seal(id);
  return yield* engine.bulk(id);
}

/** How a step of a bulk has left it; `bulk` is `null` where there is none. */
export interface BulkStep {
  readonly bulk: StoredBulk | null;
  /** something was done to an event */
  readonly moved: boolean;
}

/**
 * Works one batch, whose first one begins the bulk and whose last one ends it. One that has ended stays as it is.
 *
 * @param slice - ends the batch early
 */
export function* advanceBulk(
  engine: BulkEngine,
  id: number,
  limit: number,
  { author, entity }: { readonly author: Author; readonly entity: EntityOf | undefined },
  slice: TimeSlice,
): Steps<BulkStep> {
  const bulk = yield* engine.bulk(id);
  if (bulk === null || hasEnded(bulk)) return { bulk, moved: false };
  const audit = bulk.audit ?? (yield* begin(engine, bulk, author));
  const open = yield* engine.openEvents(id, limit);
  const asked = askedByFilter(bulk.act, bulk.force, bulk.filter);
  const acted: number[] = [];
  const results = yield* actOnEvents(engine, open, { asked, entity, now: author.now, acted }, slice);
  for (const [at, seq] of open.entries()) {
    const result = results[at];
    if (result !== undefined) yield* engine.noteResult(id, seq, result);
  }
  const counts = new Sums(bulk.counts).add(...results).toRecord();
  yield* engine.saveWorked(id, bulk.worked + results.length, counts);
  yield* engine.noteHeartbeat(id, false);
  yield* engine.recountAuditLine(audit, counts);
  if (acted.length > 0) yield* engine.noteActed(audit, acted, author.now);
  if ((yield* engine.openEvents(id, 1)).length === 0) yield* engine.endBulk(id, 'done', author.now);
  return { bulk: yield* engine.bulk(id), moved: results.includes('done') };
}

/** The first batch writes the line of the audit, whose counts grow with the others; answers with its `seq`. */
function* begin(engine: BulkEngine, bulk: StoredBulk, author: Author): Steps<number> {
  const { id, act, filter, total, force } = bulk;
  const about = { bulk: id, filter, total, ...(force && { force }) };
  // A run without a reason of its own has that of the preview.
  const runs = { ...author, reason: author.reason ?? bulk.reason };
  const audit = yield* engine.addAuditLine(act, runs, about, {});
  yield* engine.startBulk(id, audit, runs);
  return audit;
}

/** Ends a bulk where it has come to. One that has ended stays as it is; `null` where there is none. */
export function* cancelBulk(engine: BulkEngine, id: number, author: Author): Steps<StoredBulk | null> {
  const bulk = yield* engine.bulk(id);
  if (bulk === null || hasEnded(bulk)) return bulk;
  const { worked, total } = bulk;
  yield* engine.addAuditLine('cancel', author, { bulk: id }, { worked, left: total - worked });
  yield* engine.endBulk(id, 'cancelled', author.now);
  return yield* engine.bulk(id);
}

/**
 * Clears away, in several transactions, snapshots that nobody will run: those whose preview died an hour ago, those that
 * waited for a week, and what a bulk that ended a week ago came to one by one.
 *
 * @param isFirst - of these transactions
 * @returns whether there is more
 */
export function* clearOldBulks(engine: OldBulks, now: number, isFirst: boolean): Steps<boolean> {
  if (isFirst) {
    yield* engine.giveUpFilling(now - PREVIEW_MS);
    yield* engine.cancelPreviewed(now - KEPT_MS, now);
  }
  return (yield* engine.forgetSnapshots(now - KEPT_MS, CLEARED_AT_ONCE)) === CLEARED_AT_ONCE;
}

export function refuseTooMany(seqs: readonly number[]): void {
  if (seqs.length > MOST_AT_ONCE)
    throw invalid(`A bulk action accepts at most ${MOST_AT_ONCE} events at once, not ${seqs.length}.`);
}

export function unknownBulk(id: number): ConfigurationError {
  return invalid(`Bulk action ${id} does not exist.`);
}

export function notFilling(id: number): ConfigurationError {
  return invalid(`The preview of bulk action ${id} has ended or has taken more than an hour. Preview again.`);
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}
