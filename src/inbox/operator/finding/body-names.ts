import { entityOf } from '../../../events/entity.ts';
import type { UnknownEvent } from '../../../events/webhook-event.ts';
import { tokensAt } from '../body-places.ts';
import type { NamesInBody } from '../../rules/search-words.ts';
import { textOf } from './written-value.ts';

/** Fields of the data that name what an event is about, whatever its type. */
const IDS = ['id', 'order_id', 'cart_id', 'product_id'] as const;
const FIELDS = ['merchant_id', 'location_id', ...IDS] as const;
const PATHS = [['type'], ...FIELDS.map((field) => ['data', field])];

/** What a body names; nothing when it is gone or no JSON. */
export function namesIn(text: string | null): NamesInBody {
  if (text === null) return { entity: null, ids: [], merchant: null };
  const [type = null, ...tokens] = tokensAt(text, PATHS);
  const token = new Map(FIELDS.map((field, n) => [field, tokens[n] ?? null]));
  // The body may be none of a valid event, but what names an entity is of the right kind in all of them.
  const data = Object.fromEntries(Array.from(token, ([field, written]) => [field, textOf(written)]));
  const event: UnknownEvent = { id: '', type: textOf(type) ?? '', created: '', data };
  const ids = IDS.map((field) => idOf(token.get(field) ?? null));
  return {
    entity: entityOf(event),
    ids: ids.filter((id): id is string => id !== null && id !== ''),
    merchant: textOf(token.get('merchant_id') ?? null),
  };
}

/** A sender's own types may number what they are about. */
function idOf(token: string | null): string | null {
  return token !== null && /^-?\d/.test(token) ? token : textOf(token);
}
