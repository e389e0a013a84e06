import { isUrl } from './postgres-url.ts';

/** Of other programs, for which a path may follow; a drive of Windows has one letter. */
const SCHEME = /^(file|(better-)?sqlite3?|libsql|jdbc):/i;
/** `${DIR}`, `$DIR`, `%DIR%`, `{{ dir }}`: a variable that was not replaced by its value. */
const NOT_PUT_IN = /\$\{|^\$\w|%\w+%|\{\{|^<.*>$/;
/** What a program writes for a variable that it does not have, alone or as a part of the path. */
const NOTHING = /(^|[\\/])(undefined|null|NaN|\[object \w+\])(\.\w+)?($|[\\/])/;

/**
 * Why a text was not meant for the path of a file, though a file of that name could be made; `null` where it may be
 * one. It is not quoted, as it may have a password in it.
 */
export function whyNoPath(text: string): string | null {
  if (text.trim() === '') return 'The path is empty. Check that its environment variable is set.';
  if (isUrl(text)) return 'The value is a URL, not the path of a file.';
  const scheme = SCHEME.exec(text)?.[0];
  if (scheme !== undefined)
    return `The path starts with ${scheme}; pass the path alone, or ./${scheme}… for a file of that name.`;
  if (text !== text.trim()) return 'The path starts or ends with a space or a line break.';
  if (NOT_PUT_IN.test(text)) return 'The path contains a variable that was not replaced by its value.';
  return NOTHING.test(text)
    ? 'A part of the path is “undefined” or “null”. Check that its environment variable is set.'
    : null;
}
