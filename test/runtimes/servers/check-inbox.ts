// Runs what every runtime keeps on one placement: check-inbox.ts thread|loop <folder>
// Writes a line of JSON for each check.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Inbox } from 'hookbox';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { inboxChecks } from '../inbox-checks.ts';
import { startedThreads } from '../started-threads.ts';

const [placement = '', folder = ''] = process.argv.slice(2);
const threads = startedThreads();
// Imported later: some runtimes read the exports of Node's modules once.
const hookbox = await import('hookbox');
const ops = await import('hookbox/ops');
const { sqliteInbox } = await import('hookbox/sqlite');
const log = recordedLog();
const shared = { logger: log.logger, ...(placement === 'loop' && { thread: false }) };

for (const [n, [name, check]] of Object.entries(inboxChecks).entries()) {
  threads.splice(0);
  log.forget();
  const file = join(folder, `${placement}-${n}.db`);
  const inboxes: Inbox[] = [];
  const opened = (inbox: Inbox): Inbox => {
    inboxes.push(inbox);
    return inbox;
  };
  let failure: string | null = null;
  try {
    await check({
      file,
      open: () => opened(sqliteInbox(file, shared)),
      openOn: (database) => opened(sqliteInbox({ database }, shared)),
      Database,
      hookbox: { ...hookbox, ...ops },
      threads,
      placement: placement === 'loop' ? 'loop' : 'thread',
    });
    await Promise.all(inboxes.map((inbox) => inbox.close()));
    // A missing thread logs a line.
    if (log.lines.length > 0) failure = JSON.stringify(log.lines);
  } catch (thrown) {
    failure = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
  console.log(JSON.stringify({ name, failure }));
}
// The process must end by itself.
