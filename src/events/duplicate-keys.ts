const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

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
          const key = keyAt(text, at, end);
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

/** indexOf jumps over long strings at the speed of memchr; only a quote behind backslashes needs a closer look. */
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

/** Two spellings of one key, such as `id` and `\u0069d`, are one key. */
function keyAt(text: string, open: number, close: number): string {
  const raw = text.slice(open + 1, close);
  if (!raw.includes('\\')) return raw;
  const key: unknown = JSON.parse(text.slice(open, close + 1));
  return String(key);
}
