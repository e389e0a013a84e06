import type { EventKey } from '../../inbox/inbox.ts';

/**
 * The command that does the same as a button of the page.
 *
 * @param options - the inbox's file, which is left out where it is not known; and whether a processed event is meant, too
 */
export function eventCommand(
  act: 'show' | 'rerun' | 'discard',
  { endpoint, id }: EventKey,
  { db, force = false }: { readonly db?: string | undefined; readonly force?: boolean } = {},
): string {
  const options = [
    // What begins with a dash would be taken for an option.
    ...(db === undefined ? [] : db.startsWith('-') ? [`--db=${quoted(db)}`] : ['--db', quoted(db)]),
    ...(endpoint === 'default' ? [] : ['--endpoint', quoted(endpoint)]),
    ...(force ? ['--force'] : []),
  ];
  // Behind -- an id may begin with a dash.
  return ['hookbox events', act, ...options, ...(id.startsWith('-') ? ['--'] : []), quoted(id)].join(' ');
}

const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/**
 * For a shell: as it is where that is harmless, or else in quotes. A control character that is pasted steers the terminal,
 * quotes or not, so texts with one are written with escapes, as bash and zsh know them.
 */
export function quoted(text: string): string {
  if (/^[\w.:@/-]+$/.test(text)) return text;
  if (text.search(STEERING) === -1) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const inner = text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `$'${inner}'`;
}
