import { createHash } from 'node:crypto';
import type { EventFilter, EventSummary, RetryGroup } from '../operator/search.ts';
import type { AttemptError } from '../work.ts';

export const MOST_GROUPS = 200;
export const COUNTED_GROUPS = 2_000;

export interface CountedGroup {
  readonly print: string;
  readonly count: number;
  readonly last: number;
  /** acknowledged groups come last */
  readonly isOpen?: boolean;
}

export function largestOf<Group extends CountedGroup>(groups: readonly Group[]): readonly Group[] {
  const rank = ({ isOpen = true }: CountedGroup): number => (isOpen ? 0 : 1);
  return groups.toSorted((a, b) => rank(a) - rank(b) || b.count - a.count || b.last - a.last).slice(0, MOST_GROUPS);
}

/** The fingerprint that it would have if it were dead. */
export function retryPrintOf(error: EventSummary['lastError']): string {
  return error === null ? 'failed' : fingerprintOf(error);
}

/** No column has the fingerprints of retries, because each retry ends soon. */
export function retryGroupOf({ retrying, fingerprint }: EventFilter): string | null {
  return retrying === true ? (fingerprint ?? null) : null;
}

export function retryGroupsOf(events: readonly EventSummary[], more: boolean): readonly RetryGroup[] {
  const groups = Map.groupBy(events, ({ lastError }) => retryPrintOf(lastError));
  const counted = Array.from(groups, ([print, of]) => ({ print, of, count: of.length, last: of[0]?.seq ?? 0 }));
  return largestOf(counted).flatMap(({ print, of, count }) => {
    const [newest] = of;
    const oldest = of.at(-1);
    if (newest === undefined || oldest === undefined) return [];
    const due = of.flatMap(({ dueAt }) => dueAt ?? []).toSorted((one, other) => one.getTime() - other.getTime());
    return { fingerprint: print, sample: newest.lastError, count, more, newest, oldest, nextDueAt: due[0] ?? null };
  });
}

const READ_CHARACTERS = 2_000;
const COMPARED_CHARACTERS = 300;

/**
 * 16 hex digits of a hash over the name and the message, with ids, numbers and quoted text made equal. A number
 * that is a code stays. The stack is excluded, because each release moves its lines.
 */
export function fingerprintOf({ name, message }: Pick<AttemptError, 'name' | 'message'>): string {
  return createHash('sha256')
    .update(`${name}\n${withoutParticulars(message)}`)
    .digest('hex')
    .slice(0, 16);
}

// Each takes time in proportion to the message, because an error may quote a sender's text.
const QUOTED = /"[^"]*"|`[^`]*`|“[^“”]*”|«[^«»]*»|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu;
const ADDRESS = /[^\s@<>(),;:]{1,64}@[^\s@<>(),;:]{1,255}/g;
/** A code of HTTP, Postgres or a library. */
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

/** Characters that the patterns for ids do not match. */
const DIGITS_THAT_STAY = Array.from({ length: 10 }, (_, digit) => String.fromCharCode(0xe000 + digit));
const DIGIT = /\p{N}/u;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** An id of the service: `ord_` and letters of both cases or digits, but not `order_not_found`. */
const PREFIXED = /^[a-z]{1,12}_(?=[^_]*[0-9A-Z])[A-Za-z0-9]{6,}$/;
/** A word of this length with digits and both cases is an id. */
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
  if (/[+/]/.test(word)) return word.replaceAll(/[^+/]+/g, withoutId);
  if (word.length >= LONG && DIGIT.test(word) && hasBothCases(word)) return '#';
  // Part by part: `step_2_failed` differs from `step_2_skipped`.
  const isOfId = parts.some((part) => DIGIT.test(part) && hasBothCases(part));
  const isId = (part: string): boolean =>
    DIGIT.test(part) || HEX.test(part) || isRandom(part) || (isOfId && !isWordy(part));
  return prefix + rest.replaceAll(PARTS, (part) => (isId(part) ? '#' : part));
}

