import { jsonText } from '../../../../events/json-tokens.ts';
import { namesIn } from '../../../operator/finding/body-names.ts';
import { termsOf, type NamesInBody } from '../../../rules/search-words.ts';
import { toKey } from '../../sql/keys.ts';
import type { Tables } from '../../sql/tables.ts';
import type { EntityIndex } from '../removal/entity-index.ts';
import { forgetTerms, indexedUpTo } from './search-words.ts';

/** Which events are about an entity, as searching knows it. */
export function entityIndex(t: Tables): EntityIndex {
  return {
    async withTerm(session, term, behind, limit) {
      const text = `SELECT seq FROM ${t.terms} WHERE term = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
      return (await session.rows<{ seq: number }>(text, [toKey(term), behind, limit])).map(({ seq }) => seq);
    },
    async hasTerm(session, { seq, entity }, term) {
      if (seq <= (await indexedUpTo(session, t))) {
        const text = `SELECT 1 FROM ${t.terms} WHERE term = $1 AND seq = $2`;
        return (await session.row(text, [toKey(term), seq])) !== undefined;
      }
      const row = await session.row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [seq]);
      return termsOf(entity, namesOf(row?.body ?? null)).has(term);
    },
    async forget(session, { seq }, terms) {
      await forgetTerms(session, t, seq);
      await session.run(`DELETE FROM ${t.terms} WHERE term = ANY($1::text[]) AND seq = $2`, [terms.map(toKey), seq]);
    },
    namesIn: namesOf,
  };
}

function namesOf(body: Uint8Array | null): NamesInBody {
  return namesIn(body === null ? null : jsonText(body));
}
