/**
 * Characters that begin another line, steer a terminal, reorder their neighbours or cannot be seen. Joiners and selectors within
 * emoji and scripts that write with them are seen by what they do.
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
 * A text that others wrote, on one line: what does not print is shown by its number. Everything that people read on a terminal
 * or in a log passes here; `cli/shared/output.ts` and `host/logger.ts` see to that.
 *
 * @param atMost - of UTF-16 units; what is longer ends with `…`
 */
export function oneLine(text: string, atMost = 300): string {
  // Cut first: a megabyte would be searched for nothing. A pair of surrogates is not torn.
  const cut = text.length > atMost ? `${text.slice(0, atMost).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return cut.replaceAll(UNPRINTABLE, numbered);
}

/** A text that others wrote, with its lines and its tabs: anything else that does not print is shown by its number. */
export function printableLines(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => (/[\n\t]/.test(character) ? character : numbered(character)));
}

/** A text with something else in place of each character that does not print. */
export function replaceUnprintable(text: string, by: (character: string) => string): string {
  return text.replaceAll(UNPRINTABLE, by);
}

/** JSON whose texts do not steer a terminal either: what it leaves as it is gets escaped, and means the same. */
export function printableJson(json: string): string {
  return json.replaceAll(UNPRINTABLE, (character) => (/[\n\r\t]/.test(character) ? character : escaped(character)));
}

/** Whether a text of several lines shows nothing but what stands in it. */
export function isPrintable(text: string): boolean {
  return text.split(/\r?\n|\t/).every((part) => part.search(UNPRINTABLE) === -1);
}

function numbered(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** In JSON a character beyond the first 65,536 is two escapes. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, n) => `\\u${character.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('');
}
