/** What an event is found by. */
export type Term = `entity ${string}` | `merchant ${string}`;

/** What a body is about, as far as it says so. */
export interface NamesInBody {
  /** the entity by hookbox's own rule */
  readonly entity: string | null;
  readonly ids: readonly string[];
  readonly merchant: string | null;
}

/** The term that finds what is about an entity, by its name or by the id of what it is about. */
export function entityTerm(name: string): Term {
  return `entity ${name}`;
}

/**
 * An event is found by the name of its entity, by each id in that name, and by its merchant. Of an event without a body the
 * merchant is the one in the name. One without an entity is found by what its body says: it may be invalid, of a type that
 * hookbox does not know, or stand alone by the application's rule, and is about somebody all the same.
 */
export function termsOf(entity: string | null, names: NamesInBody): ReadonlySet<Term> {
  const terms = new Set(entity === null ? entityTerms(names) : namesOf(entity));
  const merchant = names.merchant ?? partsOf(entity ?? '')[0] ?? '';
  if (merchant !== '') terms.add(`merchant ${merchant}`);
  return terms;
}

/** By what an event with such a body, and no entity, would be found. */
export function entityTerms({ entity, ids }: NamesInBody): readonly Term[] {
  return [...namesOf(entity ?? ''), ...ids.map(entityTerm)];
}

function namesOf(entity: string): readonly Term[] {
  return entity === '' ? [] : [entity, ...idsIn(entity)].map(entityTerm);
}

/** The ids in the name of an entity, without the merchant's: `ord_42` of `order:mer_7:ord_42`. */
export function idsIn(entity: string): readonly string[] {
  return partsOf(entity)
    .slice(1)
    .filter((id) => id !== '');
}

/** The merchant and the ids in a name of `entityOf` (src/events/entity.ts); none in a name of the application. */
function partsOf(entity: string): readonly string[] {
  const [kind, ...parts] = entity.split(':');
  const expected = PARTS.get(kind ?? '');
  return parts.length === expected ? parts.map(unescaped) : [];
}

const PARTS: ReadonlyMap<string, number> = new Map([
  ['order', 2],
  ['cart', 2],
  ['inventory', 3],
]);

function unescaped(part: string): string {
  return part.replaceAll(/%(25|3A)/g, (_, code) => (code === '25' ? '%' : ':'));
}
