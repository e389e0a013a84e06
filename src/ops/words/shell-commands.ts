import { inboxOptions, quoted, type NamedInbox } from '../../host/shell-words.ts';
import { shownDatabase } from '../../host/postgres-url.ts';
import type { EventKey } from '../../inbox/event.ts';
import type { Act } from '../../inbox/operator/acts.ts';

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

/** How to copy an inbox that is no file of hookbox's to copy. */
export function copyInPostgres({ db, schema = 'hookbox' }: NamedInbox = {}, file = 'hookbox.dump'): string {
  const where = db === undefined ? [] : [quoted(shownDatabase(db))];
  const command = ['pg_dump', '--format=custom', `--schema=${quoted(schema)}`, `--file=${quoted(file)}`, ...where];
  return `An inbox in Postgres is copied by what comes with Postgres, while it is in use: ${command.join(' ')}`;
}
