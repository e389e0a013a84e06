import type { NameIndex } from '../../../operator/finding/names-beginning.ts';
import { entityTerm, type Term } from '../../../rules/search-words.ts';
import { answer } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Names in the order of their bytes, from the indexes of a file. */
export function nextName(database: SqliteDatabase): NameIndex['nextName'] {
  const first = (table: string, column: string, from: string, behind: boolean): string | null => {
    const sql = `
      SELECT ${column} AS name FROM ${table} WHERE ${column} ${behind ? '>' : '>='} +:from ORDER BY ${column} LIMIT 1`;
    return (statement(database, sql).get({ from }) as { name: string } | undefined)?.name ?? null;
  };
  return (what, from, behind) => {
    if (what === 'id') return answer(first('hookbox_events INDEXED BY hookbox_events_by_key', 'id', from, behind));
    const begin: Term = what === 'entity' ? entityTerm('') : 'merchant ';
    const term = first('hookbox_terms', 'term', begin + from, behind);
    return answer(term?.startsWith(begin) === true ? term.slice(begin.length) : null);
  };
}
