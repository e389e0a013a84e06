import { inboxOptions, quoted, type NamedInbox } from '../host/shell-words.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Act } from '../inbox/operator/acts.ts';

/**
 * The command that does the same as a button of the page.
 *
 * @param options - the inbox, as far as it is to be named; and whether a processed event is meant, too
 */
export function eventCommand(
  act: 'show' | Act,
  { endpoint, id }: EventKey,
  { force = false, ...inbox }: NamedInbox & { readonly force?: boolean } = {},
): string {
  const options = [
    ...inboxOptions(inbox),
    ...(endpoint === 'default' ? [] : ['--endpoint', quoted(endpoint)]),
    ...(force ? ['--force'] : []),
  ];
  // Behind -- an id may begin with a dash.
  return ['hookbox events', act, ...options, ...(id.startsWith('-') ? ['--'] : []), quoted(id)].join(' ');
}
