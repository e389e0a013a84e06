import type { EventKey } from '../../inbox/event.ts';
import type { EventFilter } from '../../inbox/operator/filter.ts';
import { replaceUnprintable } from '../../printable.ts';

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
    ...(db === undefined ? [] : option('--db', db)),
    ...(endpoint === 'default' ? [] : ['--endpoint', quoted(endpoint)]),
    ...(force ? ['--force'] : []),
  ];
  // Behind -- an id may begin with a dash.
  return ['hookbox events', act, ...options, ...(id.startsWith('-') ? ['--'] : []), quoted(id)].join(' ');
}

/**
 * The command that reruns events that were ignored because nobody handled their type.
 *
 * @param db - the inbox's file, which is left out where it is not known
 */
export function rerunIgnoredCommand(
  { endpoint, types, ignoredSince }: Required<Pick<EventFilter, 'endpoint' | 'types' | 'ignoredSince'>>,
  db?: string,
): string {
  return [
    'hookbox events rerun',
    ...(db === undefined ? [] : option('--db', db)),
    ...option('--endpoint', endpoint),
    ...types.flatMap((type) => option('--type', type)),
    ...option('--ignored-since', ignoredSince.toISOString()),
  ].join(' ');
}

/** What begins with a dash would be taken for an option. */
function option(name: string, value: string): readonly string[] {
  return value.startsWith('-') ? [`${name}=${quoted(value)}`] : [name, quoted(value)];
}

/**
 * For a shell: as it is where that is harmless, or else in quotes. A control character that is pasted steers the terminal,
 * quotes or not, so what does not print is written with escapes, as bash and zsh know them.
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
