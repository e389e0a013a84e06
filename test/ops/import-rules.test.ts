import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testImportRules } from './import-rules.conformance.ts';

const files = new WeakMap<Inbox, string>();

testImportRules('what an import into a file believes', {
  async open() {
    const file = scratchFile();
    const inbox = sqliteInbox(file);
    files.set(inbox, file);
    onTestFinished(() => inbox.close());
    return inbox;
  },
  async broken(inbox) {
    const database = new Database(files.get(inbox));
    onTestFinished(() => void database.close());
    const forbidden = database.prepare(`
      SELECT id, state, dead_reason FROM hookbox_events
      WHERE (state IN ('pending', 'processed') AND (type IS NULL OR created_ms IS NULL)) OR received_ms > :now
        OR (state = 'pending' AND due_ms > :now + 86400000 * iif(id LIKE 'ours%', 30, 1)) OR settled_ms > :now`);
    const isSound = database.pragma('quick_check', { simple: true }) === 'ok';
    return [...forbidden.all({ now: Date.now() }), ...(isSound ? [] : ['the file'])];
  },
});
