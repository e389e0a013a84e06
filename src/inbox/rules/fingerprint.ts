import { createHash } from 'node:crypto';
import type { AttemptError } from '../work.ts';

/** What is read of a message: no more is kept of one that a handler threw. */
const READ_CHARACTERS = 2_000;
/** What is compared: a message that differs only after that is the same in all that matters. */
const COMPARED_CHARACTERS = 300;

/**
 * What errors have in common that say the same, of whatever order: 16 hex digits of a hash over the name and the message,
 * in which ids, numbers and quoted text are all alike. The stack is left out, as each release moves its lines.
 */
export function fingerprintOf({ name, message }: Pick<AttemptError, 'name' | 'message'>): string {
  return createHash('sha256')
    .update(`${name}\n${withoutParticulars(message)}`)
    .digest('hex')
    .slice(0, 16);
}

// Each of them takes time in proportion to the message: a handler's error may quote what a sender has made to be slow.
const QUOTED = /"[^"]*"|`[^`]*`|“[^“”]*”|«[^«»]*»|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu;
const ADDRESS = /[^\s@<>(),;:]{1,64}@[^\s@<>(),;:]{1,255}/g;
const WORD = /[\p{L}\p{M}\p{N}]+(?:[_-]+[\p{L}\p{M}\p{N}]+)*/gu;
/** What is left of a list of numbers, a date, a decimal or an IP address. */
const SEVERAL = /[-+]?#(?:(?:\s?[,;]\s?|[-+.:/_])#)*/g;

function withoutParticulars(message: string): string {
  return message
    .slice(0, READ_CHARACTERS)
    .replaceAll(QUOTED, '""')
    .replaceAll(ADDRESS, '#')
    .replaceAll(WORD, withoutId)
    .replaceAll(SEVERAL, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, COMPARED_CHARACTERS);
}

const DIGIT = /\p{N}/u;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** An id of the service: `ord_` and letters of both cases or digits, but not `order_not_found`. */
const PREFIXED = /^[a-z]{1,12}_(?=[^_]*[0-9A-Z])[A-Za-z0-9]{6,}$/;
/** So many characters with digits and letters of both cases are no name of anything. */
const LONG = 16;

function withoutId(word: string): string {
  if (UUID.test(word)) return '#';
  if (PREFIXED.test(word)) return word.replace(/_.*/, '_#');
  if (word.length >= LONG && DIGIT.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word)) return '#';
  // Part by part: `step_2_failed` keeps its words, and so differs from `step_2_skipped`.
  return word.replaceAll(/[\p{L}\p{M}\p{N}]+/gu, (part) => (DIGIT.test(part) ? '#' : part));
}
