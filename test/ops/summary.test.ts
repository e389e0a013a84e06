import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { bury } from './events-in-states.ts';
import { testSummaries } from './summary.conformance.ts';

testSummaries('summaries in SQLite', async () => {
  const { inbox, database } = inboxOnFile();
  return { inbox, bury: async (id) => bury(database, id) };
});
