import { namesIn } from '../../../operator/finding/body-names.ts';
import type { ErasingStore } from '../../../operator/erase-entity.ts';
import { eventAbout, type ErasableEvent, type Findings } from '../../../rules/erase-events.ts';
import { answer, atOnce } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { STATE_TO_ACT_ON } from '../../sql/records.ts';
import { bodyText } from '../search/body-text.ts';
import { hasTerm } from '../search/search-words.ts';

const WITH_TERM = 'SELECT seq FROM hookbox_terms WHERE term = +:term AND seq > :behind ORDER BY seq LIMIT +:limit';
const WITH_CONFLICT = 'SELECT seq FROM hookbox_conflicts WHERE seq > :behind ORDER BY seq LIMIT +:limit';

/** What finds the events about an entity in a file. */
export function eventsAbout(access: Access): Pick<ErasingStore, 'withTerm' | 'withConflict' | 'about'> {
  const seqs = (sql: string, parameters: object): readonly number[] =>
    (statement(access.database(), sql).all(parameters) as readonly { seq: number }[]).map(({ seq }) => seq);
  return {
    withTerm: (term, behind, limit) => seqs(WITH_TERM, { term, behind, limit }),
    withConflict: (behind, limit) => seqs(WITH_CONFLICT, { behind, limit }),
    about(found, entity) {
      const engine = findings(access.database());
      return found.flatMap((seq) => atOnce(eventAbout(engine, seq, entity)) ?? []);
    },
  };
}

/** What tells whether an event is about an entity, on the tables of a file. */
export function findings(database: SqliteDatabase): Findings {
  const found = statement(
    database,
    `SELECT seq, endpoint, id, type, entity, ${STATE_TO_ACT_ON} FROM hookbox_events WHERE seq = ?`,
  );
  return {
    erasable: (seq) => answer(found.get(seq) as ErasableEvent | undefined),
    hasTerm: (event, term) => answer(hasTerm(database, event, term)),
    namesBeside: (seq) => answer(namesIn(bodyText(database, 'hookbox_conflicts', seq))),
  };
}
