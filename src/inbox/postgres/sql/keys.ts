import { createHash } from 'node:crypto';
import { fromText, toText } from '../driver/values.ts';

/** So many characters of a text are kept in an index. Postgres takes a third of a page, 2,704 bytes, for all columns. */
const MOST = 150;
/** `toText` writes no U+0001 that is not followed by a digit. */
const HASHED = '\u0001h';

/**
 * A type or an entity as `queue` and `shelf` have it: the text itself, or a hash of one that is too long for an index, as types
 * and entities are the sender's.
 */
export function toKey(text: string): string {
  if (text.startsWith(HASHED)) return text; // of a row, on its way back
  return text.length <= MOST ? toText(text) : `${HASHED}${createHash('sha256').update(text).digest('base64url')}`;
}

export function keyOrNull(text: string | null): string | null {
  return text === null ? null : toKey(text);
}

export function isHashed(key: string): boolean {
  return key.startsWith(HASHED);
}

/** What `toKey` was given, or the hash of it. */
export function fromKey(key: string): string {
  return isHashed(key) ? key : fromText(key);
}
