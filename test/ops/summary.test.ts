import { onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { bury } from './events-in-states.ts';
import { testSummaries } from './summary.conformance.ts';

testSummaries('summaries in SQLite', async () => {
  const database = merchantDatabase();
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  return { inbox, bury: async (id) => bury(database, id) };
});
