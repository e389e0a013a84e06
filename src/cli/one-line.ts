/** No character of a text that others wrote may begin another line, or steer a terminal. */
export function oneLine(text: string, atMost = 300): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
  return line.length > atMost ? `${line.slice(0, atMost)}…` : line;
}
