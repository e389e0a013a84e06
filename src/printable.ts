/**
 * Characters that begin another line, control a terminal, reorder their neighbours or are invisible. Joiners and
 * selectors in emoji, and in scripts that need them, are visible by their effect.
 */
const UNPRINTABLE = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]`,
    String.raw`(?![\u200c-\u200d]|[\ufe0e-\ufe0f])[\p{Cf}\p{Default_Ignorable_Code_Point}]`,
    String.raw`(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{M}])[\u200c-\u200d]`,
    String.raw`(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}])[\ufe0e-\ufe0f]`,
  ].join('|'),
  'gu',
);

/**
 * A text of others, on one line, with each unprintable character shown by its number. All texts on a terminal or in a
 * log go through here, in `cli/shared/output.ts` and `host/logger.ts`.
 *
 * @param atMost - of UTF-16 units; a longer text ends with `…`
 */
export function oneLine(text: string, atMost = 300): string {
  // Cuts first, because searching a megabyte would be wasted. Does not split a pair of surrogates.
  const cut = text.length > atMost ? `${text.slice(0, atMost).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return cut.replaceAll(UNPRINTABLE, numbered);
}

/** A text of others, with its lines and tabs. Any other unprintable character is shown by its number. */
export function printableLines(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => (/[\n\t]/.test(character) ? character : numbered(character)));
}

/** A text with a replacement for each unprintable character. */
export function replaceUnprintable(text: string, by: (character: string) => string): string {
  return text.replaceAll(UNPRINTABLE, by);
}

/** JSON whose texts cannot control a terminal: their unprintable characters become escapes with the same meaning. */
export function printableJson(json: string): string {
  return json.replaceAll(UNPRINTABLE, (character) => (/[\n\r\t]/.test(character) ? character : escaped(character)));
}

/** Whether a text of several lines contains only visible characters. */
export function isPrintable(text: string): boolean {
  return text.split(/\r?\n|\t/).every((part) => part.search(UNPRINTABLE) === -1);
}

function numbered(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** In JSON, a character beyond the first 65,536 is written as two escapes. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('');
}
