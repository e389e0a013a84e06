import { onTestFinished } from 'vitest';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { testTraffic } from './traffic.conformance.ts';

testTraffic('what comes in at an inbox in SQLite', async () => {
  const inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  return inbox;
});
