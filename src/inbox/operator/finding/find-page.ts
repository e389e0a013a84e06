import { delay } from '../../../host/real-timers.ts';
import { gaugeOf, MOST_COUNTED } from '../../rules/counted.ts';
import { termsOf } from '../../rules/entity-terms.ts';
import { retryPrintOf } from '../../rules/error-groups.ts';
import { deadGroups } from '../dead-groups.ts';
import {
  assertFilter,
  pageBounds,
  type CountRequest,
  type EventCount,
  type EventFilter,
  type EventPage,
  type EventSummary,
  type FoundName,
  type Search,
  type SearchRequest,
} from '../search.ts';
import type { Clock, OperatorTables, Read, Reader } from '../sql.ts';
import { summariesOf, summaryOfKey } from '../summaries.ts';
import { SlicedWork } from '../turns.ts';
import { namesIn, placesReader, readsAs } from './bodies.ts';
import { BodyTextSearch } from './body-text.ts';
import { assertOrder, candidatesFor, exactPart, type SearchTables } from './candidates.ts';
import {
  BodiesInTurn,
  conditionsOf,
  fittingEvents,
  fittingRow,
  inDatabaseTime,
  keyText,
  type Conditions,
  type FittingColumns,
  type FittingRow,
} from './conditions.ts';
import { searchTables, type SearchIndexes } from './indexes.ts';

export interface SearchEngine {
  readonly indexNew: (limit: number, upTo?: number, signal?: AbortSignal) => Promise<number>;
  readonly indexes: (reader: Reader) => SearchIndexes;
  readonly groupsAtOnce: Parameters<typeof deadGroups>[1];
}

export function search(tables: OperatorTables, engine: SearchEngine): Search {
  const { dialect } = tables;
  /** A search does not keep a connection while it rests. */
  const searched = (read: Read, signal?: AbortSignal): Searched => ({
    indexNew: (limit) => engine.indexNew(limit, undefined, signal),
    look: (decide) => read((reader) => decide(searchTables(reader, dialect, engine.indexes(reader)), reader)),
    async fitting(conditions, seqs, indexed) {
      const statement = fittingEvents(dialect, conditions, seqs, indexed);
      const found = await read(({ rows }) => rows<FittingColumns>(statement));
      const rows = new Map(found.map((row) => [row.seq, fittingRow(row)]));
      const inTurn = seqs.flatMap((seq) => rows.get(seq) ?? []);
      const bodies = new BodiesInTurn(dialect, inTurn);
      return { rows, bodyText: (seq) => bodies.text(seq, (statement) => read(({ rows }) => rows(statement))) };
    },
    summaries: async (seqs) => (seqs.length === 0 ? [] : read((reader) => summariesOf(reader, dialect, seqs))),
  });
  return {
    search: (filter, page) =>
      tables.inSteps((read) => findPage(searched(read, page.signal), filter, page), page.signal),
    countFound: (filter, request) =>
      tables.inSteps((read) => countFound(searched(read, request.signal), filter, request), request.signal),
    namesLike: (...given) =>
      tables.inSteps(async (read) => {
        const engine = searched(read);
        await indexSome(engine);
        return engine.look((tables) => namesBeginning(tables, ...given));
      }),
    summary: (key) => tables.read((reader) => summaryOfKey(reader, dialect, key)),
    indexNew: (limit, upTo) => engine.indexNew(limit, upTo),
    ...deadGroups(tables, engine.groupsAtOnce),
  };
}

interface Searched {
  indexNew(limit: number): Promise<number>;
  look<T>(decide: (tables: SearchTables, clock: Clock) => Promise<T>): Promise<T>;
  /** Checks columns, and terms up to `indexed`, but not error texts or bodies. */
  fitting(conditions: Conditions, seqs: readonly number[], indexed: number): Promise<FittingRows>;
  summaries(seqs: readonly number[]): Promise<readonly EventSummary[]>;
}

interface FittingRows {
  readonly rows: ReadonlyMap<number, FittingRow>;
  /** `null` if it is pruned, or not JSON. Call it once for each event, in order. */
  bodyText(seq: number): Promise<string | null>;
}

/** Only a few pages need the second step. */
const STEPS = [500, 4_500] as const;
/** Counted once for each condition on bodies. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Rests do not count. */
const MOST_MS = 5_000;
const CHUNK = 250;
const MOST_EXAMINED = 20_000;
const COUNTED_AT_ONCE = 2_500;
const INDEX_STEPS = 4;
const INDEX_BATCH = 500;
const INDEX_MS = 500;

async function findPage(engine: Searched, filter: EventFilter, page: SearchRequest): Promise<EventPage> {
  assertFilter(filter);
  const { limit } = pageBounds(page);
  assertOrder(page);
  const { requested, work } = await begin(engine, filter, page.signal);
  const { conditions, indexed, candidates } = await engine.look(async (tables, clock) => {
    const conditions = inDatabaseTime(requested, clock);
    const extent = await tables.extent();
    return { conditions, indexed: extent.indexed, candidates: await candidatesFor(tables, conditions, page, extent) };
  });
  const found = new Found(conditions, indexed, limit, work);
  const events: EventSummary[] = [];
  let next: number | null = null;
  for (const step of STEPS) {
    // One more event shows whether there are others.
    const seqs = await engine.look((tables) => candidates.next(tables, step + 1));
    const examined = await examine(engine, found, seqs.slice(0, step), async (fitting) => {
      events.push(...(await engine.summaries(fitting)));
    });
    next = examined < seqs.length ? (seqs[examined - 1] ?? null) : null;
    if (next !== null) candidates.continueAfter(next);
    if (next === null || found.isFull()) break;
  }
  const nextAt = next !== null && candidates.at !== null && { nextAt: new Date(candidates.at) };
  return { events, examined: found.examined, next, ...nextAt };
}

