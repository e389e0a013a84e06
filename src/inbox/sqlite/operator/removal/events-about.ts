import { setImmediate as turn } from 'node:timers/promises';
import { namesIn } from '../../../operator/finding/body-names.ts';
import { entityTerm } from '../../../rules/search-words.ts';
import { eventAbout, type ErasableEvent, type EventAbout, type Findings } from '../../../rules/erase-events.ts';
import { answer, atOnce } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { bodyText } from '../search/body-text.ts';
import { hasTerm } from '../search/search-words.ts';

/** What one look has come to. */
export interface PageAbout {
  readonly events: readonly EventAbout[];
  /** how many events were looked at for it */
  readonly examined: number;
}

const PAGE = 100;
/** The bodies of these are parsed, and each may have a mebibyte. */
const CONFLICTS = 2;
const WITH_TERM = 'SELECT seq FROM hookbox_terms WHERE term = +:term AND seq > :seen ORDER BY seq LIMIT +:limit';
const WITH_CONFLICT = 'SELECT seq FROM hookbox_conflicts WHERE seq > :seen ORDER BY seq LIMIT +:limit';

/**
 * The events about an entity: those that the index knows to be about it, and those under whose id another body is kept
 * that is. Conflicts are few, and no index knows what their bodies say.
 */
export async function* eventsAbout(access: Access, entity: string): AsyncGenerator<PageAbout, void> {
  for await (const seqs of pagesOf(access, WITH_TERM, { term: entityTerm(entity), limit: PAGE })) {
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
  const engine = findings(database);
  const events = seqs.map((seq) => atOnce(eventAbout(engine, seq, entity))).filter((event) => event?.whole === whole);
  return { events: events.filter((event) => event !== null), examined: seqs.length };
}

/** What tells whether an event is about an entity, on the tables of a file. */
export function findings(database: SqliteDatabase): Findings {
  const found = statement(database, 'SELECT seq, endpoint, id, type, entity, state FROM hookbox_events WHERE seq = ?');
  return {
    erasable: (seq) => answer(found.get(seq) as ErasableEvent | undefined),
    hasTerm: (event, term) => answer(hasTerm(database, event, term)),
    namesBeside: (seq) => answer(namesIn(bodyText(database, 'hookbox_conflicts', seq))),
  };
}
