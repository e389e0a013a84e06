import type { EventState, PutAwayState } from '../../event.ts';
import { entityTerm } from '../../rules/entity-terms.ts';
import type { FoundName } from '../search.ts';
import { type Dialect, type Reader, type Rows } from '../sql.ts';
import type { Died, FailureSpan, Index, SearchTables } from './candidates.ts';
import {
  aroundNew,
  isOutOfOrder,
  placed,
  type Extent,
  type ReceivedTimes,
  type SeqOrder,
  type SeqRange,
} from './seq-ranges.ts';

/** At most this many events are sorted. */
export const SORTED = 5_000;

export interface Listing {
  /** the table and a condition; its parameters begin with `$4` */
  readonly from: string;
  readonly values?: readonly unknown[];
  /** from `$1` on and before `$2` */
  readonly within?: string;
  readonly order?: (direction: 'ASC' | 'DESC') => string;
}

export interface SearchIndexes extends ReceivedTimes {
  readonly everything: Listing;
  readonly retrying: Listing;
  readonly superseded: Listing;
  readonly group: (fingerprint: string) => Listing;
  readonly state: (state: PutAwayState) => Listing;
  /** Selects the `seq` of events with an id in `$1`, in any order. */
  readonly withIds: string;
  /** Selects at most `$4` rows, the most recently dead first: from `$1` on, and before the place (`$2`, `$3`). */
  readonly died: string;
  /** Selects the first id that is at least a value, or greater. */
  readonly nextId: (is: '>=' | '>', value: string) => string;
  /** From one moment; `null` for too many to sort. */
  inStates(
    states: readonly EventState[],
    types: readonly string[] | undefined,
    range: SeqRange,
    limit: number,
    order: SeqOrder,
  ): readonly number[] | null | Promise<readonly number[] | null>;
}

type SeqRow = Pick<Died, 'seq'>;

export function searchTables({ rows }: Reader, dialect: Dialect, indexes: SearchIndexes): SearchTables {
  const { samplesAtOnce } = indexes;
  const diedBefore = async ({ from, before }: FailureSpan, place: Died | null, limit: number) => {
    const values = [from, place?.settledMs ?? before, place?.seq ?? 0, limit];
    const found = await rows<SeqRow & { readonly settled_ms: number }>({ text: indexes.died, values });
    return found.map(({ seq, settled_ms: settledMs }) => ({ seq, settledMs }));
  };
  async function list(index: Index, range: SeqRange, limit: number, order: SeqOrder) {
    if (index.of === 'states') return indexes.inStates(index.states, index.types, range, limit, order);
    if (index.of === 'ids') {
      const found = await rows<SeqRow>({ text: indexes.withIds, values: [index.ids] });
      return placed(seqsOf(found), range, limit, order);
    }
    if (index.of === 'died') {
      const died = await diedBefore(index.span, null, SORTED + 1);
      return died.length > SORTED ? null : placed(seqsOf(died), range, limit, order);
    }
    const { from, within = 'seq >= $1 AND seq < $2', order: by, values = [] } = listingOf(index, dialect, indexes);
    const direction = order === 'newest' ? 'DESC' : 'ASC';
    const inOrder = by?.(direction) ?? `seq ${direction}`;
    const text = `SELECT seq FROM ${from} AND ${within} ORDER BY ${inOrder} LIMIT CAST($3 AS bigint)`;
    return seqsOf(await rows<SeqRow>({ text, values: [range.from, range.before, limit, ...values] }));
  }
  async function countOf(events: string, values: readonly unknown[]): Promise<number> {
    const [row] = await rows<{ count: number }>({
      text: `SELECT count(*) AS count FROM (${events}) AS counted`,
      values,
    });
    return row?.count ?? 0;
  }

  return {
    samplesAtOnce,
    extent: () => extentOf(rows, dialect),
    receivedIn: (ranges, limit) => indexes.receivedIn(ranges, limit),
    list: (parts, limit, order) => Promise.all(parts.map(({ index, range }) => list(index, range, limit, order))),
    async count({ index, range }, most) {
      if (index.of === 'died') return countOf(indexes.died, [index.span.from, index.span.before, 0, most]);
      if (index.of !== 'everything') return (await list(index, range, most, 'newest'))?.length ?? null;
      const events = `SELECT 1 FROM ${indexes.everything.from} AND seq >= $1 AND seq < $2 ORDER BY seq LIMIT $3`;
      return countOf(events, [range.from, range.before, most]);
    },
    diedBefore,
    async namesBeginning(kind, text, limit) {
      const begin = kind === 'id' ? '' : kind === 'entity' ? entityTerm('') : 'merchant ';
      const statement = { text: selectNames(kind, dialect, indexes), values: [begin + text, limit] };
      const found = (await rows<{ name: string }>(statement)).map(({ name }) => name);
      return found.filter((name) => name.startsWith(begin + text)).map((name) => name.slice(begin.length));
    },
  };
}

