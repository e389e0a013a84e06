import type { NameIndex } from '../../../operator/finding/names-beginning.ts';
import { entityTerm, type Term } from '../../../rules/search-words.ts';
import { asked } from '../../../rules/steps.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import type { Tables } from '../../sql/tables.ts';

/** Names in the order of their bytes, from the indexes of a schema. Of those that are too long for it an index has a hash alone. */
export function nextName(session: Session, t: Tables): NameIndex['nextName'] {
  const first = async (table: string, column: string, from: string, behind: boolean): Promise<string | null> => {
    const text = `
      SELECT ${column} AS name FROM ${table} WHERE ${column} ${behind ? '>' : '>='} $1 ORDER BY ${column} LIMIT 1`;
    const row = await session.row<{ name: string }>(text, [toText(from)]);
    return row === undefined ? null : fromText(row.name);
  };
  const withTerm = async (begin: Term, from: string, behind: boolean): Promise<string | null> => {
    const term = await first(t.terms, 'term', begin + from, behind);
    return term?.startsWith(begin) === true ? term.slice(begin.length) : null;
  };
  return (what, from, behind) => {
    if (what === 'id') return asked(first(t.events, 'id', from, behind));
    return asked(withTerm(what === 'entity' ? entityTerm('') : 'merchant ', from, behind));
  };
}
