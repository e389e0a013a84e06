import { option, quoted } from '../../host/shell-words.ts';
import type { EventKey } from '../../inbox/event.ts';

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
