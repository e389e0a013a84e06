/** A piece of a JSON text. */
export type JsonKind = '{' | '}' | '[' | ']' | 'name' | 'text' | 'number' | 'word';

/**
 * The pieces of a JSON text one after the other, without commas, colons and white space. Keeps what `JSON.parse` forgets:
 * how numbers are written, and keys that an object has twice. Looks at each character once, and at none of a text's: how
 * a body is made does not make it slower to read.
 */
export class JsonTokens {
  kind: JsonKind = 'word';
  /** of the first character of the piece */
  start = 0;
  /** behind its last character */
  end = 0;
  readonly #text: string;
  /** how many brackets are open within what `leave` goes through */
  #within = 0;

  /** @param text - valid JSON (`JSON.parse` has accepted it); any other text ends somewhere, too */
  constructor(text: string) {
    this.#text = text;
  }

  /** Goes on to the next piece; `false` when there is none. */
  next(): boolean {
    const text = this.#text;
    let at = this.end;
    while (isBetween(text.charCodeAt(at))) at += 1;
    if (at >= text.length) return false;
    this.start = at;
    const code = text.charCodeAt(at);
    switch (code) {
      case OPEN_BRACE:
        return this.#found('{', at + 1);
      case CLOSE_BRACE:
        return this.#found('}', at + 1);
      case OPEN_BRACKET:
        return this.#found('[', at + 1);
      case CLOSE_BRACKET:
        return this.#found(']', at + 1);
      case QUOTE: {
        const close = closingQuote(text, at);
        if (close === -1) return false;
        return this.#found(this.#isName(close + 1) ? 'name' : 'text', close + 1);
      }
      default: {
        let end = at + 1;
        while (end < text.length && !isEnd(text.charCodeAt(end))) end += 1;
        return this.#found(code === MINUS || (code >= ZERO && code <= NINE) ? 'number' : 'word', end);
      }
    }
  }

  /**
   * Goes on behind the object or the list that the last piece has begun, faster than piece by piece.
   *
   * @param most - characters that are gone through at once
   * @returns whether it is left; if not, call this again
   */
  leave(most = Infinity): boolean {
    const text = this.#text;
    const limit = Math.min(this.end + most, text.length);
    let within = Math.max(this.#within, 1);
    let at = this.end;
    for (; at < limit && within > 0; at += 1) {
      switch (text.charCodeAt(at)) {
        case QUOTE: {
          const close = closingQuote(text, at);
          at = close === -1 ? text.length : close;
          break;
        }
        case OPEN_BRACE:
        case OPEN_BRACKET:
          within += 1;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          within -= 1;
          break;
      }
    }
    this.end = at;
    this.#within = at < text.length ? within : 0;
    return this.#within === 0;
  }

  /** The piece as it is written. */
  written(): string {
    return this.#text.slice(this.start, this.end);
  }

  #found(kind: JsonKind, end: number): true {
    this.kind = kind;
    this.end = end;
    return true;
  }

  #isName(end: number): boolean {
    let at = end;
    while (isSpace(this.#text.charCodeAt(at))) at += 1;
    return this.#text.charCodeAt(at) === COLON;
  }
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === RETURN || code === TAB;
}

/** What stands between two pieces. */
function isBetween(code: number): boolean {
  return code === COMMA || code === COLON || isSpace(code);
}

function isEnd(code: number): boolean {
  if (isBetween(code) || code === QUOTE) return true;
  return code === OPEN_BRACE || code === CLOSE_BRACE || code === OPEN_BRACKET || code === CLOSE_BRACKET;
}

/** The text of a body that is JSON, or `null`. */
export function jsonText(body: Uint8Array): string | null {
  const text = utf8Text(body);
  if (text === null) return null;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}

/** The characters that JSON is made of, by their codes. */
const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Where the text or name that a quote opens is closed; -1 where it is not. `indexOf` jumps over long texts at the speed of
 * memchr; only a quote behind backslashes needs a closer look.
 */
function closingQuote(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (text.charCodeAt(end - 1) === BACKSLASH) {
    let backslashes = 1;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) break;
    end = text.indexOf('"', end + 1);
  }
  return end;
}

/** What a name or a text says: two spellings of one, such as `id` and `\u0069d`, say the same. */
export function unquoted(written: string): string {
  return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
}

/**
 * Tells quickly of most objects that no key stands twice: JSON.parse has left as many members as are written. Every delivery
 * passes here, so it counts commas in the bytes, in a third of the time of looking for the key. `false` means only that
 * somebody has to look: escapes are not gone into, which JSON.parse itself may misread in a key (V8 of Node 24).
 *
 * @param json - valid JSON with an object at the top (JSON.parse has accepted it)
 * @param left - members of that object
 */
export function hasAllThatIsWritten(json: Uint8Array, left: number): boolean {
  let depth = 0;
  let commas = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      for (at += 1; json[at] !== QUOTE; at += 1) if (json[at] === BACKSLASH) return false;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
    else if (byte === COMMA && depth === 1) commas += 1;
  }
  return commas + 1 === left;
}

/**
 * Finds a key that the outermost object of a JSON text has twice. JSON.parse hides it by taking the last one, and two
 * readers that disagree on which one counts would disagree on what was signed.
 *
 * @param text - valid JSON with an object at the top (JSON.parse has accepted it)
 * @returns the first key seen again, or `null`
 */
export function findDuplicateKey(text: string): string | null {
  const seen = new Set<string>();
  let depth = 0;
  let expectKey = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = closingQuote(text, at);
        if (expectKey) {
          expectKey = false;
          const key = unquoted(text.slice(at, end + 1));
          if (seen.has(key)) return key;
          seen.add(key);
        }
        at = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        expectKey = depth === 1;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1;
        break;
      case COMMA:
        expectKey = depth === 1;
        break;
    }
  }
  return null;
}

// Without `ignoreBOM` a byte order mark is skipped: JSON.parse refuses it, and it says nothing.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of bytes that are UTF-8, without a byte order mark before it; `null` for any others. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
