import { delay } from '../../../host/real-timers.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../event.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import { BodiesInTurn, type Sized } from '../../operator/finding/conditions.ts';
import { noteOutOfOrder, SORTED, type Listing, type SearchIndexes } from '../../operator/finding/indexes.ts';
import type { SeqOrder, SeqRange } from '../../operator/finding/seq-ranges.ts';
import { type Reader } from '../../operator/sql.ts';
import { termsOf, type Term } from '../../rules/entity-terms.ts';
import type { Session } from '../driver/session.ts';
import { distinctEndpoints, READY } from '../engine/due-events.ts';
import { timeSlice, type EventIndex, type Reading } from '../engine/transaction.ts';
import { given, lists } from '../sql/statements.ts';
import { toKey, type Tables, rowOf } from '../sql/tables.ts';
import type { Database } from '../driver/database.ts';
import { rowsIn, postgres } from './access.ts';

/** Each order fits only its partial index. If a table seems small, Postgres would otherwise read all of it by `seq`. */
export function searchIndexes({ rows }: Reader, t: Tables): SearchIndexes {
  const aside = (from: string): Listing => ({
    from,
    within: 'seq + 0 >= $1 AND seq + 0 < $2',
    order: (direction) => `seq + 0 ${direction}`,
  });
  const place = '(coalesce(fingerprint, dead_reason), seq)';
  return {
    everything: { from: `${t.events} WHERE true` },
    retrying: aside(`${t.queue} WHERE lease_until_ms IS NULL AND failures > 0`),
    superseded: aside(
      `${t.attempts} AS last
        WHERE outcome = 'superseded' AND number = (SELECT max(number) FROM ${t.attempts} WHERE seq = last.seq)`,
    ),
    group: (fingerprint) => ({
      from: `${t.shelf} WHERE state = 'dead' AND NOT pruned`,
      within: `${place} >= ($4::text, $1::bigint) AND ${place} < ($4::text, $2::bigint)`,
      order: (direction) => `coalesce(fingerprint, dead_reason) ${direction}, seq ${direction}`,
      values: [fingerprint],
    }),
    state: (state) => aside(`${t.shelf} WHERE ${onShelf(state)}`),
    withIds: `SELECT seq FROM ${t.events} WHERE id = ANY($1::text[])`,
    died: died(t),
    nextId: (is, value) => `SELECT id FROM ${t.events} WHERE id ${is} ${value} ORDER BY id LIMIT 1`,
    // A third of the statements of halving, for about twice the rows.
    samplesAtOnce: 7,
    receivedIn: (ranges, limit) => receivedIn(rows, t, ranges, limit),
    inStates: (...given) => inStates(rows, t, ...given),
  };
}

/** The conditions fit only the index by endpoint and time. */
function died(t: Tables): string {
  return `
  WITH RECURSIVE lane AS (
    (SELECT state, endpoint FROM ${t.shelf}
     WHERE NOT pruned AND (state, endpoint) >= ('dead', '') ORDER BY state, endpoint, settled_ms, seq LIMIT 1)
    UNION ALL
    SELECT next.state, next.endpoint FROM lane CROSS JOIN LATERAL (
      SELECT state, endpoint FROM ${t.shelf}
      WHERE NOT pruned AND (state, endpoint) > (lane.state, lane.endpoint)
      ORDER BY state, endpoint, settled_ms, seq LIMIT 1
    ) AS next
    WHERE lane.state = 'dead'
  )
  SELECT died.seq, died.settled_ms FROM lane CROSS JOIN LATERAL (
    SELECT seq, settled_ms FROM ${t.shelf} AS settled
    WHERE NOT pruned
      AND (state, endpoint, settled_ms, seq) >= (lane.state, lane.endpoint, $1::bigint, 0)
      AND (state, endpoint, settled_ms, seq) < (lane.state, lane.endpoint, $2::bigint, $3::bigint)
    ORDER BY state DESC, endpoint DESC, settled_ms DESC, seq DESC LIMIT $4
  ) AS died
  WHERE lane.state = 'dead'
  ORDER BY died.settled_ms DESC, died.seq DESC LIMIT $4`;
}

/** In the form of `shelf_by_state`. */
export function onShelf(state: PutAwayState): string {
  return `state || '' = '${state}'`;
}

