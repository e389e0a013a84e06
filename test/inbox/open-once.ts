// A process that opens an inbox once: node open-once.ts <path> [uid]. It says that it has stored an event, or the code and the
// message of what refused; with a number it has become that user first.
import { InboxOpenError, messageOf } from '../../src/errors.ts';
import { loadBetterSqlite } from '../../src/inbox/sqlite/opening/better-sqlite.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';

const [path = '', user] = process.argv.slice(2);
loadBetterSqlite();
if (user !== undefined) {
  process.setgid?.(Number(user));
  process.setuid?.(Number(user));
}
try {
  await using inbox = sqliteInbox(path);
  console.log((await inbox.accept(incoming({ id: String(process.pid) }), later())).result);
} catch (failure) {
  const code = failure instanceof InboxOpenError ? failure.code : 'no InboxOpenError';
  console.log(`${code}: ${messageOf(failure)}`);
}
