import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  closingQuote,
  COLON,
  COMMA,
  LINE_FEED,
  MINUS,
  NINE,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
  ZERO,
} from './json-characters.ts';
import { utf8Text } from './utf8.ts';

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
