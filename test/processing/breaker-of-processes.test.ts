// @module-tag long
import { it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { probesOfProcesses } from './breaker-of-processes.ts';

it('of several processes, one event probes, also after the prober is killed', { timeout: 60_000 }, async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  await probesOfProcesses(inbox as Inbox<never>, [file]);
});
