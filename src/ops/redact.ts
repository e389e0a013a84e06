import { createHmac, randomBytes } from 'node:crypto';
import { isInstant } from '../events/instant.ts';
import { JsonTokens } from '../events/json.ts';

/**
 * Replaces personal and business values in an event's body by made-up values of the same shape. Drawn with a random
 * key, they cannot be guessed, and the event stays valid. What changes and what stays:
 *
 * - ids keep their prefix and their length; the same id gets the same replacement in the whole body
 * - texts keep their length, spaces, punctuation and capitals
 * - numbers keep their digits before and after the point, and 0 stays 0; counts stay, because handlers decide by them
 * - times, field names that do not look like an id, `type`, `object`, `status`, `currency`, `fulfillment_method`, true,
 *   false and null stay
 *
 * @param key - for the same replacements in several bodies
 */
export function redactBody(body: Uint8Array, key: Uint8Array = randomBytes(32)): Uint8Array {
  const text = new TextDecoder().decode(body);
  const redacted = new Redaction(key);
  const path: (string | null)[] = [];
  let name: string | null = null;
  let result = '';
  let copied = 0;
  for (const tokens = new JsonTokens(text); tokens.next();) {
    const written = tokens.written();
    let shown = written;
    switch (tokens.kind) {
      case '{':
      case '[':
        path.push(name);
        // Items of a list have the name of the list.
        if (tokens.kind === '{') name = null;
        break;
      case '}':
      case ']':
        name = path.pop() ?? null;
        break;
      case 'name':
        name = JSON.parse(written) as string;
        shown = redacted.name(written, name);
        break;
      case 'text':
        shown = redacted.text(written, name, path.length);
        break;
      case 'number':
        shown = redacted.number(written, name);
        break;
      case 'word':
        break;
    }
    if (shown === written) continue;
    result += text.slice(copied, tokens.start) + shown;
    copied = tokens.end;
  }
  return Buffer.from(result + text.slice(copied));
}

const COUNTS = new Set(['quantity', 'item_count', 'previous_quantity', 'current_quantity']);
const PLAIN_WORDS = new Set(['object', 'status', 'currency', 'fulfillment_method']);
const ID = /^[a-z]{1,12}_(?=[^_]*[0-9A-Z])[A-Za-z0-9]{6,}$/;
const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?$/;
/** Other values of these fields may be text that a person wrote. */
const WORD = /^[A-Za-z][\w-]{0,31}$/;

class Redaction {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @param depth - the number of objects and lists around it; 1 is the envelope */
  text(token: string, name: string | null, depth: number): string {
    const value = JSON.parse(token) as string;
    if (depth === 1 && name === 'type') return token;
    if (name !== null && PLAIN_WORDS.has(name) && WORD.test(value)) return token;
    if (TIME.test(value) || (depth === 1 && name === 'created' && isInstant(value))) return token;
    return written(token, this.#madeUp(value, name));
  }

  name(token: string, name: string): string {
    const isField = /^[A-Za-z_][\w.-]{0,63}$/.test(name) && !ID.test(name);
    return isField ? token : written(token, this.#madeUp(name, null));
  }

  number(token: string, name: string | null): string {
    if (name !== null && COUNTS.has(name)) return token;
    const [mantissa = '', exponent = ''] = token.split(/(?=[eE])/);
    const next = this.#draws(`number ${token}`);
    let leading = true;
    const digits = mantissa.replaceAll(/\d/g, (digit) => {
      if (!leading) return String(next(10));
      // 0 stays 0, and 0.50 does not become 3.50.
      leading = digit === '0';
      return leading ? '0' : String(1 + next(9));
    });
    return digits + exponent;
  }

  #madeUp(value: string, name: string | null): string {
    const isId = name === 'id' || name?.endsWith('_id') === true || ID.test(value);
    const prefix = isId ? (/^[A-Za-z]{1,12}[_-](?=.)/.exec(value)?.[0] ?? '') : '';
    const rest = value.slice(prefix.length);
    const letters = /^[0-9a-f-]{8,}$/i.test(rest) ? 6 : 26;
    const next = this.#draws(`text ${value}`);
    const drawn = Array.from(rest, (character) => alike(character, letters, next));
    return prefix + drawn.join('');
  }

  #draws(value: string): (bound: number) => number {
    let block = 0;
    let bytes = Buffer.alloc(0);
    let at = 0;
    return (bound) => {
      if (at + 4 > bytes.byteLength) {
        bytes = createHmac('sha256', this.#key).update(`${block} ${value}`).digest();
        block += 1;
        at = 0;
      }
      at += 4;
      return bytes.readUInt32BE(at - 4) % bound;
    };
  }
}

/** Replacements beyond ASCII, by kind and by length in UTF-8. */
const OTHERS: readonly (readonly [kind: RegExp, others: Readonly<Record<number, readonly string[]>>])[] = [
  [
    /\p{L}/u,
    {
      2: [...'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ'],
      3: [...'山川日月水火木金土人口手足目耳雨'],
      4: [...'𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱'],
    },
  ],
  [/[\p{Nl}\p{No}]/u, { 2: [...'²³¹¼½¾'], 3: [...'①②③④⑤⑥⑦⑧⑨'], 4: [...'𐄇𐄈𐄉𐄊𐄋𐄌𐄍𐄎𐄏'] }],
  [/\p{M}/u, { 2: charactersFrom(0x0300, 16), 3: charactersFrom(0x20d0, 13), 4: charactersFrom(0xe0100, 240) }],
];
/** Variation selectors, and the frame of a keycap. */
const PICTURE_MARK = /[\uFE0E\uFE0F\u20E3]/;

function charactersFrom(first: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => String.fromCodePoint(first + n));
}

function alike(character: string, letters: number, next: (bound: number) => number): string {
  if (/[0-9]/.test(character)) return String(next(10));
  if (/[a-z]/.test(character)) return String.fromCharCode(0x61 + next(letters));
  if (/[A-Z]/.test(character)) return String.fromCharCode(0x41 + next(letters));
  if (PICTURE_MARK.test(character)) return character;
  if (/\p{Nd}/u.test(character)) return String.fromCodePoint(zeroOf(character) + next(10));
  const others = OTHERS.find(([kind]) => kind.test(character))?.[1][Buffer.byteLength(character)];
  const drawn = others?.[next(others.length)];
  if (drawn === undefined) return character;
  return /\p{Lu}/u.test(character) && Buffer.byteLength(character) === 2 ? drawn.toUpperCase() : drawn;
}

/** The ten digits of a script are consecutive in Unicode. */
function zeroOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return code - ((code - first) % 10);
}

/** Escapes characters beyond ASCII if the original did. */
function written(token: string, value: string): string {
  const json = JSON.stringify(value);
  if (!token.includes('\\u')) return json;
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
