export type Term = `entity ${string}` | `merchant ${string}`;

export interface NamesInBody {
  readonly entity: string | null;
  readonly ids: readonly string[];
  readonly merchant: string | null;
}

export function entityTerm(name: string): Term {
  return `entity ${name}`;
}

/**
 * The name of its entity, each id in that name, and its merchant. An event without an entity is found by the names in
 * its body, because they also name a customer.
 */
export function termsOf(entity: string | null, names: NamesInBody): ReadonlySet<Term> {
  const terms = new Set(entity === null ? entityTerms(names) : namesOf(entity));
  const merchant = names.merchant ?? partsOf(entity ?? '')[0] ?? '';
  if (merchant !== '') terms.add(`merchant ${merchant}`);
  return terms;
}

export function entityTerms({ entity, ids }: NamesInBody): readonly Term[] {
  return [...namesOf(entity ?? ''), ...ids.map(entityTerm)];
}

function namesOf(entity: string): readonly Term[] {
  return entity === '' ? [] : [entity, ...idsIn(entity)].map(entityTerm);
}

/** Without the merchant's: `ord_42` of `order:mer_7:ord_42`. */
export function idsIn(entity: string): readonly string[] {
  return partsOf(entity)
    .slice(1)
    .filter((id) => id !== '');
}

const PARTS: Readonly<Record<string, number>> = { order: 2, cart: 2, inventory: 3 };

/** The merchant and the ids in a name of `entityOf`; none in a name of the application. */
function partsOf(entity: string): readonly string[] {
  const [kind = '', ...parts] = entity.split(':');
  if (!Object.hasOwn(PARTS, kind) || parts.length !== PARTS[kind]) return [];
  return parts.map((part) => part.replaceAll('%3A', ':').replaceAll('%25', '%'));
}
