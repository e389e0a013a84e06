import { jsonText } from '../../../events/json.ts';
import type { EventKey } from '../../event.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import { entityTerms, termsOf } from '../../rules/entity-terms.ts';
import type { EventIndex } from '../engine/deliveries.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { keyIs, newestSeq, statement } from '../sql/statement.ts';
import { INDEXED, type Access } from './access.ts';
import { timeSlice } from './transaction.ts';

export const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

interface TermRow {
  readonly seq: number;
  readonly entity: string | null;
}

/** Resolves with the number of events up to `upTo` that are left. */
export async function indexNew(access: Access, limit: number, upTo = newestSeq(access.database())): Promise<number> {
  if (upTo <= indexedIn(access.database())) return 0;
  return access.write(({ database }) => Math.max(0, upTo - indexBatch(database, limit)));
}

/** 0 before it began. */
function indexedIn(database: SqliteDatabase): number {
  const sql = `SELECT seq FROM hookbox_progress WHERE what = '${INDEXED}'`;
  return statement<{ seq: number }>(database, sql).get()?.seq ?? 0;
}

function indexBatch(database: SqliteDatabase, limit: number): number {
  const slice = timeSlice();
  let indexed = indexedIn(database);
  const sql = 'SELECT seq, entity FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT +?';
  for (const row of statement<TermRow>(database, sql).all(indexed, limit)) {
    addTerms(database, row);
    indexed = row.seq;
    if (slice.isOver()) break;
  }
  const note = `
    INSERT INTO hookbox_progress (what, seq) VALUES ('${INDEXED}', ?) ON CONFLICT (what) DO UPDATE SET seq = excluded.seq`;
  statement(database, note).run(indexed);
  return indexed;
}

/** Call it before the change of an entity or body. */
function forgetTerms(database: SqliteDatabase, key: EventKey): void {
  const row = indexedRow(database, key);
  if (row === null) return;
  const remove = statement(database, 'DELETE FROM hookbox_terms WHERE term = ? AND seq = ?');
  const names = namesOf(database, row);
  // A rerun may have given the event its entity later.
  for (const term of [...termsOf(row.entity, names), ...entityTerms(names)]) remove.run(term, row.seq);
}

/** Call it after the change. */
function reindex(database: SqliteDatabase, key: EventKey): void {
  const row = indexedRow(database, key);
  if (row !== null) addTerms(database, row);
}

/** `null` if the event is not indexed yet. */
function indexedRow(database: SqliteDatabase, { id, endpoint }: EventKey): TermRow | null {
  const sql = `SELECT seq, entity FROM hookbox_events WHERE ${keyIs()}`;
  const row = statement<TermRow>(database, sql).get({ id, endpoint });
  return row !== undefined && row.seq <= indexedIn(database) ? row : null;
}

function addTerms(database: SqliteDatabase, row: TermRow): void {
  const add = statement(database, 'INSERT OR IGNORE INTO hookbox_terms (term, seq) VALUES (?, ?)');
  for (const term of termsOf(row.entity, namesOf(database, row))) add.run(term, row.seq);
}

function namesOf(database: SqliteDatabase, { seq }: TermRow) {
  const sql = 'SELECT body FROM hookbox_events WHERE seq = ?';
  const body = statement<{ body: Uint8Array | null }>(database, sql).get(seq)?.body ?? null;
  // SQLite would read the bytes in the encoding of the application's database, such as UTF-16.
  return namesIn(body === null ? null : jsonText(body));
}