function hasBothCases(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text);
}

/**
 * How much likelier one letter follows another in words than by chance: a row for the first letter, a digit for the
 * second, 6 for as likely, 1.5 more for e times as likely. Counted in the documentation of two thousand packages, and
 * in messages in nine languages.
 */
const FOLLOWS: readonly string[] = [
  '16772452625877161878554454',
  '73438244861843731774811261',
  '82528118646621921648611044',
  '84469333823534741564633252',
  '64775553534668364887454643',
  '81328710911623820756702261',
  '63439467811657641765732133',
  '92339212812544831647513041',
  '65766661213769752677251425',
  '80139004700234743394644200',
  '75549443822736741477634042',
  '83369332823733841256642071',
  '86249221821563782263521141',
  '73777583724435741378542043',
  '45673452535679560866756333',
  '82348234702743860857611231',
  '31221112411713122352911112',
  '83559452804455731677543153',
  '62638426714443763379723252',
  '72539337811433741766613162',
  '66657551643778370878231333',
  '91229131801323710332421131',
  '84348127812427740773413052',
  '73738404730453490559410352',
  '75647552634677790576436023',
  '83249044813446642143606065',
];
const AS_LIKELY = 6;
const FIRST_LETTER = 'a'.charCodeAt(0);

/** A part of a name begins with a capital, continues in small letters, and may end in digits. */
const SAME_CASE = 0.8;
const NEW_CAPITAL = -1.5;
const CAPITALS = -2.5;
const DIGIT_BEHIND_LETTER = -3;
const LETTER_BEHIND_DIGIT = -4;

/** A shorter text says too little: `xfsprogs` is a name. */
const LEAST = 8;
/** Of 8,300 names in programs 11 are below, and of random texts of ten letters of both cases 95 in a hundred. */
const RANDOM = -4;
/** This allows for words of other languages than the counted ones. */
const RANDOM_IN_ONE_CASE = -10;

/**
 * Distinguishes a random id, such as `kQzXbLmPaR`, from a name, such as `getUserById` or `ECONNREFUSED`.
 *
 * @param text - letters and digits of ASCII, and the characters between them
 */
function isRandom(text: string): boolean {
  if (text.length < LEAST) return false;
  const isMixed = /[a-z]/.test(text) && /[A-Z]/.test(text);
  let score = 0;
  for (let at = 1; at < text.length; at += 1) score += scoreOf(text[at - 1] ?? '', text[at] ?? '', isMixed);
  return score <= (isMixed ? RANDOM : RANDOM_IN_ONE_CASE);
}

function isWordy(text: string): boolean {
  if (!/^(?:[A-Za-z][a-z]{4,}|[A-Z]{5,})$/.test(text)) return false;
  let likelihood = 0;
  for (let at = 1; at < text.length; at += 1) likelihood += followed(text[at - 1] ?? '', text[at] ?? '');
  return likelihood > 0;
}

function scoreOf(one: string, next: string, isMixed: boolean): number {
  if (isDigit(next)) return isLetter(one) ? DIGIT_BEHIND_LETTER : 0;
  if (isDigit(one)) return isLetter(next) ? LETTER_BEHIND_DIGIT : 0;
  if (!isLetter(one) || !isLetter(next)) return 0;
  if (isCapital(next) && !isCapital(one)) return NEW_CAPITAL;
  const shape = isCapital(next) ? CAPITALS : SAME_CASE;
  return followed(one, next) + (isMixed ? shape : 0);
}

function followed(one: string, next: string): number {
  const row = FOLLOWS[one.toLowerCase().charCodeAt(0) - FIRST_LETTER];
  return Number(row?.[next.toLowerCase().charCodeAt(0) - FIRST_LETTER] ?? AS_LIKELY) - AS_LIKELY;
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}

function isCapital(character: string): boolean {
  return character >= 'A' && character <= 'Z';
}

function isLetter(character: string): boolean {
  return isCapital(character) || (character >= 'a' && character <= 'z');
}
