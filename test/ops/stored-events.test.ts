import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testStoredEvents } from './stored-events.conformance.ts';

testStoredEvents('in SQLite', async () => sqliteInbox(scratchFile()));
