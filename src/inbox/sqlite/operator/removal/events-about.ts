import { setImmediate as turn } from 'node:timers/promises';
import type { EventKey } from '../../../event.ts';
import type { EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { namesIn } from '../search/body-names.ts';
import { bodyText } from '../search/body-text.ts';
import { entityTerms, hasTerms, indexedUpTo, type Term } from '../search/search-words.ts';

/** An event as far as it matters to finding and erasing it. */
export interface EventAbout extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
  /** `false`: it is about another one, and only the other body that is kept beside it is about this one */
  readonly whole: boolean;
}

/** What one look has come to. */
export interface PageAbout {
  readonly events: readonly EventAbout[];
  /** how many events were looked at for it */
  readonly examined: number;
}

const PAGE = 100;
/** The bodies of these are parsed, and each may have a mebibyte. */
const CONFLICTS = 2;
const WITH_TERM = 'SELECT seq FROM hookbox_terms WHERE term = :term AND seq > :seen ORDER BY seq LIMIT :limit';
const WITH_CONFLICT = 'SELECT seq FROM hookbox_conflicts WHERE seq > :seen ORDER BY seq LIMIT :limit';

/**
 * The events about an entity: those that the index knows to be about it, and those under whose id another body is kept
 * that is. Conflicts are few, and no index knows what their bodies say.
 */
export async function* eventsAbout(access: Access, entity: string): AsyncGenerator<PageAbout, void> {
  for await (const seqs of pagesOf(access, WITH_TERM, { term: `entity ${entity}`, limit: PAGE })) {
    yield pageOf(access.database(), seqs, entity, true);
  }
  for await (const seqs of pagesOf(access, WITH_CONFLICT, { limit: CONFLICTS })) {
    yield pageOf(access.database(), seqs, entity, false);
  }
}

async function* pagesOf(
  access: Access,
  sql: string,
  parameters: { readonly term?: string; readonly limit: number },
): AsyncGenerator<readonly number[], void> {
  for (let seen: number | undefined = 0; seen !== undefined;) {
    const rows = statement(access.database(), sql).all({ ...parameters, seen }) as readonly { seq: number }[];
    if (rows.length > 0) yield rows.map(({ seq }) => seq);
    seen = rows.at(-1)?.seq;
    await turn();
  }
}

function pageOf(database: SqliteDatabase, seqs: readonly number[], entity: string, whole: boolean): PageAbout {
  const events = seqs.map((seq) => eventAbout(database, seq, entity)).filter((event) => event?.whole === whole);
  return { events: events.filter((event) => event !== null), examined: seqs.length };
}

/** The event, if it is about the entity now: another body may have taken the place of the one it was found by. */
export function eventAbout(database: SqliteDatabase, seq: number, entity: string): EventAbout | null {
  const found = statement(
    database,
    'SELECT seq, endpoint, id, type, entity, state FROM hookbox_events WHERE seq = ?',
  ).get(seq);
  if (found === undefined) return null;
  const row = found as Omit<EventAbout, 'whole'>; // the columns of the statement
  const term: Term = `entity ${entity}`;
  if (hasTerms(database, row, [term], indexedUpTo(database))) return { ...row, whole: true };
  const other = namesIn(bodyText(database, 'hookbox_conflicts', seq));
  return entityTerms(other).includes(term) ? { ...row, whole: false } : null;
}
