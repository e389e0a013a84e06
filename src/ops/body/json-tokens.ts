import { closingQuote } from '../../events/duplicate-keys.ts';

/** A piece of a JSON text, as it is written there. */
export interface JsonToken {
  readonly kind: '{' | '}' | '[' | ']' | 'name' | 'text' | 'number' | 'word';
  /** of its first character */
  readonly start: number;
  /** behind its last character */
  readonly end: number;
}

const PLAIN = /[^\s,:[\]{}"]+/y;

/**
 * The pieces of a JSON text one after the other, without commas, colons and white space. Keeps what `JSON.parse` forgets:
 * how numbers are written, and keys that an object has twice.
 *
 * @param text - valid JSON (`JSON.parse` has accepted it)
 */
export function* jsonTokens(text: string): Generator<JsonToken, void> {
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    switch (character) {
      case '{':
      case '}':
      case '[':
      case ']':
        yield { kind: character, start: at, end: at + 1 };
        break;
      case '"': {
        const end = closingQuote(text, at) + 1;
        yield { kind: isName(text, end) ? 'name' : 'text', start: at, end };
        at = end - 1;
        break;
      }
      default: {
        PLAIN.lastIndex = at;
        const length = PLAIN.exec(text)?.[0].length ?? 0;
        if (length === 0) break;
        yield { kind: /[-\d]/.test(character) ? 'number' : 'word', start: at, end: at + length };
        at += length - 1;
      }
    }
  }
}

function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text.charAt(at))) at += 1;
  return text[at] === ':';
}

/** What a name or a text of `jsonTokens` says. */
export function unquoted(token: string): string {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
}

// ignoreBOM keeps a BOM in the text, where JSON.parse refuses it, as the parser of deliveries does.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a body that is JSON, or `null`. */
export function jsonText(body: Uint8Array): string | null {
  try {
    const text = utf8.decode(body);
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}
