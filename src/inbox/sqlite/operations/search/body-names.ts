import { entityOf } from '../../../../events/entity.ts';
import type { UnknownEvent } from '../../../../events/event.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../access.ts';
import { textOf } from './body-text.ts';

/** What a body is about, as far as it says so. */
export interface NamesInBody {
  /** the entity by hookbox's own rule */
  readonly entity: string | null;
  readonly ids: readonly string[];
}

/** Where bodies are kept. */
export type BodyTable = 'hookbox_events' | 'hookbox_conflicts';

/** Fields of the data that name what an event is about, whatever its type. */
const IDS = ['id', 'order_id', 'cart_id', 'product_id'] as const;
const FIELDS = ['merchant_id', 'location_id', ...IDS] as const;

type Tokens = Readonly<Record<'type' | (typeof FIELDS)[number], string | null>>;

/**
 * What a body names; nothing when it is gone or no JSON. SQLite looks for all of it, as `tokenAt` does for one place: about
 * ten milliseconds for a body of a mebibyte.
 */
export function namesIn(database: SqliteDatabase, table: BodyTable, seq: number): NamesInBody {
  const row = statement(database, NAMES[table]).get(seq);
  if (row === undefined) return { entity: null, ids: [] };
  const tokens = row as Tokens; // the columns of the statement
  return {
    entity: entityIn(tokens),
    ids: IDS.map((field) => idOf(tokens[field])).filter((id): id is string => id !== null && id !== ''),
  };
}

/** The body may be none of a valid event, but what names an entity is of the right kind in all of them. */
function entityIn({ type, ...tokens }: Tokens): string | null {
  const data = Object.fromEntries(FIELDS.map((field) => [field, textOf(tokens[field])]));
  const event: UnknownEvent = { id: '', type: textOf(type) ?? '', created: '', data };
  return entityOf(event);
}

/** A sender's own types may number what they are about. */
function idOf(token: string | null): string | null {
  return token !== null && /^-?\d/.test(token) ? token : textOf(token);
}

const fieldOf = (name: string, path: string): string =>
  `CASE WHEN json_valid(CAST(body AS TEXT)) THEN CAST(body AS TEXT) -> '$.${path}' END AS ${name}`;
const namesFrom = (table: BodyTable): string =>
  `SELECT ${[fieldOf('type', 'type'), ...FIELDS.map((name) => fieldOf(name, `data.${name}`))].join(', ')}
   FROM ${table} WHERE seq = ?`;
const NAMES: Readonly<Record<BodyTable, string>> = {
  hookbox_events: namesFrom('hookbox_events'),
  hookbox_conflicts: namesFrom('hookbox_conflicts'),
};
