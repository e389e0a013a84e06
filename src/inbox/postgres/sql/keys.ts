import { createHash } from 'node:crypto';

/** So many characters of a text are kept in an index. Postgres takes a third of a page, 2,704 bytes, for all columns. */
const MOST = 150;
const HASHED = '\u0001h';
// oxlint-disable-next-line no-control-regex -- that is what it begins with
const HASH = /^\u0001h[\w-]{43}$/;

/**
 * A type or an entity as `queue` and `shelf` have it: the text itself, or a hash of one that is too long for an index, as types
 * and entities are the sender's. What only begins like a hash is a text like others. One that is a hash, letter by letter, cannot be
 * told from that of a row on its way back: it waits in the queue of the text whose hash it is, and nothing worse.
 */
export function toKey(text: string): string {
  if (HASH.test(text)) return text; // of a row, on its way back
  return text.length <= MOST ? text : `${HASHED}${createHash('sha256').update(text).digest('base64url')}`;
}

export function keyOrNull(text: string | null): string | null {
  return text === null ? null : toKey(text);
}
