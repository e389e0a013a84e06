import { describe, onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testManyLanes } from './many-lanes.conformance.ts';

describe('very many types in SQLite:', { timeout: 60_000 }, () => {
  testManyLanes(async () => {
    const inbox = sqliteInbox(scratchFile());
    onTestFinished(() => inbox.close());
    return inbox;
  });
});
