import { ConfigurationError } from '../../../../errors.ts';
import type { By } from '../../../operator/acts.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';

/** Who acts, as the tables keep it. */
export interface Author {
  readonly actor: string;
  readonly via: 'code' | 'cli' | 'page';
  readonly reason: string | null;
  readonly now: number;
}

const ACTOR_CHARACTERS = 200;
const REASON_CHARACTERS = 1_000;

/**
 * Call it before the transaction: what is thrown inside one takes the deliveries that share it along.
 *
 * @throws ConfigurationError `INVALID_OPTION` for acts of nobody, or through nothing that is known
 */
export function authorOf({ actor, via = 'code', reason, now = Date.now() }: By): Author {
  const name = typeof actor === 'string' ? cut(actor, ACTOR_CHARACTERS) : '';
  if (name === '') {
    throw new ConfigurationError('INVALID_OPTION', 'actor must say who acts: the audit keeps it.');
  }
  if (via !== 'code' && via !== 'cli' && via !== 'page') {
    throw new ConfigurationError('INVALID_OPTION', `via must be 'code', 'cli' or 'page', not ${String(via)}.`);
  }
  const why = typeof reason === 'string' ? cut(reason, REASON_CHARACTERS) : '';
  return { actor: name, via, reason: why === '' ? null : why, now: Math.trunc(now) };
}

/** Writes a line of the audit in the transaction of the act itself; returns its `seq`. */
export function addAuditLine(
  database: SqliteDatabase,
  act: string,
  { actor, via, reason, now }: Author,
  filter: unknown,
  counts: Readonly<Record<string, number>>,
): number {
  const { lastInsertRowid } = statement(
    database,
    'INSERT INTO hookbox_audit (at_ms, actor, via, act, reason, filter, counts) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ).run(now, actor, via, act, reason, JSON.stringify(filter ?? null), JSON.stringify(counts));
  return Number(lastInsertRowid);
}

/** Replaces the counts of a line, as an act that takes several transactions goes on. */
export function recountAuditLine(
  database: SqliteDatabase,
  seq: number,
  counts: Readonly<Record<string, number>>,
): void {
  statement(database, 'UPDATE hookbox_audit SET counts = ? WHERE seq = ?').run(JSON.stringify(counts), seq);
}

function cut(text: string, characters: number): string {
  return text.trim().slice(0, characters);
}
