import { delay } from '../../../host/real-timers.ts';
import { BodiesInTurn, type Sized } from '../../operator/finding/conditions.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import { termsOf, type Term } from '../../rules/entity-terms.ts';
import type { Session } from '../driver/session.ts';
import { type EventIndex, timeSlice } from '../engine/transaction.ts';
import { toKey, rowOf, type Tables } from '../sql/tables.ts';
import type { Store } from '../store.ts';
import { postgres, rowsIn } from './operator-tables.ts';
import { noteOutOfOrder, selectIndexed } from './search-indexes.ts';

/** What operators search is kept in the transactions that move events. */
export const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

/** Whoever finds somebody else at it lets that be for a while, without a connection. */
const BUSY_MS = 25;
/** Numbers that lie closer together are looked at together. */
const FAR = 32;
/** Those who change events wait for a batch, so none may last for ever. */
const STILL_MS = 5_000;

const INDEXED = "what = 'terms'";

/** An event as far as its terms follow from it; its merchant stands in its body. */
interface TermRow extends Sized {
  readonly entity: string | null;
}

const TERM_COLUMNS = 'seq, entity, octet_length(body) AS bytes';

/** The count of unindexed rows ends at this number. */
const COUNTED = 1_000;

/** The terms of events up to this `seq` are in the index. */
export async function indexedUpTo(session: Session, t: Tables): Promise<number> {
  const row = await session.row<{ indexed: number }>(`SELECT ${selectIndexed(t)} AS indexed`);
  return row?.indexed ?? 0;
}

/** Enters up to `limit` events that are not in the index yet; resolves with how many are left up to one of them, at least. */
export async function indexNew(store: Store, limit: number, upTo = Number.MAX_SAFE_INTEGER): Promise<number> {
  const { database, t } = store;
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
  // Without a transaction while there is nothing to do.
  if (before === 0) return 0;
  const isDone = await database.transaction({ work: (session) => indexBatch(session, t, limit) });
  if (isDone) return left();
  await delay(BUSY_MS);
  return before;
}

interface UnindexedRow extends TermRow {
  /** of the row that has it */
  readonly first: number;
}

/**
 * Of several machines one enters events at a time. Another one enters the events that it has not committed.
 *
 * @returns `false` if another machine is entering events
 */
async function indexBatch(session: Session, t: Tables, limit: number): Promise<boolean> {
  // A machine that stands still half way lets go of it.
  await session.exec(`SET LOCAL idle_in_transaction_session_timeout = ${STILL_MS}`);
  const text = `SELECT 1 FROM ${t.progress} WHERE ${INDEXED} FOR NO KEY UPDATE SKIP LOCKED`;
  if ((await session.row(text)) === undefined) return false;
  // One that was deleted by hand is done with as well.
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
  const terms: [Term, number][] = [];
  const worked: UnindexedRow[] = [];
  for (const row of rows) {
    for (const term of await termsOfRow(session, bodies, row)) terms.push([term, row.seq]);
    worked.push(row);
    slice.add(0);
    if (slice.isOver()) break;
  }
  await addTerms(session, t, terms);
  await forgetUnindexed(session, t, worked);
  const seqs = worked.map(({ seq }) => seq).toSorted((a, b) => a - b);
  for (const { from, to } of runsOf(seqs)) await noteOutOfOrder(session, t, from, to);
  return true;
}

async function forgetUnindexed(session: Session, t: Tables, worked: readonly UnindexedRow[]): Promise<void> {
  const values = [[...new Set(worked.map(({ first }) => first))], worked.map(({ seq }) => seq)];
  const rest = 'ARRAY(SELECT seq FROM unnest(seqs) AS seq WHERE seq <> ALL($2::bigint[]))';
  await session.run(`UPDATE ${t.unindexed} SET seqs = ${rest} WHERE first = ANY($1::bigint[])`, values);
  await session.run(`DELETE FROM ${t.unindexed} WHERE first = ANY($1::bigint[]) AND cardinality(seqs) = 0`, [
    values[0],
  ]);
}

/** Numbers may lie far apart after a sequence was set. The numbers in between belong to other events. */
function runsOf(seqs: readonly number[]): readonly { readonly from: number; readonly to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const seq of seqs) {
    const last = runs.at(-1);
    if (last !== undefined && seq - last.to <= FAR) last.to = seq;
    else runs.push({ from: seq, to: seq });
  }
  return runs;
}

/** Takes an event out of the index; call it in the transaction that changes its entity or its body, before it does. */
async function forgetTerms(session: Session, t: Tables, seq: number): Promise<void> {
  const terms = await ownTerms(session, t, seq);
  await session.run(`DELETE FROM ${t.terms} WHERE term = ANY($1::text[]) AND seq = $2`, [terms.map(toKey), seq]);
}

/** Enters an event afresh; call it in the transaction that has changed its entity or its body, after it did. */
async function reindex(session: Session, t: Tables, seq: number): Promise<void> {
  const terms = await ownTerms(session, t, seq);
  await addTerms(
    session,
    t,
    terms.map((term) => [term, seq]),
  );
}

/**
 * The transaction that enters events and this one wait for each other, so neither reads an event that another is changing. An
 * event that is not in the index yet also waits.
 */
export async function holdIndex(session: Session, t: Tables): Promise<void> {
  await session.row(`SELECT 1 FROM ${t.progress} WHERE ${INDEXED} FOR SHARE`);
}

async function ownTerms(session: Session, t: Tables, seq: number): Promise<readonly Term[]> {
  await holdIndex(session, t);
  const row = await session.row<TermRow>(`SELECT ${TERM_COLUMNS} FROM ${t.events} WHERE seq = $1`, [seq]);
  return row === undefined ? [] : [...(await termsOfRow(session, new BodiesInTurn(postgres(t), [row]), row))];
}

async function termsOfRow(session: Session, bodies: BodiesInTurn, row: TermRow): Promise<ReadonlySet<Term>> {
  const text = await bodies.text(row.seq, rowsIn(session));
  return termsOf(row.entity, namesIn(text));
}

async function addTerms(session: Session, t: Tables, terms: readonly (readonly [Term, number])[]): Promise<void> {
  if (terms.length === 0) return;
  await session.run(
    `INSERT INTO ${t.terms} (term, seq) SELECT term, seq FROM unnest($1::text[], $2::bigint[]) AS given (term, seq)
     ON CONFLICT DO NOTHING`,
    [terms.map(([term]) => toKey(term)), terms.map(([, seq]) => seq)],
  );
}
