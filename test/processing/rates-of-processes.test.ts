// @module-tag long
import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { attemptsOfProcesses, RATE } from './rates-of-processes.ts';

it('processes that are killed, stopped and started reach a rate and keep it', { timeout: 60_000 }, async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  const { most, tookMs } = await attemptsOfProcesses(inbox as Inbox<never>, [file]);
  console.info(`${most} attempts in ${RATE.perMs} ms, in all ${tookMs} ms`);
  expect(most).toBe(RATE.count);
});
