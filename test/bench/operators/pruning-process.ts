// node pruning-process.ts FILE: prunes the older half of the processed events, and prints `begun` when the first are gone
// and a line of JSON at the end.
import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { pruneEvents } from 'hookbox/ops';
import { sqliteInbox } from 'hookbox/sqlite';

const [file = ''] = process.argv.slice(2);
const database = new Database(file, { readonly: true });
const half = database.prepare('SELECT max(seq) / 2 FROM hookbox_events').pluck().get();
const middle = database.prepare('SELECT settled_ms FROM hookbox_events WHERE seq = ?').pluck().get(half);
database.close();

const inbox = sqliteInbox(file);
let begun = false;
const startedAt = performance.now();
/** What is kept in order behind it is no part of it. */
let prunedAt = startedAt;
const { pruned } = await pruneEvents(
  inbox,
  { settledBefore: new Date(Number(middle)) },
  { actor: 'bench' },
  {
    onProgress() {
      if (!begun) writeSync(1, 'begun\n');
      begun = true;
      prunedAt = performance.now();
    },
  },
);
await inbox.close();
writeSync(1, `${JSON.stringify({ pruned, seconds: (prunedAt - startedAt) / 1000 })}\n`);