/** One statement, because processors move events. `null` for too many to sort. */
async function inStates(
  rows: Reader['rows'],
  t: Tables,
  states: readonly EventState[],
  types: readonly string[] | undefined,
  ...page: readonly [range: SeqRange, limit: number, order: SeqOrder]
): Promise<readonly number[] | null> {
  if (states.includes('processed')) return null;
  const part = (table: string, place: string, where: string): string => `
    (SELECT seq FROM ${table} WHERE ${place} >= $1 AND ${place} < $2 AND ${where} ORDER BY ${place} DIRECTION LIMIT $3)`;
  const some = (name: string): string => `(SELECT seq FROM ${name} WHERE seq >= $1 AND seq < $2)`;
  const isPending = states.includes('pending');
  const isTyped = isPending && types !== undefined;
  const parts: string[] = [];
  // These include events in processing.
  if (isPending && !isTyped) parts.push(part(t.queue, 'seq', 'true'));
  if (isTyped) parts.push(some('ready'), part(t.queue, 'seq + 0', 'parked'));
  // Only running handlers have leases.
  const isLeased = states.includes('processing') && (isTyped || !isPending);
  if (isLeased) parts.push(some('leased'));
  for (const state of putAwayStates) {
    if (states.includes(state)) parts.push(part(t.shelf, 'seq + 0', onShelf(state)));
  }
  if (parts.length === 0) return [];

  const ordered = `
    WITH leased AS MATERIALIZED (
      SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND NOT processed LIMIT ${isLeased ? SORTED + 1 : 0}
    ), ready AS MATERIALIZED (${isTyped ? readyOfTypes(t) : 'SELECT NULL::bigint AS seq LIMIT 0'})
    (SELECT seq FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY seq DIRECTION LIMIT $3)
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM leased) > ${SORTED} OR (SELECT count(*) FROM ready) > ${SORTED}`;
  const [{ from, before }, limit, order] = page;
  const values = [from, before, limit, ...(isTyped ? [types.map(toKey)] : [])];
  const text = ordered.replaceAll('DIRECTION', order === 'newest' ? 'DESC' : 'ASC');
  const found = await rows<{ seq: number | null }>({ text, values });
  const seqs = found.flatMap(({ seq }) => seq ?? []);
  if (seqs.length === found.length) return seqs;
  // The queue has all of them.
  return isTyped ? inStates(rows, t, states, undefined, ...page) : null;
}

/** An index begins with the endpoint and the type. */
function readyOfTypes(t: Tables): string {
  return `
    SELECT few.seq FROM (${distinctEndpoints(t.queue, READY, 'endpoint, type')}) AS lane
      CROSS JOIN unnest($4::text[]) AS wanted (type)
      CROSS JOIN LATERAL (
        SELECT seq FROM ${t.queue} AS queue
        WHERE ${READY} AND queue.endpoint = lane.endpoint AND queue.type = wanted.type LIMIT ${SORTED + 1}
      ) AS few
    LIMIT ${SORTED + 1}`;
}

async function receivedIn(
  rows: Reader['rows'],
  t: Tables,
  ranges: readonly SeqRange[],
  limit: number,
): Promise<readonly (readonly number[])[]> {
  const text = `
    SELECT given.place, events.received_ms FROM unnest($1::bigint[], $2::bigint[])
       WITH ORDINALITY AS given (first, before, place)
     CROSS JOIN LATERAL (
       SELECT received_ms FROM ${t.events} WHERE seq >= given.first AND seq < given.before ORDER BY seq LIMIT $3
     ) AS events`;
  const values = [ranges.map(({ from }) => from), ranges.map(({ before }) => before), limit];
  const found = await rows<{ place: number; received_ms: number }>({ text, values });
  const received = ranges.map((): number[] => []);
  for (const { place, received_ms: ms } of found) received[place - 1]?.push(ms);
  return received;
}

export const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

/** Another machine is indexing. */
const BUSY_MS = 25;
/** Closer numbers are checked together. */
const FAR = 32;
/** Transactions that change events wait for a batch. */
const STILL_MS = 5_000;

const INDEXED = "what = 'terms'";

/** Its terms follow from its entity and body. */
interface TermRow extends Sized {
  readonly entity: string | null;
}

const TERM_COLUMNS = 'seq, entity, octet_length(body) AS bytes';

/** The count of unindexed rows ends at this number. */
const COUNTED = 1_000;

/** Resolves with the number of events up to `upTo` that are left, at least. */
export async function indexNew(
  database: Database,
  t: Tables,
  limit: number,
  upTo = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const left = () =>
    database.read(async (session) => {
      const row = await session.row<{ left: number }>(
        `SELECT coalesce(sum(count), 0)::bigint AS left
         FROM (SELECT count FROM ${t.unindexed} WHERE first <= $1 ORDER BY first LIMIT ${COUNTED}) AS next`,
        [upTo],
      );
      return row?.left ?? 0;
    });
  const before = await left();
  if (before === 0) return 0;
  const isDone = await database.transaction({ work: (session) => indexBatch({ session, t }, limit) });
  if (isDone) return left();
  await delay(BUSY_MS);
  return before;
}

interface UnindexedRow extends TermRow {
  readonly first: number;
}

/**
 * One machine indexes at a time, and another one indexes what it has not committed.
 *
 * @returns `false` if another machine is indexing
 */
