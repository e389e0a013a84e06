import { delay } from '../../../host/real-timers.ts';
import { gaugeOf, MOST_COUNTED } from '../../rules/gauges.ts';
import { retryPrintOf } from '../../rules/retry-groups.ts';
import { termsOf } from '../../rules/search-words.ts';
import { assertFilter } from '../check-filter.ts';
import type { EventFilter } from '../filter.ts';
import { pageBounds } from '../page-bounds.ts';
import { readPlaces } from '../body-places.ts';
import type { CountRequest, EventCount, EventPage, EventSummary, Search, SearchRequest } from '../search.ts';
import type { Clock } from '../sql.ts';
import { SlicedWork } from '../turns.ts';
import { namesIn } from './body-names.ts';
import { assertOrder, candidatesFor, exactPart, type SearchTables } from './candidates.ts';
import { conditionsOf, inDatabaseTime, keyText, type Conditions, type FittingRow } from './conditions.ts';
import { readsAs } from './written-value.ts';

/** How many stored events a page looks at: few pages have to take the second step. */
const STEPS = [500, 4_500] as const;
/** And how many bytes of bodies, counted once for each condition that looks into them. */
const MOST_BYTES = 64 * 1024 * 1024;
/** And for how long it works at it, without its rests. */
const MOST_MS = 5_000;
/** Looked up at once. */
const CHUNK = 250;
/** So many events are looked at for a count: whoever only wants to know how many there are does not wait for more. */
const MOST_EXAMINED = 20_000;
const COUNTED_AT_ONCE = 2_500;
/** What a search by entity or merchant enters into the index before it begins, and how long it waits for that. */
const INDEX_STEPS = 4;
const INDEX_BATCH = 500;
const INDEX_MS = 500;

/** Everything that a search needs of an engine. */
export interface Searched extends Pick<Search, 'indexNew'> {
  /** Decides where to look; Postgres lends a connection for it. */
  look<T>(decide: (tables: SearchTables, clock: Clock) => Promise<T>): Promise<T>;
  /**
   * Those of some events that fit as far as their columns say, and, up to `indexed`, the index of terms; whether the text of an
   * error or the values in a body fit is not asked here.
   */
  fitting(conditions: Conditions, seqs: readonly number[], indexed: number): Promise<FittingRows>;
  summaries(seqs: readonly number[]): Promise<readonly EventSummary[]>;
}

export interface FittingRows {
  /** by their `seq` */
  readonly rows: ReadonlyMap<number, FittingRow>;
  /** The text of its body; `null` where that is not JSON, or gone. Asked once for each, in the order of the events. */
  bodyText(seq: number): Promise<string | null>;
}

/** One page of a search, whatever keeps the events. */
export async function findPage(engine: Searched, filter: EventFilter, page: SearchRequest): Promise<EventPage> {
  assertFilter(filter);
  const { limit } = pageBounds(page);
  assertOrder(page);
  page.signal?.throwIfAborted();
  const asked = conditionsOf(filter);
  if (asked.terms.length > 0) await indexSome(engine, page.signal);

  const work = await SlicedWork.begin(page.signal);
  const { conditions, indexed, candidates } = await engine.look(async (tables, clock) => {
    const conditions = inDatabaseTime(asked, clock);
    const extent = await tables.extent();
    return { conditions, indexed: extent.indexed, candidates: await candidatesFor(tables, conditions, page, extent) };
  });
  const found = new Found(conditions, indexed, limit, work);
  let next: number | null = null;
  for (const step of STEPS) {
    // One more than is looked at tells whether there are others.
    const seqs = await engine.look((tables) => candidates.next(tables, step + 1));
    const examined = await examine(engine, found, seqs.slice(0, step), async (fitting) => {
      found.events.push(...(await engine.summaries(fitting)));
    });
    next = examined < seqs.length ? (seqs[examined - 1] ?? null) : null;
    if (next !== null) candidates.continueAfter(next);
    if (next === null || found.isFull()) break;
  }
  const { events, examined } = found;
  return {
    events,
    examined,
    next,
    ...(next !== null && candidates.at !== null && { nextAt: new Date(candidates.at) }),
  };
}

/** How many events fit, from what an index knows where that is enough. */
export async function countFound(
  engine: Searched,
  filter: EventFilter,
  { signal, examined: most = MOST_EXAMINED }: CountRequest,
): Promise<EventCount> {
  assertFilter(filter);
  signal?.throwIfAborted();
  const asked = conditionsOf(filter);
  if (asked.terms.length > 0) await indexSome(engine, signal);

  const work = await SlicedWork.begin(signal);
  const { conditions, indexed, exact, candidates } = await engine.look(async (tables, clock) => {
    const conditions = inDatabaseTime(asked, clock);
    const extent = await tables.extent();
    const part = exactPart(conditions, extent);
    const counted = part && (await tables.count(part, MOST_COUNTED));
    const isDone = counted !== null || most === 0;
    return {
      conditions,
      indexed: extent.indexed,
      exact: counted,
      candidates: isDone ? null : await candidatesFor(tables, conditions, {}, extent),
    };
  });
  if (exact !== null) return { ...gaugeOf(exact), cut: false };
  if (candidates === null) return { count: 0, more: false, cut: true };

  const found = new Found(conditions, indexed, MOST_COUNTED, work);
  let isThrough = false;
  while (!isThrough && !found.isFull() && found.examined < most) {
    const seqs = await engine.look((tables) => candidates.next(tables, COUNTED_AT_ONCE));
    const looked = await examine(engine, found, seqs, async () => {});
    isThrough = looked === seqs.length && seqs.length < COUNTED_AT_ONCE;
    const last = seqs[looked - 1];
    if (last !== undefined) candidates.continueAfter(last);
  }
  const counted = gaugeOf(found.count);
  return { ...counted, cut: !isThrough && !counted.more };
}

