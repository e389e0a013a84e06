// A process that stores an event, looks at it, and leaves its inbox open: node idle-process.ts <file> [database]
import Database from 'better-sqlite3';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';

const [file = '', how] = process.argv.slice(2);
const inbox = sqliteInbox(how === 'database' ? { database: new Database(file) } : file);
const { result } = await inbox.accept(incoming(), later());
await inbox.operations?.search({}, {});
console.log(result);
