import { onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testMetrics } from './metrics.conformance.ts';

testMetrics('metrics in SQLite', async () => {
  const file = scratchFile();
  const opened = () => {
    const inbox = sqliteInbox(file);
    onTestFinished(() => inbox.close());
    return inbox;
  };
  return { inbox: opened(), another: async () => opened() };
});