/** A page as far as it has come, or a count. */
class Found {
  readonly events: EventSummary[] = [];
  /** how many fit */
  count = 0;
  examined = 0;
  bytes = 0;
  readonly conditions: Conditions;
  readonly indexed: number;
  readonly limit: number;
  readonly work: SlicedWork;

  constructor(conditions: Conditions, indexed: number, limit: number, work: SlicedWork) {
    this.conditions = conditions;
    this.indexed = indexed;
    this.limit = limit;
    this.work = work;
  }

  isFull(): boolean {
    return this.count === this.limit || this.bytes >= MOST_BYTES || this.work.workedMs >= MOST_MS;
  }
}

/**
 * Looks at some events until the page is full; resolves with how many it has looked at. At least one, so that each page gets on.
 *
 * @param take - is given those that fit, some at a time
 */
async function examine(
  engine: Searched,
  found: Found,
  seqs: readonly number[],
  take: (fitting: readonly number[]) => Promise<void>,
): Promise<number> {
  const { conditions, indexed, work } = found;
  let at = 0;
  while (at < seqs.length && (found.examined === 0 || !found.isFull())) {
    const chunk = seqs.slice(at, at + CHUNK);
    const fitting = await engine.fitting(conditions, chunk, indexed);
    const fits: number[] = [];
    for (const seq of chunk) {
      if (work.isOver) await work.rest();
      at += 1;
      found.examined += 1;
      const row = fitting.rows.get(seq);
      if (row === undefined) continue;
      found.bytes += bytesToLookAt(conditions, row, indexed);
      if (await fitsClosely(found, fitting, row)) {
        fits.push(seq);
        found.count += 1;
      }
      if (found.isFull()) break;
    }
    await take(fits);
  }
  return at;
}

/** How many bytes of its body have to be looked at, counted once for each condition. */
function bytesToLookAt({ terms, body }: Conditions, row: FittingRow, indexed: number): number {
  const inBody = body.length + (row.seq > indexed ? terms.length : 0);
  return inBody * (row.bytes ?? 0);
}

/**
 * Whether a row fits what its columns do not say: the text of its error, the terms that the index does not know yet and the
 * values in its body. The body comes last, as it costs the most; it is read once, whatever is asked of it. Rests within a row,
 * too: a body may be large.
 */
async function fitsClosely(
  { conditions: { terms, error, text: wanted, keys, retryGroup, body }, indexed, work }: Found,
  fitting: FittingRows,
  row: FittingRow,
): Promise<boolean> {
  if (keys !== null && !keys.has(keyText(row))) return false;
  if (wanted !== null && !hasText(row, wanted) && !errorText(row.lastError).includes(wanted)) return false;
  if (retryGroup !== null && retryPrintOf(row.lastError) !== retryGroup) return false;
  if (error !== null && !errorText(row.lastError).includes(error)) return false;
  const unknown = row.seq > indexed ? terms : [];
  if (unknown.length === 0 && body.length === 0) return true;

  if (work.isOver) await work.rest();
  const text = await fitting.bodyText(row.seq);
  if (unknown.length > 0) {
    const own = termsOf(row.entity, namesIn(text));
    if (!unknown.every((term) => own.has(term))) return false;
  }
  if (body.length === 0) return true;
  if (text === null) return false;
  const reading = readPlaces(
    text,
    body.map(({ steps }) => steps),
  );
  for (;;) {
    if (work.isOver) await work.rest();
    const { done, value: tokens } = reading.next();
    if (done === true) return body.every(({ value }, n) => readsAs(tokens[n] ?? null, value));
  }
}

function hasText({ id, type, entity }: FittingRow, text: string): boolean {
  return [id, type, entity].some((name) => name?.toLowerCase().includes(text));
}

function errorText(error: EventSummary['lastError']): string {
  // No text is in none.
  return error === null ? '' : `${error.name}: ${error.message}`.toLowerCase();
}

/** So an inbox that nobody indexes becomes indexed by use. One that cannot be written now is searched as it is. */
export async function indexSome({ indexNew }: Pick<Search, 'indexNew'>, signal?: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const isOver = (): boolean => stop.signal.aborted || signal?.aborted === true;
  const work = async (): Promise<void> => {
    for (let step = 0; step < INDEX_STEPS && !isOver(); step += 1) {
      if ((await indexNew(INDEX_BATCH)) === 0) return;
    }
  };
  await Promise.race([work().catch(() => {}), delay(INDEX_MS, undefined, { ref: false })]);
  stop.abort();
}
