import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { testPauses } from './pauses.conformance.ts';

testPauses('pauses in SQLite', async () => {
  const { inbox, database, file } = inboxOnFile();
  return {
    inbox,
    second: () => inboxOnFile(file).inbox,
    setAside: async () => void database.exec("UPDATE hookbox_events SET parked = 1 WHERE state = 'pending'"),
  };
});
