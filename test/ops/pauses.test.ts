import { onTestFinished } from 'vitest';
import Database from 'better-sqlite3';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testPauses } from './pauses.conformance.ts';

testPauses('pauses in SQLite', async () => {
  const file = scratchFile();
  const opened = () => {
    const inbox = sqliteInbox(file);
    onTestFinished(() => inbox.close());
    return inbox;
  };
  return {
    inbox: opened(),
    second: opened,
    async setAside() {
      const database = new Database(file);
      database.exec("UPDATE hookbox_events SET parked = 1 WHERE state = 'pending'");
      database.close();
    },
  };
});
