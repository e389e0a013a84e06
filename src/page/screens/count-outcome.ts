import type { AnyInbox } from '../../inbox/contract.ts';
import { delay, performance } from '../../host/real-timers.ts';
import { bulkOutcome, type BulkOutcome } from '../../ops/bulk-outcome.ts';

/** A visitor waits for a count so long; it goes on without them. */
const WAIT_MS = 800;
/** A count that takes longer than this is not repeated for ten times as long as it took. */
const FRESH_MS = 500;
const REST = 10;
/** Of so many bulks of an inbox a count is kept. */
const KEPT = 20;

/** One bulk's count: the last whole one, and the one under way. */
interface Count {
  whole: BulkOutcome | null;
  wholeAt: Date | null;
  hasFailed: boolean;
  soFar: BulkOutcome | null;
  /** on the clock of `performance.now()` */
  freshUntil: number;
  underWay: Promise<void> | null;
}

/** A count as far as it has come. */
export interface CountedOutcome {
  /** `null` before the first thousand events were counted */
  readonly outcome: BulkOutcome | null;
  readonly isWhole: boolean;
  /** since when it has stood as a whole, where that was not just now */
  readonly since: Date | null;
  /** the last count came to no end */
  readonly hasFailed: boolean;
}

const counts = new WeakMap<AnyInbox, Map<number, Count>>();

/**
 * What became of the events of a bulk, as far as it is counted: a large one takes longer than somebody should wait for a page,
 * and is not counted once for each of those who look at it.
 */
export async function countedOutcome(inbox: AnyInbox, id: number): Promise<CountedOutcome> {
  const count = countOf(inbox, id);
  const before = count.whole;
  if (count.underWay === null && performance.now() >= count.freshUntil) count.underWay = begin(inbox, id, count);
  if (count.underWay !== null) await Promise.race([count.underWay, delay(WAIT_MS, undefined, { ref: false })]);
  const { whole, soFar, wholeAt, hasFailed } = count;
  if (whole === null) return { outcome: soFar, isWhole: false, since: null, hasFailed };
  return { outcome: whole, isWhole: true, since: whole === before ? wholeAt : null, hasFailed };
}

function countOf(inbox: AnyInbox, id: number): Count {
  const ofInbox = counts.get(inbox) ?? new Map<number, Count>();
  counts.set(inbox, ofInbox);
  const count = ofInbox.get(id) ?? {
    whole: null,
    wholeAt: null,
    hasFailed: false,
    soFar: null,
    freshUntil: 0,
    underWay: null,
  };
  // The one that was looked at last stands last.
  ofInbox.delete(id);
  ofInbox.set(id, count);
  for (const oldest of ofInbox.keys()) {
    if (ofInbox.size <= KEPT) break;
    ofInbox.delete(oldest);
  }
  return count;
}

async function begin(inbox: AnyInbox, id: number, count: Count): Promise<void> {
  const begunAt = performance.now();
  try {
    const begun = new Date();
    count.whole = await bulkOutcome(inbox, id, { onProgress: (soFar) => (count.soFar = soFar) });
    count.wholeAt = begun;
    count.hasFailed = false;
  } catch {
    count.hasFailed = true;
  } finally {
    const took = performance.now() - begunAt;
    count.freshUntil = performance.now() + (took < FRESH_MS ? 0 : REST * took);
    count.underWay = null;
  }
}
