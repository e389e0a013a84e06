import { jsonText } from '../../../events/json.ts';
import type { EventKey } from '../../event.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import { entityTerms, termsOf, type Term } from '../../rules/entity-terms.ts';
import type { EventIndex } from '../engine/deliveries.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { statement, newestSeq, keyIs } from '../sql/statement.ts';
import { type Access, timeSlice, progressOf, setProgress } from './access.ts';

/** What operators search is kept in the transactions that move events. */
export const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

/** An event as far as its terms follow from it; its merchant stands in its body. */
interface TermRow {
  readonly seq: number;
  readonly entity: string | null;
}

/** The row of hookbox_progress that says how far the index goes. */
export const INDEXED = 'terms';

/** The terms of events up to this `seq` are in the index. */
function indexedUpTo(database: SqliteDatabase): number {
  return progressOf(database, INDEXED);
}

/** Whether an event has a term: from the index as far as that goes, and from the event itself after that. */
export function hasTerm(database: SqliteDatabase, row: TermRow, term: Term): boolean {
  if (row.seq <= indexedUpTo(database)) {
    return (
      statement(database, 'SELECT 1 FROM hookbox_terms WHERE term = ? AND seq = ?').get(term, row.seq) !== undefined
    );
  }
  return termsOf(row.entity, namesIn(bodyText(database, 'hookbox_events', row.seq))).has(term);
}

/** Enters up to `limit` events that are not in the index yet; resolves with how many are left up to one of them. */
export async function indexNew(access: Access, limit: number, upTo = newestSeq(access.database())): Promise<number> {
  // Without a transaction while there is nothing to do.
  if (upTo <= indexedUpTo(access.database())) return 0;
  return access.write(({ database }) => Math.max(0, upTo - indexBatch(database, limit)));
}

/** @returns how far the index goes */
function indexBatch(database: SqliteDatabase, limit: number): number {
  const slice = timeSlice(0);
  let indexed = indexedUpTo(database);
  const rows = statement(database, 'SELECT seq, entity FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT +?');
  for (const found of rows.all(indexed, limit)) {
    const row = found as TermRow;
    addTerms(database, row);
    indexed = row.seq;
    // What is written does not grow with the body.
    slice.add(0);
    if (slice.isOver()) break;
  }
  setProgress(database, INDEXED, indexed);
  return indexed;
}

/** Takes an event out of the index; call it in the transaction that changes its entity or its body, before it does. */
export function forgetTerms(database: SqliteDatabase, key: EventKey): void {
  const row = indexedRow(database, key);
  if (row === null) return;
  const remove = statement(database, 'DELETE FROM hookbox_terms WHERE term = ? AND seq = ?');
  const names = namesIn(bodyText(database, 'hookbox_events', row.seq));
  for (const term of termsOf(row.entity, names)) remove.run(term, row.seq);
  // It may have been entered before a rerun gave it its entity.
  for (const term of entityTerms(names)) remove.run(term, row.seq);
}

/** Enters an event afresh; call it in the transaction that has changed its entity or its body, after it did. */
function reindex(database: SqliteDatabase, key: EventKey): void {
  const row = indexedRow(database, key);
  if (row !== null) addTerms(database, row);
}

/** An event that the index has come to; the others will have their turn. */
function indexedRow(database: SqliteDatabase, { id, endpoint }: EventKey): TermRow | null {
  const row = statement(database, `SELECT seq, entity FROM hookbox_events WHERE ${keyIs()}`).get({ id, endpoint }) as
    | TermRow
    | undefined;
  return row !== undefined && row.seq <= indexedUpTo(database) ? row : null;
}

function addTerms(database: SqliteDatabase, row: TermRow): void {
  const add = statement(database, 'INSERT OR IGNORE INTO hookbox_terms (term, seq) VALUES (?, ?)');
  const names = namesIn(bodyText(database, 'hookbox_events', row.seq));
  for (const term of termsOf(row.entity, names)) add.run(term, row.seq);
}

/** Where bodies are kept. */
type BodyTable = 'hookbox_events' | 'hookbox_conflicts';

/**
 * The text of a body; `null` where it is not JSON, or gone. SQLite is not asked to read it: it would take the
 * bytes for text of the encoding that its database has, which an application may have set to UTF-16.
 */
export function bodyText(database: SqliteDatabase, table: BodyTable, seq: number): string | null {
  const row = statement(database, `SELECT body FROM ${table} WHERE seq = ?`).get(seq);
  const body = (row as { body: Uint8Array | null } | undefined)?.body ?? null;
  return body === null ? null : jsonText(body);
}
