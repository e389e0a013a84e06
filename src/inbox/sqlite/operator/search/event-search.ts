import { setTimeout as delay } from 'node:timers/promises';
import { assertFilter } from '../../../operator/check-filter.ts';
import type { EventFilter } from '../../../operator/filter.ts';
import type { EventPage, EventSummary, Search, SearchRequest } from '../../../operator/search.ts';
import type { Access } from '../access.ts';
import { deadGroups } from './dead-groups.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import { SlicedWork } from '../../../operator/turns.ts';
import { candidatesFor } from './candidates.ts';
import { bytesToLookAt, conditionsOf, fitsClosely, fittingRows, type Conditions } from './conditions.ts';
import { rangesBelow, rangesWithin } from './seq-ranges.ts';
import { summaryOf, summaryOfKey, type SummaryRow } from './summary.ts';
import { indexedUpTo, indexNew } from './search-words.ts';

/** How many stored events a page looks at: few pages have to take the second step. */
const STEPS = [500, 4_500] as const;
/** And how many bytes of bodies, counted once for each condition that looks into them. */
const MOST_BYTES = 64 * 1024 * 1024;
/** And for how long it works at it, without its rests. */
const MOST_MS = 5_000;
/** Looked up at once. */
const CHUNK = 250;
/** What a search by entity or merchant enters into the index before it begins, and how long it waits for that. */
const INDEX_STEPS = 4;
const INDEX_BATCH = 500;
const INDEX_MS = 500;

export function search(access: Access): Search {
  return {
    search: (filter, page) => findPage(access, filter, page),
    summary: async (key) => summaryOfKey(access.database(), key),
    deadGroups: () => deadGroups(access),
    indexNew: (...given) => indexNew(access, ...given),
  };
}

async function findPage(access: Access, filter: EventFilter, page: SearchRequest): Promise<EventPage> {
  assertFilter(filter);
  const { before, limit } = pageBounds(page);
  page.signal?.throwIfAborted();
  const conditions = conditionsOf(filter);
  if (conditions.terms.length > 0) await indexSome(access);

  const work = await SlicedWork.begin(page.signal);
  const indexed = indexedUpTo(access.database());
  const found: Found = { conditions, indexed, limit, work, events: [], examined: 0, bytes: 0 };
  let ranges = rangesWithin(access.database(), filter, before);
  const candidates = candidatesFor(access.database(), conditions, ranges, indexed);
  let next: number | null = null;
  for (const step of STEPS) {
    // One more than is looked at tells whether there are others.
    const seqs = candidates(access.database(), ranges, step + 1);
    const examined = await examine(access, found, seqs.slice(0, step));
    next = examined < seqs.length ? (seqs[examined - 1] ?? null) : null;
    if (next === null || isFull(found)) break;
    ranges = rangesBelow(ranges, next);
  }
  return { events: found.events, examined: found.examined, next };
}

/** A page as far as it has come. */
interface Found {
  readonly conditions: Conditions;
  readonly indexed: number;
  readonly limit: number;
  readonly work: SlicedWork;
  readonly events: EventSummary[];
  examined: number;
  bytes: number;
}

function isFull({ events, limit, bytes, work }: Found): boolean {
  return events.length === limit || bytes >= MOST_BYTES || work.workedMs >= MOST_MS;
}

/** Looks at some events until the page is full; resolves with how many it has looked at. At least one, so that each page gets on. */
async function examine(access: Access, found: Found, seqs: readonly number[]): Promise<number> {
  const { conditions, indexed, work } = found;
  let at = 0;
  while (at < seqs.length && (found.examined === 0 || !isFull(found))) {
    if (work.isOver) await work.rest();
    // Taken anew after each rest: the file may have been opened afresh.
    const chunk = seqs.slice(at, at + CHUNK);
    const rows = fittingRows(access.database(), conditions, chunk);
    for (const seq of chunk) {
      at += 1;
      found.examined += 1;
      const row = rows.get(seq);
      if (row === undefined) continue;
      found.bytes += bytesToLookAt(conditions, row, indexed);
      if (await fits(access, found, row)) found.events.push(summaryOf(access.database(), row));
      if (isFull(found) || work.isOver) break;
    }
  }
  return at;
}

/** Rests within a row, too: a body may be large. */
async function fits(access: Access, { conditions, indexed, work }: Found, row: SummaryRow): Promise<boolean> {
  const looking = fitsClosely(() => access.database(), conditions, row, indexed);
  for (;;) {
    const { done, value } = looking.next();
    if (done === true) return value;
    if (work.isOver) await work.rest();
  }
}

/** So a file that nobody indexes becomes indexed by use. One that cannot be written now is searched as it is. */
async function indexSome(access: Access): Promise<void> {
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    for (let step = 0; step < INDEX_STEPS && !stop.signal.aborted; step += 1) {
      if ((await indexNew(access, INDEX_BATCH)) === 0) return;
    }
  };
  await Promise.race([work().catch(() => {}), delay(INDEX_MS, undefined, { ref: false })]);
  stop.abort();
}
