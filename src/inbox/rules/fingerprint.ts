import { createHash } from 'node:crypto';
import type { AttemptError } from '../work.ts';
import { isRandom, isWordy } from './random-text.ts';

/** What is read of a message: no more is kept of one that a handler threw. */
const READ_CHARACTERS = 2_000;
/** What is compared: a message that differs only after that is the same in all that matters. */
const COMPARED_CHARACTERS = 300;

/**
 * What errors have in common that say the same, of whatever order: 16 hex digits of a hash over the name and the message,
 * in which ids, numbers and quoted text are all alike. A number that is a code stays. The stack is left out, as each release
 * moves its lines.
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
/** A number that says what went wrong: of HTTP, of Postgres, of a library. */
const CODED =
  /\b(?:status(?: code)?|code|errno|sqlstate|http(?:\/\d(?:\.\d)?)?)[\s:=[(#-]{1,3}(?:[0-9A-Z]{5}|\d{1,5})\b|\b(?:ORA-\d{5}|P[1-6]\d{3}|E11\d{3})\b/gi;
const WORD = /[\p{L}\p{M}\p{N}]+(?:[_+/-]+[\p{L}\p{M}\p{N}]+)*/gu;
/** The remains of a list of numbers, a date, a decimal, an IP address or base64. */
const SEVERAL = /[-+_/=]*#(?:(?:\s?[,;]\s?|[-+.:/_=])[-_]*#)*(?:[-_/+=]+(?!\S))?/g;

function withoutParticulars(message: string): string {
  return message
    .slice(0, READ_CHARACTERS)
    .replaceAll(QUOTED, '""')
    .replaceAll(ADDRESS, '#')
    .replaceAll(CODED, (code) => code.replaceAll(/\d/g, (digit) => DIGITS_THAT_STAY[Number(digit)] ?? ''))
    .replaceAll(WORD, withoutId)
    .replaceAll(SEVERAL, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, COMPARED_CHARACTERS);
}

/** Neither letters nor numbers to what looks for ids. */
const DIGITS_THAT_STAY = Array.from({ length: 10 }, (_, digit) => String.fromCharCode(0xe000 + digit));
const DIGIT = /\p{N}/u;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** An id of the service: `ord_` and letters of both cases or digits, but not `order_not_found`. */
const PREFIXED = /^[a-z]{1,12}_(?=[^_]*[0-9A-Z])[A-Za-z0-9]{6,}$/;
/** So many characters with digits and letters of both cases are no name of anything. */
const LONG = 16;
/** `deadbeef`; shorter ones, such as `facade`, are words. */
const HEX = /^[0-9a-f]{8,}$/i;
const PARTS = /[\p{L}\p{M}\p{N}]+/gu;

function withoutId(word: string): string {
  if (UUID.test(word)) return '#';
  if (PREFIXED.test(word)) return word.replace(/_.*/, '_#');
  const [, prefix = '', rest = word] = /^([a-z]{2,12}_)(.+)$/.exec(word) ?? [];
  const parts = rest.match(PARTS) ?? [];
  if (isRandom(rest) && !parts.some(isWordy)) return `${prefix}#`;
  // Of a path each step by itself.
  if (/[+/]/.test(word)) return word.replaceAll(/[^+/]+/g, withoutId);
  if (word.length >= LONG && DIGIT.test(word) && hasBothCases(word)) return '#';
  // Part by part: `step_2_failed` keeps its words, and so differs from `step_2_skipped`.
  const isOfId = parts.some((part) => DIGIT.test(part) && hasBothCases(part));
  const isId = (part: string): boolean =>
    DIGIT.test(part) || HEX.test(part) || isRandom(part) || (isOfId && !isWordy(part));
  return prefix + rest.replaceAll(PARTS, (part) => (isId(part) ? '#' : part));
}

function hasBothCases(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text);
}
