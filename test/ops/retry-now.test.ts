import { onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { bury } from './events-in-states.ts';
import { testRetryNow, type RetriedStore } from './retry-now.conformance.ts';

testRetryNow('retrying now in SQLite', async () => {
  const database = merchantDatabase();
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  const store: RetriedStore = { inbox, notified: 0, bury: async (id) => bury(database, id) };
  inbox.onPending(() => (store.notified += 1));
  return store;
});
