import { USUAL_SCHEMA } from '../../host/postgres-url.ts';
import { quoted, type NamedInbox } from '../../host/shell-words.ts';
import { shownDatabase } from '../../host/postgres-url.ts';

export { eventCommand } from '../../processing/event-command.ts';

/** How to copy an inbox that is no file of hookbox's to copy. */
export function copyInPostgres({ db, schema = USUAL_SCHEMA }: NamedInbox = {}, file = 'hookbox.dump'): string {
  const where = db === undefined ? [] : [quoted(shownDatabase(db))];
  const command = ['pg_dump', '--format=custom', `--schema=${quoted(schema)}`, `--file=${quoted(file)}`, ...where];
  return `An inbox in Postgres is copied by what comes with Postgres, while it is in use: ${command.join(' ')}`;
}
