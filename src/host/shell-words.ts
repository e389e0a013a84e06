/** An option of a command with its value. What begins with a dash would be taken for an option. */
export function option(name: string, value: string): readonly string[] {
  return value.startsWith('-') ? [`${name}=${quoted(value)}`] : [name, quoted(value)];
}

const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/**
 * A text as one word for a shell: as it is where that is harmless, otherwise in quotes. A control character that is pasted
 * steers the terminal even inside quotes, so a text with one is written with escapes, as bash and zsh know them.
 */
export function quoted(text: string): string {
  if (/^[\w.:@/-]+$/.test(text)) return text;
  if (text.search(STEERING) === -1) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const inner = text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `$'${inner}'`;
}
