// Leaves its inbox open: idle-inbox.ts <file>
import { incoming, later } from '../../helpers/incoming-event.ts';
import { startedThreads } from '../started-threads.ts';

const threads = startedThreads();
// Imported later: some runtimes read the exports of Node's modules once.
const { sqliteInbox } = await import('hookbox/sqlite');
const { listEvents } = await import('hookbox/ops');
const inbox = sqliteInbox(process.argv[2] ?? '');
await inbox.accept(incoming(), later());
const { events } = await listEvents(inbox);
console.log(JSON.stringify({ stored: events.length, threads: threads.length }));
