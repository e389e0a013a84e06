import { replaceUnprintable } from '../printable.ts';
import { shownDatabase, USUAL_SCHEMA } from './postgres-url.ts';

/** An option of a command with its value. What begins with a dash would be taken for an option. */
export function option(name: string, value: string): readonly string[] {
  return value.startsWith('-') ? [`${name}=${quoted(value)}`] : [name, quoted(value)];
}

/** What a command names an inbox by; a part that is not known, or is known by itself, is left out. */
export interface NamedInbox {
  /** a file or a URL */
  readonly db?: string | undefined;
  readonly schema?: string | undefined;
}

/** What a command for the log names an inbox by: a URL with its password stays where the process has it from. */
export function namesOf({ file, schema }: { readonly file?: string; readonly schema?: string }): NamedInbox {
  return { db: file, schema };
}

/** The options of a command that name an inbox. A URL loses its user and password: a command is read by many. */
export function inboxOptions({ db, schema }: NamedInbox): readonly string[] {
  return [
    ...(db === undefined ? [] : option('--db', shownDatabase(db))),
    ...(schema === undefined || schema === USUAL_SCHEMA ? [] : option('--schema', schema)),
  ];
}

/**
 * A text as one word for a shell: as it is where that is harmless, otherwise in quotes. A control character that is pasted
 * steers the terminal even inside quotes, so what does not print is written with escapes, as bash and zsh know them.
 */
export function quoted(text: string): string {
  if (/^[\w.:@/-]+$/.test(text)) return text;
  const plain = text.replaceAll(/[\\']/g, String.raw`\$&`);
  const escaped = replaceUnprintable(plain, escapedForShell);
  return escaped === plain ? inQuotes(text) : `$'${escaped}'`;
}

/** In single quotes, which a shell takes as it is, lines and all. */
export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function escapedForShell(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}
