// A process whose system cannot load the binary of better-sqlite3: node unfit-binary.ts <file> <what the loader of
// the system says>.
// It says the code and the message of what refused to open an inbox, and what the doctor finds.
import { checkSqlite } from '../../src/cli/doctor/sqlite-checks.ts';
import { InboxOpenError } from '../../src/errors.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';

const [file = '', said = ''] = process.argv.slice(2);
process.dlopen = () => {
  throw Object.assign(new Error(said), { code: 'ERR_DLOPEN_FAILED' });
};
try {
  sqliteInbox(file);
} catch (failure) {
  if (failure instanceof InboxOpenError) console.log(`${failure.code}: ${failure.message}`);
}
console.log(checkSqlite().what);
