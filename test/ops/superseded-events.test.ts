import { describe, onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testSupersededEvents } from './superseded-events.conformance.ts';

describe('superseded events in SQLite:', () => {
  testSupersededEvents(async () => {
    const inbox = sqliteInbox(scratchFile());
    onTestFinished(() => inbox.close());
    return inbox;
  });
});
