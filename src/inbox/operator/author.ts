import { ConfigurationError } from '../../errors.ts';
import type { By } from './acts.ts';

/** Who acts, as the audit keeps it, and when. */
export interface Author {
  readonly actor: string;
  readonly via: NonNullable<By['via']>;
  readonly reason: string | null;
  readonly now: number;
}

const ACTOR_CHARACTERS = 200;
const REASON_CHARACTERS = 1_000;

/**
 * Call it before the transaction: what is thrown inside one takes the deliveries that share it along.
 *
 * @throws ConfigurationError `INVALID_OPTION` for actions of nobody, or through nothing that is known
 */
export function authorOf({ actor, via = 'code', reason, now = Date.now() }: By): Author {
  const name = typeof actor === 'string' ? nameOf(actor) : '';
  if (name === '') {
    throw new ConfigurationError('INVALID_OPTION', 'actor must be a name, such as ada; the audit records it.');
  }
  if (via !== 'code' && via !== 'cli' && via !== 'page') {
    throw new ConfigurationError('INVALID_OPTION', `via must be 'code', 'cli' or 'page', not ${String(via)}.`);
  }
  const why = typeof reason === 'string' ? cut(reason, REASON_CHARACTERS) : '';
  return { actor: name, via, reason: why === '' ? null : why, now: Math.trunc(now) };
}

/** Somebody's name as the audit keeps it. */
export function nameOf(actor: string): string {
  return cut(actor, ACTOR_CHARACTERS);
}

/** With the time of the commit: an action may have waited for the database, while the clock was set. */
export function atCommit(author: Author, waitedMs: number): Author {
  return { ...author, now: author.now + waitedMs };
}

function cut(text: string, characters: number): string {
  return text.trim().slice(0, characters).trimEnd();
}