async function countFound(
  engine: Searched,
  filter: EventFilter,
  { signal, examined: most = MOST_EXAMINED }: CountRequest,
): Promise<EventCount> {
  assertFilter(filter);
  const { requested, work } = await begin(engine, filter, signal);
  const { conditions, indexed, exact, candidates } = await engine.look(async (tables, clock) => {
    const conditions = inDatabaseTime(requested, clock);
    const extent = await tables.extent();
    const part = exactPart(conditions, extent);
    const exact = part && (await tables.count(part, MOST_COUNTED));
    const isDone = exact !== null || most === 0;
    const candidates = isDone ? null : await candidatesFor(tables, conditions, {}, extent);
    return { conditions, indexed: extent.indexed, exact, candidates };
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

async function begin(engine: Searched, filter: EventFilter, signal: AbortSignal | undefined) {
  signal?.throwIfAborted();
  const conditions = conditionsOf(filter);
  if (conditions.terms.length > 0) await indexSome(engine, signal);
  return { requested: conditions, work: await SlicedWork.begin(signal) };
}

class Found {
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

/** Examines at least one event, so each page makes progress. */
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
      const inBody =
        conditions.body.length + Number(conditions.bodyText !== null) + (seq > indexed ? conditions.terms.length : 0);
      found.bytes += inBody * (row.bytes ?? 0);
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

/** Checks what columns cannot decide. The body comes last, because it costs the most. */
async function fitsClosely(
  { conditions: { terms, error, text: wanted, keys, retryGroup, body, bodyText }, indexed, work }: Found,
  fitting: FittingRows,
  row: FittingRow,
): Promise<boolean> {
  if (keys !== null && !keys.has(keyText(row))) return false;
  if (wanted !== null && !hasText(row, wanted) && !errorText(row.lastError).includes(wanted)) return false;
  if (retryGroup !== null && retryPrintOf(row.lastError) !== retryGroup) return false;
  if (error !== null && !errorText(row.lastError).includes(error)) return false;
  const unknown = row.seq > indexed ? terms : [];
  if (unknown.length === 0 && body.length === 0 && bodyText === null) return true;

  if (work.isOver) await work.rest();
  const text = await fitting.bodyText(row.seq);
  if (unknown.length > 0) {
    const own = termsOf(row.entity, namesIn(text));
    if (!unknown.every((term) => own.has(term))) return false;
  }
  if (body.length === 0 && bodyText === null) return true;
  if (text === null) return false;
  if (bodyText !== null) {
    const search = new BodyTextSearch(text, bodyText);
    let isFound = search.next();
    for (; isFound === null; isFound = search.next()) if (work.isOver) await work.rest();
    if (!isFound) return false;
  }
  if (body.length === 0) return true;
  const paths = body.map(({ steps }) => steps);
  const read = placesReader(text, paths);
  for (;;) {
    if (work.isOver) await work.rest();
    const tokens = read();
    if (tokens !== null) return body.every(({ value }, n) => readsAs(tokens[n] ?? null, value));
  }
}

function hasText({ id, type, entity }: FittingRow, text: string): boolean {
  return [id, type, entity].some((name) => name?.toLowerCase().includes(text));
}

function errorText(error: EventSummary['lastError']): string {
  return error === null ? '' : `${error.name}: ${error.message}`.toLowerCase();
}

/** Without upkeep, searches fill the index. If the inbox cannot be written to, the search continues. */
async function indexSome({ indexNew }: Pick<Searched, 'indexNew'>, signal?: AbortSignal): Promise<void> {
  let isOver = false;
  const isStopped = (): boolean => isOver || signal?.aborted === true;
  const work = async (): Promise<void> => {
    for (let step = 0; step < INDEX_STEPS && !isStopped(); step += 1) {
      if ((await indexNew(INDEX_BATCH)) === 0) return;
    }
  };
  await Promise.race([work().catch(() => {}), delay(INDEX_MS, undefined, { ref: false })]);
  isOver = true;
}

const KINDS: readonly FoundName['what'][] = ['id', 'entity', 'merchant'];
/** Each letter has two cases, but few names have both. */
const MOST_READS = 400;
const LONGEST = 255;

/** Ignores the case of A to Z. */
async function namesBeginning(tables: SearchTables, text: string, limit: number): Promise<readonly FoundName[]> {
  if (text === '' || text.length > LONGEST) return [];
  const found = await Promise.all(
    KINDS.map(async (what) => (await namesOf(tables, what, text, limit)).map((name) => ({ what, name }))),
  );
  return found.flat();
}

async function namesOf(
  tables: SearchTables,
  kind: FoundName['what'],
  text: string,
  limit: number,
): Promise<readonly string[]> {
  const names: string[] = [];
  let reads = 0;
  const namesWith = async (prefix: string, most: number): Promise<readonly string[]> => {
    if (names.length >= limit || reads >= MOST_READS) return [];
    reads += 1;
    return tables.namesBeginning(kind, prefix, most);
  };
  const walk = async (begun: string, rest: string): Promise<void> => {
    // Characters without a case are read together with the next letter.
    const [same = ''] = /^[^A-Za-z]*/.exec(rest) ?? [];
    const letter = rest[same.length];
    if (letter === undefined) {
      names.push(...(await namesWith(begun + same, limit - names.length)));
      return;
    }
    for (const written of [letter.toUpperCase(), letter.toLowerCase()]) {
      const prefix = begun + same + written;
      const [first] = await namesWith(prefix, 1);
      if (first !== undefined) await walk(prefix, rest.slice(same.length + 1));
    }
  };
  await walk('', text);
  return names;
}
