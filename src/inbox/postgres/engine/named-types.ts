import { NamedTypes } from '../../rules/counts.ts';
import type { Session } from '../driver/session.ts';
import type { Tables } from '../sql/tables.ts';

const known = new WeakMap<Tables, NamedTypes>();

/** The types of an application's own that are counted by their names, as handlers name them. */
export async function namedTypes(session: Session, t: Tables): Promise<ReadonlySet<string>> {
  const named = known.get(t) ?? new NamedTypes();
  known.set(t, named);
  if (named.isFresh) return named.names;
  const rows = await session.rows<{ type: string }>(`SELECT DISTINCT type FROM ${t.handling}`, []);
  return named.learn(rows.map(({ type }) => type));
}
