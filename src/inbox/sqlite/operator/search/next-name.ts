import type { NameIndex } from '../../../operator/finding/names-beginning.ts';
import { entityTerm, type Term } from '../../../rules/search-words.ts';
import { answer } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

const WITH_ID = 'SELECT id FROM hookbox_events WHERE id_hash = hookbox_id_hash(+:from) AND id = +:from LIMIT 1';

/** No index has the ids in their order: what begins with a text is looked for among the newest 2,000 events. */
const NEXT_ID = `
  SELECT min(id) AS id
  FROM (SELECT id FROM hookbox_events WHERE seq > (SELECT max(seq) - 2000 FROM hookbox_events) LIMIT 2000)
  WHERE id > +:from`;

/** Names in the order of their bytes. */
export function nextName(database: SqliteDatabase): NameIndex['nextName'] {
  const first = (table: string, column: string, from: string, behind: boolean): string | null => {
    const sql = `
      SELECT ${column} AS name FROM ${table} WHERE ${column} ${behind ? '>' : '>='} +:from ORDER BY ${column} LIMIT 1`;
    return (statement(database, sql).get({ from }) as { name: string } | undefined)?.name ?? null;
  };
  const id = (sql: string, from: string): string | null =>
    (statement(database, sql).get({ from }) as { id: string | null } | undefined)?.id ?? null;
  return (what, from, behind) => {
    if (what === 'id') return answer((behind ? null : id(WITH_ID, from)) ?? id(NEXT_ID, from));
    const begin: Term = what === 'entity' ? entityTerm('') : 'merchant ';
    const term = first('hookbox_terms', 'term', begin + from, behind);
    return answer(term?.startsWith(begin) === true ? term.slice(begin.length) : null);
  };
}
