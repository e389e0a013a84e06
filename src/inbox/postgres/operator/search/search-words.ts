import { delay } from '../../../../host/real-timers.ts';
import { namesIn } from '../../../operator/finding/body-names.ts';
import { termsOf, type Term } from '../../../rules/search-words.ts';
import type { Session } from '../../driver/session.ts';
import { fromText } from '../../driver/values.ts';
import type { EventIndex } from '../../engine/event-index.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import { toKey } from '../../sql/keys.ts';
import type { Tables } from '../../sql/tables.ts';
import { Horizon } from '../../horizon.ts';
import type { Store } from '../../store.ts';
import { BodiesInTurn, type Sized } from './bodies-in-turn.ts';

/** What operators search is kept in the transactions that move events. */
export const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

/** For so long the index waits for deliveries that are being stored; they are left to the next batch then. */
const WAIT_MS = 250;

/** Whoever finds somebody else at it lets that be for a while, without a connection. */
const BUSY_MS = 25;
/** Those who change events wait for a batch, so none may last for ever. */
const STILL_MS = 5_000;

const INDEXED = "what = 'terms'";

/** An event as far as its terms follow from it; its merchant stands in its body. */
interface TermRow extends Sized {
  readonly entity: string | null;
}

const TERM_COLUMNS = 'seq, entity, octet_length(body) AS bytes';

/** The terms of events up to this `seq` are in the index. */
export async function indexedUpTo(session: Session, t: Tables): Promise<number> {
  return (await session.row<{ seq: number }>(`SELECT seq FROM ${t.progress} WHERE ${INDEXED}`))?.seq ?? 0;
}

/** Enters up to `limit` events that are not in the index yet; resolves with how many are left up to one of them. */
export async function indexNew(store: Store, limit: number, upTo?: number): Promise<number> {
  const { database, t } = store;
  const { last, indexed } = await database.read(async (session) => {
    const newest = await session.row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${t.events}`);
    return { last: upTo ?? newest?.seq ?? 0, indexed: await indexedUpTo(session, t) };
  });
  // Without a transaction while there is nothing to do.
  if (last <= indexed) return 0;
  // Afresh: what is remembered of a server is not true of a standby that took over without its last commits.
  const end = await database.read((session) => new Horizon(t).follow(session, WAIT_MS));
  const reached = await database.transaction({ work: (session) => indexBatch(session, t, limit, end) });
  if (reached !== null) return Math.max(0, last - reached);
  await delay(BUSY_MS);
  return last - indexed;
}

/**
 * Of several machines one enters events at a time; what it has not committed, another one does.
 *
 * @param end - up to where nothing more can appear
 * @returns how far the index goes; `null` where somebody else is at it
 */
async function indexBatch(session: Session, t: Tables, limit: number, end: number): Promise<number | null> {
  // A machine that stands still half way lets go of it.
  await session.exec(`SET LOCAL idle_in_transaction_session_timeout = ${STILL_MS}`);
  const text = `SELECT seq FROM ${t.progress} WHERE ${INDEXED} FOR NO KEY UPDATE SKIP LOCKED`;
  const locked = await session.row<{ seq: number }>(text);
  if (locked === undefined) return null;
  const indexed = locked.seq;
  const rows = await session.rows<TermRow>(
    `SELECT ${TERM_COLUMNS} FROM ${t.events} WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`,
    [indexed, end, limit],
  );
  // Numbers may be left out: behind the last event there is nothing up to the end.
  const isRest = rows.length < limit;
  const slice = timeSlice();
  const bodies = new BodiesInTurn(t, rows);
  const terms: [Term, number][] = [];
  let worked = 0;
  for (const row of rows) {
    for (const term of await termsOfRow(session, bodies, row)) terms.push([term, row.seq]);
    worked += 1;
    slice.add(0);
    if (slice.isOver()) break;
  }
  const isWhole = isRest && worked === rows.length;
  const reached = Math.max(indexed, isWhole ? end : (rows[worked - 1]?.seq ?? 0));
  await addTerms(session, t, terms);
  if (reached > indexed) await session.run(`UPDATE ${t.progress} SET seq = $1 WHERE ${INDEXED}`, [reached]);
  return reached;
}

/** Takes an event out of the index; call it in the transaction that changes its entity or its body, before it does. */
export async function forgetTerms(session: Session, t: Tables, seq: number): Promise<void> {
  const terms = await ownTerms(session, t, seq);
  if (terms === null) return;
  await session.run(`DELETE FROM ${t.terms} WHERE term = ANY($1::text[]) AND seq = $2`, [terms.map(toKey), seq]);
}

/** Enters an event afresh; call it in the transaction that has changed its entity or its body, after it did. */
async function reindex(session: Session, t: Tables, seq: number): Promise<void> {
  const terms = await ownTerms(session, t, seq);
  if (terms !== null)
    await addTerms(
      session,
      t,
      terms.map((term) => [term, seq]),
    );
}

/**
 * The terms of an event that the index has come to; of the others, which will have their turn, `null`. Whoever enters events
 * waits for the end of this transaction, or this one for theirs: nobody reads an event that somebody else is changing.
 */
async function ownTerms(session: Session, t: Tables, seq: number): Promise<readonly Term[] | null> {
  const indexed = await session.row<{ seq: number }>(`SELECT seq FROM ${t.progress} WHERE ${INDEXED} FOR SHARE`);
  if (seq > (indexed?.seq ?? 0)) return null;
  const row = await session.row<TermRow>(`SELECT ${TERM_COLUMNS} FROM ${t.events} WHERE seq = $1`, [seq]);
  return row === undefined ? [] : [...(await termsOfRow(session, new BodiesInTurn(t, [row]), row))];
}

async function termsOfRow(session: Session, bodies: BodiesInTurn, row: TermRow): Promise<ReadonlySet<Term>> {
  const text = await bodies.text(row.seq, (work) => work(session));
  return termsOf(row.entity === null ? null : fromText(row.entity), namesIn(text));
}

async function addTerms(session: Session, t: Tables, terms: readonly (readonly [Term, number])[]): Promise<void> {
  if (terms.length === 0) return;
  await session.run(
    `INSERT INTO ${t.terms} (term, seq) SELECT term, seq FROM unnest($1::text[], $2::bigint[]) AS given (term, seq)
     ON CONFLICT DO NOTHING`,
    [terms.map(([term]) => toKey(term)), terms.map(([, seq]) => seq)],
  );
}
