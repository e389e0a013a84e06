import type { PayloadStep } from '../../../operations/payload-path.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../access.ts';

/**
 * What stands at a place in the body of an event, exactly as it is written there: `"ord_42"`, `12.50`, `{"a":1}`. `null`
 * when there is no such place, no body, or no JSON in it. Where a name is given twice the first one counts.
 *
 * SQLite looks for it, so that a body need not be copied and parsed here for one value.
 */
export function tokenAt(database: SqliteDatabase, seq: number, steps: readonly PayloadStep[]): string | null {
  const row = statement(
    database,
    `SELECT CASE WHEN json_valid(CAST(body AS TEXT)) THEN CAST(body AS TEXT) -> :path END AS token
     FROM hookbox_events WHERE seq = :seq`,
  ).get({ seq, path: sqlitePath(steps) });
  return (row as { token: string | null } | undefined)?.token ?? null;
}

/** The text that a token means, if it is one. */
export function textOf(token: string | null): string | null {
  if (token === null || !token.startsWith('"')) return null;
  try {
    return JSON.parse(token) as string;
  } catch {
    return null; // older versions of SQLite take line breaks in a text for JSON
  }
}

/** Names are quoted, so that none of them can be read as anything else. */
function sqlitePath(steps: readonly PayloadStep[]): string {
  return `$${steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${JSON.stringify(step)}`)).join('')}`;
}
