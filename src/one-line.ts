/**
 * A text that others wrote, on one line: characters that begin another one, steer a terminal, reorder their neighbours or
 * cannot be seen at all are shown by their number.
 *
 * @param atMost - of UTF-16 units; what is longer ends with `…`
 */
export function oneLine(text: string, atMost = 300): string {
  // Cut first: a megabyte would be searched for nothing. A pair of surrogates is not torn.
  const cut = text.length > atMost ? `${text.slice(0, atMost).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return cut.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]|[\u200b\ufeff]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
