/** The characters that JSON is made of, by their codes. */
export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/**
 * Where the text or name that a quote opens is closed; -1 where it is not. `indexOf` jumps over long texts at the speed of
 * memchr; only a quote behind backslashes needs a closer look.
 */
export function closingQuote(text: string, open: number): number {
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
