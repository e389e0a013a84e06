import { USUAL_SCHEMA } from '../../host/postgres-url.ts';
import { inboxOptions, quoted, type NamedInbox } from '../../host/shell-words.ts';
import { shownDatabase } from '../../host/postgres-url.ts';

export { eventCommand } from '../../processing/endpoint.ts';

/** The command that does what the page does not; its file is still to be named. */
export function copyingCommand(act: 'export' | 'import' | 'backup', named: NamedInbox): string {
  return ['hookbox events', act, ...inboxOptions(named)].join(' ');
}

/** How to copy an inbox that is no file of hookbox's to copy. */
export function copyInPostgres({ db, schema = USUAL_SCHEMA }: NamedInbox = {}, file = 'hookbox.dump'): string {
  const where = db === undefined ? [] : [quoted(shownDatabase(db))];
  const command = ['pg_dump', '--format=custom', `--schema=${quoted(schema)}`, `--file=${quoted(file)}`, ...where];
  return `Back up an inbox in Postgres with pg_dump (the inbox can stay in use): ${command.join(' ')}`;
}
