import { replaceUnprintable } from '../printable.ts';
import { shownDatabase, USUAL_SCHEMA } from './postgres-url.ts';

/** A value that begins with a dash would be read as an option. */
export function option(name: string, value: string): readonly string[] {
  return value.startsWith('-') ? [`${name}=${quoted(value)}`] : [name, quoted(value)];
}

export interface NamedInbox {
  readonly db?: string | undefined;
  readonly schema?: string | undefined;
}

/** A URL with a password stays out of the log. */
export function namesOf({ file, schema }: { readonly file?: string; readonly schema?: string }): NamedInbox {
  return { db: file, schema };
}

/** A URL loses its user and password. */
export function inboxOptions({ db, schema }: NamedInbox): readonly string[] {
  return [
    ...(db === undefined ? [] : option('--db', shownDatabase(db))),
    ...(schema === undefined || schema === USUAL_SCHEMA ? [] : option('--schema', schema)),
  ];
}

/** A pasted control character controls the terminal even inside quotes, so it is escaped. */
export function quoted(text: string): string {
  if (/^[\w.:@/-]+$/.test(text)) return text;
  const plain = text.replaceAll(/[\\']/g, String.raw`\$&`);
  const escaped = replaceUnprintable(plain, escapedForShell);
  return escaped === plain ? inQuotes(text) : `$'${escaped}'`;
}

export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function escapedForShell(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}
