import type { EventKey } from '../../inbox/inbox.ts';

/**
 * The command that does the same as a button of the page.
 *
 * @param flags - what comes behind the id, such as `--force`
 */
export function eventCommand(
  act: 'show' | 'rerun' | 'discard',
  { endpoint, id }: EventKey,
  ...flags: string[]
): string {
  const options = ['--db', 'hookbox.db', ...(endpoint === 'default' ? [] : ['--endpoint', quoted(endpoint)]), ...flags];
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