async function indexBatch({ session, t }: Reading, limit: number): Promise<boolean> {
  // A frozen machine must not keep the lock.
  await session.exec(`SET LOCAL idle_in_transaction_session_timeout = ${STILL_MS}`);
  const text = `SELECT 1 FROM ${t.progress} WHERE ${INDEXED} FOR NO KEY UPDATE SKIP LOCKED`;
  if ((await session.row(text)) === undefined) return false;
  // The LEFT JOIN keeps deleted events.
  const rows = await session.rows<UnindexedRow>(
    `SELECT waiting.first, waiting.seq, events.entity, octet_length(events.body) AS bytes
     FROM (
       SELECT first, unnest(seqs) AS seq FROM (
         SELECT *, sum(count) OVER (ORDER BY first) - count AS before
         FROM (SELECT * FROM ${t.unindexed} ORDER BY first LIMIT $1) AS next
       ) AS counted WHERE before < $1 ORDER BY first, seq LIMIT $1
     ) AS waiting LEFT JOIN ${rowOf(t.events, 'events', 'found.seq = waiting.seq')} ON true
     ORDER BY waiting.first, waiting.seq`,
    [limit],
  );
  const slice = timeSlice();
  const bodies = new BodiesInTurn(postgres(t), rows);
  const terms: TermOfEvent[] = [];
  const worked: UnindexedRow[] = [];
  for (const row of rows) {
    for (const term of await termsOfRow(session, bodies, row)) terms.push({ term, seq: row.seq });
    worked.push(row);
    slice.add(0);
    if (slice.isOver()) break;
  }
  await addTerms({ session, t }, terms);
  await forgetUnindexed({ session, t }, worked);
  const seqs = worked.map(({ seq }) => seq).toSorted((a, b) => a - b);
  for (const { from, to } of runsOf(seqs)) {
    await noteOutOfOrder({ rows: rowsIn(session) }, { t }, from, to);
  }
  return true;
}

async function forgetUnindexed({ session, t }: Reading, worked: readonly UnindexedRow[]): Promise<void> {
  const first = [...new Set(worked.map(({ first }) => first))];
  const these = `${t.unindexed} SET seqs = ARRAY(SELECT seq FROM unnest(seqs) AS seq WHERE seq <> ALL($2::bigint[]))`;
  await session.run(`UPDATE ${these} WHERE first = ANY($1::bigint[])`, [first, worked.map(({ seq }) => seq)]);
  await session.run(`DELETE FROM ${t.unindexed} WHERE first = ANY($1::bigint[]) AND cardinality(seqs) = 0`, [first]);
}

/** A sequence that was set leaves numbers of other events in between. */
function runsOf(seqs: readonly number[]): readonly { readonly from: number; readonly to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const seq of seqs) {
    const last = runs.at(-1);
    if (last !== undefined && seq - last.to <= FAR) last.to = seq;
    else runs.push({ from: seq, to: seq });
  }
  return runs;
}

/** Call it before the change of an entity or body. */
async function forgetTerms({ session, t }: Reading, seq: number): Promise<void> {
  const terms = await ownTerms({ session, t }, seq);
  await session.run(`DELETE FROM ${t.terms} WHERE term = ANY($1::text[]) AND seq = $2`, [terms.map(toKey), seq]);
}

/** Call it after the change. */
async function reindex(reading: Reading, seq: number): Promise<void> {
  const terms = await ownTerms(reading, seq);
  await addTerms(
    reading,
    terms.map((term) => ({ term, seq })),
  );
}

/** Keeps this transaction and the indexing transaction from reading events that the other one changes. */
export async function holdIndex({ session, t }: Reading): Promise<void> {
  await session.row(`SELECT 1 FROM ${t.progress} WHERE ${INDEXED} FOR SHARE`);
}

async function ownTerms({ session, t }: Reading, seq: number): Promise<readonly Term[]> {
  await holdIndex({ session, t });
  const row = await session.row<TermRow>(`SELECT ${TERM_COLUMNS} FROM ${t.events} WHERE seq = $1`, [seq]);
  return row === undefined ? [] : [...(await termsOfRow(session, new BodiesInTurn(postgres(t), [row]), row))];
}

async function termsOfRow(session: Session, bodies: BodiesInTurn, row: TermRow): Promise<ReadonlySet<Term>> {
  const text = await bodies.text(row.seq, rowsIn(session));
  return termsOf(row.entity, namesIn(text));
}

interface TermOfEvent {
  readonly term: Term;
  readonly seq: number;
}

async function addTerms({ session, t }: Reading, terms: readonly TermOfEvent[]): Promise<void> {
  const keys = terms.map(({ term, seq }) => ({ term: toKey(term), seq }));
  await session.run(
    `INSERT INTO ${t.terms} (term, seq) SELECT * FROM ${given('term, seq')} ON CONFLICT DO NOTHING`,
    lists('term, seq', keys),
  );
}
