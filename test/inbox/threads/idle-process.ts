// A process that stores an event, looks at it, and leaves its inbox open: node idle-process.ts <file>
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';

const [file = ''] = process.argv.slice(2);
const inbox = sqliteInbox(file);
const { result } = await inbox.accept(incoming(), later());
await inbox.operations?.search({}, {});
console.log(result);
