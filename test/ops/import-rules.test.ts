import type Database from 'better-sqlite3';
import type { Inbox } from '../../src/inbox/contract.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { testImportRules } from './import-rules.conformance.ts';

const databases = new WeakMap<Inbox, Database.Database>();

testImportRules('what an import into a file believes', {
  async open() {
    const { inbox, database } = inboxOnFile();
    databases.set(inbox, database);
    return inbox;
  },
  async broken(inbox) {
    const database = databases.get(inbox);
    if (database === undefined) throw new Error('not opened here');
    const forbidden = database.prepare(`
      SELECT id, state, dead_reason FROM hookbox_events
      WHERE (state IN ('pending', 'processed') AND (type IS NULL OR created_ms IS NULL)) OR received_ms > :now
        OR (state = 'pending' AND due_ms > :now + 86400000 * iif(id LIKE 'ours%', 30, 1)) OR settled_ms > :now`);
    const isSound = database.pragma('quick_check', { simple: true }) === 'ok';
    return [...forbidden.all({ now: Date.now() }), ...(isSound ? [] : ['the file'])];
  },
});