/** The first and last event that imports stored out of order. */
const DISORDER_FROM = 'out_of_order_from';
const DISORDER_THROUGH = 'out_of_order_through';

async function extentOf(rows: Reader['rows'], { t, indexed }: Dialect): Promise<Extent> {
  const noted = (what: string): string => `(SELECT seq FROM ${t.progress} WHERE what = '${what}')`;
  const text = `
    SELECT coalesce((SELECT max(seq) FROM ${t.events}), 0) AS "newestSeq", ${indexed} AS indexed,
      coalesce(${noted(DISORDER_FROM)}, 0) AS first, ${noted(DISORDER_THROUGH)} AS last`;
  type Row = Pick<Extent, 'newestSeq' | 'indexed'> & { readonly first: number; readonly last: number | null };
  const [row] = await rows<Row>({ text });
  if (row === undefined) throw new RangeError('the statement for the extent returned no row');
  const { first, last, ...extent } = row;
  return { ...extent, disorder: last === null ? null : { from: first, before: last + 1 } };
}

/** Call it in the transaction that stores or indexes the events. */
export async function noteOutOfOrder(
  { rows }: { readonly rows: Rows },
  { t }: Pick<Dialect, 't'>,
  first: number,
  last: number,
): Promise<void> {
  const { range, limit } = aroundNew(first, last);
  const around = `
    SELECT received_ms FROM ${t.events} WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT CAST($3 AS bigint)`;
  const values = [range.from, range.before, limit];
  const received = await rows<{ received_ms: number }>({ text: around, values });
  if (!isOutOfOrder(received.map(({ received_ms: ms }) => ms))) return;
  // Two machines may import at once.
  const note = (isBetter: '<' | '>'): string => `
    INSERT INTO ${t.progress} AS known (what, seq) VALUES ($1, $2)
    ON CONFLICT (what) DO UPDATE SET seq = CASE WHEN excluded.seq ${isBetter} known.seq THEN excluded.seq ELSE known.seq END`;
  await rows({ text: note('<'), values: [DISORDER_FROM, first] });
  await rows({ text: note('>'), values: [DISORDER_THROUGH, last] });
}

function listingOf(
  index: Exclude<Index, { readonly of: 'states' | 'ids' | 'died' }>,
  { t, toKey }: Dialect,
  indexes: SearchIndexes,
): Listing {
  switch (index.of) {
    case 'everything':
    case 'retrying':
    case 'superseded':
      return indexes[index.of];
    case 'term':
      return { from: `${t.terms} WHERE term = CAST($4 AS text)`, values: [toKey(index.term)] };
    case 'group':
      return indexes.group(index.fingerprint);
    case 'state':
      return indexes.state(index.state);
    case 'conflict':
      return { from: `${t.conflicts} WHERE true` };
    case 'redelivered':
      return { from: `${t.redeliveries} WHERE true` };
    case 'bulk':
      return { from: `${t.bulk_events} WHERE bulk = CAST($4 AS bigint) AND result = 'done'`, values: [index.id] };
  }
}

/** One step through an index for each name. */
function selectNames(kind: FoundName['what'], { t }: Dialect, { nextId }: SearchIndexes): string {
  const nextTerm: SearchIndexes['nextId'] = (is, value) =>
    `SELECT term FROM ${t.terms} WHERE term ${is} ${value} ORDER BY term LIMIT 1`;
  const next = kind === 'id' ? nextId : nextTerm;
  return `
    WITH RECURSIVE names (name) AS (
      SELECT (${next('>=', 'CAST($1 AS text)')})
      UNION ALL
      SELECT (${next('>', 'names.name')}) FROM names
      WHERE substr(names.name, 1, length(CAST($1 AS text))) = CAST($1 AS text)
    )
    SELECT name FROM names WHERE name IS NOT NULL LIMIT CAST($2 AS bigint)`;
}

function seqsOf(rows: readonly SeqRow[]): readonly number[] {
  return rows.map(({ seq }) => seq);
}
