import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { newestSeq } from '../../sql/newest-seq.ts';
import { progressOf, setProgress } from '../noted-progress.ts';

/** Events from one `seq` on and before another. */
export interface SeqRange {
  readonly from: number;
  readonly before: number;
}

/**
 * Events are stored nearly in the order in which they were received, but for waiting, and for clocks that are set. So much
 * earlier or later than asked for they are looked at nevertheless.
 */
const MARGIN_MS = 60 * 60_000;
/** So many events in a row say what time it was: one with a wrong time does not mislead. */
const SAMPLE = 32;

/** Between these two, in hookbox_progress, an import has put events among others that were received at other times. */
const DISORDER_FROM = 'out of order from';
const DISORDER_THROUGH = 'out of order through';

/**
 * Where events that were received in a span of time can be, the newest first. Found by halving, as no index knows the
 * time: nothing is wrong by more than the margin, unless a clock was. Where an import has mixed times nothing is skipped.
 *
 * @param before - where the page begins
 */
export function rangesWithin(
  database: SqliteDatabase,
  { since, until }: { readonly since?: Date; readonly until?: Date },
  before: number,
): readonly SeqRange[] {
  const all = { from: 1, before: Math.min(before, newestSeq(database) + 1) };
  if (since === undefined && until === undefined) return nonEmpty([all]);

  const disorder = disorderOf(database);
  const inOrder = (range: SeqRange): SeqRange => ({
    from: since === undefined ? range.from : firstSince(database, range, since.getTime() - MARGIN_MS),
    before: until === undefined ? range.before : firstAllFrom(database, range, until.getTime() + MARGIN_MS),
  });
  if (disorder === null) return nonEmpty([inOrder(all)]);
  return nonEmpty([
    inOrder({ from: disorder.before, before: all.before }),
    { from: disorder.from, before: Math.min(disorder.before, all.before) },
    inOrder({ from: all.from, before: Math.min(disorder.from, all.before) }),
  ]);
}

/** What is left of ranges before a `seq`. */
export function rangesBelow(ranges: readonly SeqRange[], before: number): readonly SeqRange[] {
  return nonEmpty(ranges.map((range) => ({ from: range.from, before: Math.min(range.before, before) })));
}

/**
 * Notes where imported events are out of order, so that no search by time skips them. Call it in the transaction that
 * stored them.
 *
 * @param first - the `seq` of the first event of the batch
 * @param last - and of its last one
 */
export function noteImported(database: SqliteDatabase, first: number, last: number): void {
  const rows = statement(database, 'SELECT received_ms FROM hookbox_events WHERE seq >= ? ORDER BY seq LIMIT +?').all(
    first - SAMPLE,
    SAMPLE + last - first + 1,
  );
  let latest = -Infinity;
  let fell = false;
  for (const row of rows) {
    const { received_ms: received } = row as { received_ms: number };
    fell ||= received < latest - MARGIN_MS;
    latest = Math.max(latest, received);
  }
  if (!fell) return;
  // From the first import to the latest one.
  if (disorderOf(database) === null) setProgress(database, DISORDER_FROM, first);
  setProgress(database, DISORDER_THROUGH, last);
}

function disorderOf(database: SqliteDatabase): SeqRange | null {
  const through = progressOf(database, DISORDER_THROUGH);
  return through === 0 ? null : { from: progressOf(database, DISORDER_FROM), before: through + 1 };
}

function nonEmpty(ranges: readonly SeqRange[]): readonly SeqRange[] {
  return ranges.filter(({ from, before }) => from < before);
}

/** Where the first sample begins that has an event of this time or a later one. */
function firstSince(database: SqliteDatabase, range: SeqRange, time: number): number {
  return halve(range, (seq) => {
    const { latest } = sample(database, { ...range, from: seq });
    return latest === null || latest >= time;
  });
}

/** Where the first sample begins that has only events of this time or later. */
function firstAllFrom(database: SqliteDatabase, range: SeqRange, time: number): number {
  return halve(range, (seq) => {
    const { earliest } = sample(database, { ...range, from: seq });
    return earliest === null || earliest >= time;
  });
}

/** The first `seq` of a range that something holds for, if it holds for all behind that too; its end if for none. */
function halve({ from, before }: SeqRange, holds: (seq: number) => boolean): number {
  let low = from;
  let high = before;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function sample(database: SqliteDatabase, range: SeqRange): { earliest: number | null; latest: number | null } {
  const row = statement(
    database,
    `SELECT min(received_ms) AS earliest, max(received_ms) AS latest FROM (
       SELECT received_ms FROM hookbox_events WHERE seq >= :from AND seq < :before ORDER BY seq LIMIT ${SAMPLE}
     )`,
  ).get({ from: range.from, before: range.before });
  return row as { earliest: number | null; latest: number | null }; // the columns of the statement above
}
