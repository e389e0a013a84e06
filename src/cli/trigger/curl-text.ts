import { utf8Text } from '../../events/json.ts';
import { inQuotes } from '../../host/shell-words.ts';
import { isPrintable } from '../../printable.ts';
import { givenHeaders } from '../shared/sending/given-headers.ts';

/**
 * A command for the shell that sends exactly these bytes. They go through printf and a pipe: as an argument of curl a long
 * body would not fit, and one that begins with @ would be taken for a file.
 *
 * @param given - as `--header` gives them; curl reads `@file` as it does
 */
export function curlCommand(
  to: URL,
  body: Uint8Array,
  signature: string | null,
  given: readonly string[] = [],
): string {
  const usual = { 'Content-Type': 'application/json', ...(signature !== null && { 'X-Signature': signature }) };
  const replaced = new Set(Object.keys(givenHeaders(given)).map((name) => name.toLowerCase()));
  const kept = Object.entries(usual).filter(([name]) => !replaced.has(name.toLowerCase()));
  const lines = [
    `${printing(body)} | curl -sS ${inQuotes(to.href)}`,
    ...kept.map(([name, value]) => `-H '${name}: ${value}'`),
    ...given.map((header) => `-H ${inQuotes(header)}`),
    '--data-binary @-',
  ];
  return lines.join(' \\\n  ');
}

/** What printf reads in its own way: `%`, `\\`, and a `-` at the beginning. */
const SPECIAL = new Set([0x25, 0x5c, 0x2d]);

/** A shell function, so of any length. Text stays readable, and other bytes become octal escapes. */
function printing(body: Uint8Array): string {
  const text = textOf(body);
  if (text !== null) return `printf %s ${inQuotes(text)}`;
  const escaped = Array.from(body, (byte) => {
    const isPlain = byte >= 0x20 && byte < 0x7f && !SPECIAL.has(byte);
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `printf ${inQuotes(escaped.join(''))}`;
}

/** `null` for bytes that a terminal or a shell would change, and where they begin with a byte order mark. */
function textOf(body: Uint8Array): string | null {
  const text = utf8Text(body);
  if (text === null || Buffer.byteLength(text) < body.byteLength) return null;
  return /\t|\r/.test(text) || !isPrintable(text) ? null : text;
}
